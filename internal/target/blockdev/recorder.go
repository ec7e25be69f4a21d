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

// Recorder is a device that passes everything on to a disk and logs it
// (dm-log-writes).
//
// The kernel logs a write only when a flush has made it durable, before that
// flush; what no flush followed comes at the end of the log. So a mark stands
// behind every flush and every FUA write that had completed, and may stand before
// writes that had completed and were not durable yet.
//
// If the process is killed it stays, with both disks, until StaleDevices finds it
// or the guest ends.
type Recorder struct {
	under *Disk
	most  int64
	above *mapped
	log   *Disk
	// earlier is what the Logs before have read.
	earlier []writelog.Entry
	// lost is why the log is not whole any more.
	lost error
}

// lastMark is what the kernel writes as the last entry of each log
// (log_writes_dtr in drivers/md/dm-log-writes.c), unless it had to stop logging.
const lastMark = "dm-log-writes-end"

// longestMark is what the kernel keeps of a mark's text, in bytes: a sector less
// the entry's four numbers and the final zero.
const longestMark = writelog.SectorSize - 32 - 1

// Record makes a recorder above under; at most most bytes of log are kept between
// one call of Log and the next, in memory that is taken as the log grows. Nobody
// else may use under's device until the recorder is closed.
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

// Path of the device: "/dev/dm-0".
func (r *Recorder) Path() string { return r.above.path() }

// Name is the kernel's: "dm-0".
func (r *Recorder) Name() string { return r.above.dev() }

// Mark puts a mark behind all that has completed and is durable.
func (r *Recorder) Mark(text string) error {
	switch {
	case text == "" || len(text) > longestMark || strings.Contains(text, "\x00"):
		return fmt.Errorf("a mark of %d bytes cannot be logged: it takes 1 to %d, none of them 0", len(text), longestMark)
	case text == lastMark:
		return fmt.Errorf("%q is the kernel's own mark", text)
	}
	if err := r.above.message("mark", text); err != nil {
		return fmt.Errorf("marking the log of %s: %w", r.under.Path(), err)
	}
	return nil
}

// Log is what was recorded until now; recording goes on. Requests under way are
// waited for. A log that did not fit, or lost an entry in any other way, is an
// error, now and in all further calls.
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

// part ends the kernel's log, begins another one on another disk, and reads the
// first: the kernel completes a log only when its target goes.
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
		err = fmt.Errorf("log of %s is not whole (most is %d bytes): %w", r.under.Path(), r.most, err)
	}
	return entries, errors.Join(err, log.Close())
}

// read takes in a log that the kernel has ended. What it could not write is
// either not there, as the last mark then is not, or a hole.
func read(log *Disk) ([]writelog.Entry, error) {
	end, err := unix.Seek(log.file, 0, unix.SEEK_HOLE)
	if err != nil {
		return nil, fmt.Errorf("looking for the end of the log: %w", err)
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

// Close removes the device, not the disk below it. One that is still in use is
// given errors for all further requests, and goes when it no longer is.
func (r *Recorder) Close() error { return errors.Join(r.above.close(), r.log.Close()) }
