package explore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"whichfs/internal/command"
	"whichfs/internal/fault"
	"whichfs/internal/fault/blockdev"
	"whichfs/internal/fault/script"
	"whichfs/internal/filesystem"
	"whichfs/internal/result"
)

// recorder carries scripts out on a disk in memory and takes down what it is
// sent.
type recorder struct {
	candidate filesystem.Candidate
	disk      *blockdev.Disk
	made      *blockdev.Contents // as the filesystem's tool made it
	dir       string
}

// newRecorder makes a disk and, once, the filesystem.
func newRecorder(ctx context.Context, c filesystem.Candidate, size int64, work string) (*recorder, error) {
	r := &recorder{candidate: c, dir: filepath.Join(work, "record")}
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return nil, err
	}
	var err error
	if r.disk, err = blockdev.NewDisk(size); err != nil {
		return nil, err
	}
	if err := r.make(ctx); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *recorder) make(ctx context.Context) error {
	argv := r.candidate.Filesystem().Make(r.candidate, r.disk.Path())
	if _, err := command.Run(ctx, command.Options{}, argv...); err != nil {
		if command.Missing(err) {
			return result.Fail(result.Unsupported, "", "%s is not installed", argv[0])
		}
		return subject(ctx, argv[0], err)
	}
	im, err := r.disk.Snapshot()
	if err != nil {
		return err
	}
	r.made, err = blockdev.NewContents(im)
	return err
}

func (r *recorder) close() {
	_ = r.disk.Close()
	_ = os.Remove(r.dir)
}

// record carries one script out.
func (r *recorder) record(ctx context.Context, s script.Script) (Recording, error) {
	out := Recording{Script: s, Size: r.disk.Size()}
	if err := r.disk.Set(r.made, nil); err != nil {
		return out, err
	}
	err := r.mounted(ctx, r.disk.Path(), func() error { return unfit(s.Prepare(r.dir)) })
	if err != nil {
		return out, fmt.Errorf("preparing: %w", err)
	}
	if out.Base, err = r.disk.Snapshot(); err != nil {
		return out, err
	}
	above, err := blockdev.Record(r.disk, mostLog)
	if err != nil {
		return out, err
	}
	err = r.mounted(ctx, above.Path(), func() error { return run(s, r.dir, above.Mark) })
	if err == nil {
		out.Log, err = above.Log()
	}
	return out, errors.Join(err, above.Close())
}

// run carries the script out between the marks that tell where it began and
// ended.
func run(s script.Script, dir string, mark func(string) error) error {
	if err := mark(markMounted); err != nil {
		return err
	}
	var lost error
	err := s.Run(dir, func(text string) error {
		lost = mark(text)
		return lost
	})
	switch {
	case lost != nil:
		return lost
	case err != nil:
		return unfit(err)
	}
	return mark(markFinished)
}

// notDone is the error of a script that could not be carried out: the filesystem
// has no such operation, or no room for it.
type notDone struct{ err error }

func (n *notDone) Error() string { return "the script could not be carried out: " + n.err.Error() }

func (n *notDone) Unwrap() error { return n.err }

func unfit(err error) error {
	if err == nil {
		return nil
	}
	return &notDone{err}
}

// mounted mounts a device, works on it and unmounts it.
func (r *recorder) mounted(ctx context.Context, device string, work func() error) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	m := newMounting(r.candidate, device, r.dir)
	switch errno := m.mount(); errno {
	case 0:
	case unix.ENODEV:
		return result.Fail(result.Unsupported, "", "this kernel does not know %s", r.candidate.FS)
	default:
		return subject(ctx, "mounting "+r.candidate.String(), errno)
	}
	err := work()
	return errors.Join(err, m.unmount())
}

// subject makes an error one of the filesystem under test or its tools.
func subject(ctx context.Context, what string, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return &result.Failure{Outcome: result.SubjectFailed, Reason: what, Err: err}
}

// record carries a script out on the explorer's own disk.
func (e *explorer) record(ctx context.Context, s script.Script) (Recording, error) {
	if e.recorder == nil {
		r, err := newRecorder(ctx, e.candidate, e.size, e.work)
		if err != nil {
			return Recording{}, err
		}
		e.recorder = r
	}
	r, err := e.recorder.record(ctx, s)
	if err == nil {
		err = holds(r.Base, r)
	}
	return r, err
}

// holds: what was recorded must be of the disk that it is said to be of.
func holds(base fault.Image, r Recording) error {
	if base.Size != r.Size {
		return fmt.Errorf("the base image has %d bytes and the disk %d", base.Size, r.Size)
	}
	_, err := sizeOf(r, r.Size)
	return err
}
