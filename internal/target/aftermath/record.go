package aftermath

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"whichfs/internal/fault/script"
	"whichfs/internal/fault/writelog"
	"whichfs/internal/result"
	"whichfs/internal/target/blockdev"
)

// Marks of a record besides those of its operations (script.Begin, script.End).
const (
	markMounted  = "mounted"
	markFinished = "finished"
)

// Record mounts a device above the disk that records the requests it receives, up to most bytes of
// them, calls work with the root, and unmounts the device. work marks where its operations begin
// and end. The log covers everything from before the mount until work ended, or with unmounted
// until after the unmount.
func (s *Stage) Record(ctx context.Context, most int64, unmounted bool, work func(root string, mark func(string) error) error) (log writelog.Log, err error) {
	above, err := blockdev.Record(s.disk, most)
	if err != nil {
		return log, err
	}
	s.above = above
	defer func() { s.above = nil }()
	err = s.Use(ctx, above.Path(), func(root string) (err error) {
		if err := above.Mark(markMounted); err != nil {
			return err
		}
		if err := work(root, above.Mark); err != nil {
			return err
		}
		if unmounted {
			return above.Mark(markFinished)
		}
		log, err = above.Log()
		return err
	})
	if err == nil && unmounted {
		log, err = above.Log()
	}
	if err = errors.Join(err, above.Close()); err != nil {
		return writelog.Log{}, err
	}
	return log, nil
}

// Flush, in the work of Record, makes all writes so far durable, whether the filesystem asked for that
// or not: a mark comes after them.
func (s *Stage) Flush() error { return s.above.Flush() }

// Use mounts a device, the disk or one above it, with an undamaged filesystem, calls work with the
// root and unmounts the device. An error is that of work, a *Hung, or a *result.Failure.
func (s *Stage) Use(ctx context.Context, device string, work func(root string) error) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	err := s.caller.call("mount", func() error { return s.mountOn(device) })
	switch {
	case errors.As(err, new(*Hung)):
		return err
	case errors.Is(err, unix.ENODEV):
		return result.Fail(result.Unsupported, "the module is called "+s.FS.Module, "%s: %v: this kernel does not support the filesystem", s.line, err)
	case err != nil:
		return result.Fail(result.SubjectFailed, "", "failed before any fault: %s: %v", s.line, err)
	}
	err = s.caller.call("writing", func() error { return work(s.Dir) })
	if errors.As(err, new(*Hung)) {
		return err
	}
	return errors.Join(err, s.unmount(device))
}

// Progress says how far the operations of a log had come when a given number of its entries had
// been sent.
type Progress struct{ began, acked []int }

// ReadMarks reads the marks of a log.
func ReadMarks(l writelog.Log) Progress {
	p := Progress{began: make([]int, 1, len(l.Entries)+1), acked: make([]int, 1, len(l.Entries)+1)}
	began, acked := 0, 0
	for _, e := range l.Entries {
		if e.Flags&writelog.Mark != 0 {
			what, number, _ := strings.Cut(string(e.Data), " ")
			n, err := strconv.Atoi(number)
			switch {
			case err != nil || n < 1:
			case what == script.Begin:
				began = max(began, n)
			case what == script.End:
				// An operation that has returned had begun, whatever the log says.
				acked, began = max(acked, n), max(began, n)
			}
		}
		p.began, p.acked = append(p.began, began), append(p.acked, acked)
	}
	return p
}

// At is for a power loss after a given number of entries: how many operations had begun, and how
// many had returned.
func (p Progress) At(point int) (began, acked int) { return p.began[point], p.acked[point] }

// End records that an operation has returned, counted from 1.
func End(number int64) string { return fmt.Sprintf("%s %d", script.End, number) }
