package blockdev

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"whichfs/internal/fault"
	"whichfs/internal/fault/writelog"
)

// Recorder is a device that passes everything on to a disk and logs it (dm-log-writes).
//
// The kernel logs a write only when a flush has made it durable, before that flush; writes that no
// flush followed come at the end of the log. So a mark comes after every flush and every FUA write
// that had completed, and may come before writes that had completed but were not yet durable.
//
// If the process is killed it stays, with both disks, until StaleDevices finds it
// or the guest ends.
type Recorder struct {
	under *Disk
	most  int64
	above *mapped
	log   *Disk
	// earlier holds the entries read by previous calls of Log.
	earlier []writelog.Entry
	// lost is why the log is no longer complete.
	lost error
}

// lastMark is the last entry that the kernel writes to each log (log_writes_dtr in
// drivers/md/dm-log-writes.c), unless it had to stop logging.
const lastMark = "dm-log-writes-end"

// longestMark is how much of a mark's text the kernel keeps, in bytes: a sector less the entry's
// four numbers and the final zero.
const longestMark = writelog.SectorSize - 32 - 1

// Record makes a recorder above under; at most most bytes of log are kept between two calls of Log,
// in memory that is allocated as the log grows. Nothing else may use under's device until the
// recorder is closed.
func Record(under *Disk, most int64) (*Recorder, error) {
	r := &Recorder{under: under, most: (most + fault.BlockSize - 1) / fault.BlockSize * fault.BlockSize}
	var err error
	if r.log, err = NewDisk(r.most); err != nil {
		return nil, fmt.Errorf("disk for the log: %w", err)
	}
	if r.above, err = newMapped(under.Size(), "log-writes", r.table(r.log)); err != nil {
		return nil, errors.Join(err, r.log.Close())
	}
	return r, nil
}

func (r *Recorder) table(log *Disk) string { return r.under.Path() + " " + log.Path() }

// Path is the path of the device: "/dev/dm-0".
func (r *Recorder) Path() string { return r.above.path() }

// Name is the kernel's name: "dm-0".
func (r *Recorder) Name() string { return r.above.dev() }

// Mark places a mark after everything that has completed and is durable.
func (r *Recorder) Mark(text string) error {
	switch {
	case text == "" || len(text) > longestMark || strings.Contains(text, "\x00"):
		return fmt.Errorf("a mark of %d bytes cannot be logged: it must have 1 to %d, none of them 0", len(text), longestMark)
	case text == lastMark:
		return fmt.Errorf("%q is reserved for the kernel's mark", text)
	}
	if err := r.above.message("mark", text); err != nil {
		return fmt.Errorf("marking the log of %s: %w", r.under.Path(), err)
	}
	return nil
}

// Flush makes all writes that have completed durable, so that a mark comes after them. The device may
// be mounted.
func (r *Recorder) Flush() error {
	device, err := unix.Open(r.Path(), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("flushing %s: %w", r.Path(), err)
	}
	return errors.Join(unix.Fsync(device), unix.Close(device))
}

// Log returns the entries recorded so far; recording continues. It waits for requests in flight. A
// log that did not fit, or lost an entry in any other way, is an error, now and in all further
// calls.
func (r *Recorder) Log() (writelog.Log, error) {
	if r.lost != nil {
		return writelog.Log{}, r.lost
	}
	entries, err := r.part()
	if err != nil {
		r.lost = err
		return writelog.Log{}, err
	}
	r.earlier = append(r.earlier, entries...)
	return writelog.Log{Entries: r.earlier[:len(r.earlier):len(r.earlier)]}, nil
}

// part ends the kernel's log, begins another one on another disk, and reads the first: the kernel
// completes a log only when its target is removed.
func (r *Recorder) part() ([]writelog.Entry, error) {
	status, err := r.above.status()
	if err != nil {
		return nil, err
	}
	next, err := NewDisk(r.most)
	if err != nil {
		return nil, fmt.Errorf("disk for the log: %w", err)
	}
	if err := r.above.replace("log-writes", r.table(next), 0); err != nil {
		return nil, errors.Join(err, next.Close())
	}
	log := r.log
	r.log = next
	entries, err := read(log)
	if err != nil {
		if strings.Contains(status, "logging_disabled") {
			err = fmt.Errorf("the kernel stopped logging, %d bytes of log may not be enough: %w", r.most, err)
		}
		err = fmt.Errorf("log of %s is incomplete (most is %d bytes): %w", r.under.Path(), r.most, err)
	}
	return entries, errors.Join(err, log.Close())
}

// read reads a log that the kernel has ended. Entries that the kernel could not write are either
// missing, and then so is the last mark, or a hole.
func read(log *Disk) ([]writelog.Entry, error) {
	end, err := unix.Seek(log.file, 0, unix.SEEK_HOLE)
	if err != nil {
		return nil, fmt.Errorf("finding the end of the log: %w", err)
	}
	l, err := writelog.Read(bytes.NewReader(log.data[:end]), end)
	if err != nil {
		return nil, err
	}
	n := len(l.Entries) - 1
	if n < 0 || l.Entries[n].Flags&writelog.Mark == 0 || string(l.Entries[n].Data) != lastMark {
		return nil, fmt.Errorf("the kernel lost entries after the first %d", n+1)
	}
	return l.Entries[:n], nil
}

// Close removes the device, not the disk below it. If it is still in use, all further requests
// fail, and it disappears once it is no longer in use.
func (r *Recorder) Close() error { return errors.Join(r.above.close(), r.log.Close()) }
