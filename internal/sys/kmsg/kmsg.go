// Package kmsg reads the kernel log (/dev/kmsg) line by line. A Log that
// cannot be read has no lines; callers that need the reason (package meter)
// use Read.
package kmsg

import (
	"errors"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const device = "/dev/kmsg"

// Log is the kernel log from some position on. Each Lines call continues where
// the last one ended; calls do not share memory.
type Log struct{ fd int } // -1: unreadable

// Whole starts at the oldest line that the kernel still has.
func Whole() Log {
	fd, err := unix.Open(device, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return Log{-1}
	}
	return Log{fd}
}

// SinceNow starts after the newest line.
func SinceNow() Log {
	l := Whole()
	if l.fd < 0 {
		return l
	}
	if err := l.Skip(); err != nil {
		l.Close()
		return Log{-1}
	}
	return l
}

// Skip moves past the newest line.
func (l Log) Skip() error {
	_, err := unix.Seek(l.fd, 0, unix.SEEK_END)
	return err
}

// Close must be called at most once.
func (l Log) Close() {
	if l.fd >= 0 {
		_ = unix.Close(l.fd)
	}
}

// most is how many lines one call reads, so that a kernel that logs faster
// than this reads cannot keep it busy forever.
const most = 1 << 14

// unwritten is how long another processor may take to write a record. Until
// then the log ends before that record, even for readers of a later one
// (prb_read_valid in kernel/printk/printk_ringbuffer.c). With three concurrent
// writers in tight loops, 6 of 10,000 own lines were missing at first, 1 of
// 10,000 after 10 microseconds, 1 of a million after 50, and no fewer after
// 200.
const unwritten = 50 * time.Microsecond

// Longest exceeds the length of any record, in bytes.
const Longest = 8 << 10

// Read passes the lines logged so far to record, one at a time and at most
// most of them. fd does not block; buf, of Longest bytes, is reused for each
// record. lost reports that the log wrapped around before it was read; the
// records that follow are complete.
func Read(fd int, buf []byte, most int, record func([]byte)) (lost bool, err error) {
	var ended time.Time
	for taken := 0; taken < most; {
		n, err := unix.Read(fd, buf)
		switch {
		case err == nil && n > 0:
			record(buf[:n])
			taken++
		case errors.Is(err, unix.EPIPE):
			lost = true
			taken++
		case errors.Is(err, unix.EINTR):
		case err != nil && !errors.Is(err, unix.EAGAIN):
			return lost, err
		case runtime.NumCPU() == 1:
			return lost, nil
		case ended.IsZero():
			ended = time.Now()
		case time.Since(ended) > unwritten: // poll until then: a sleep takes a millisecond
			return lost, nil
		}
	}
	return lost, nil
}

// Lines returns the lines logged so far, without their prefixes.
func (l Log) Lines() []string {
	if l.fd < 0 {
		return nil
	}
	var out []string
	_, _ = Read(l.fd, make([]byte, Longest), most, func(record []byte) { out = append(out, Text(string(record))) })
	return out
}

// Text returns the message of a record, "6,123,456,-;text". One read returns
// one record; further lines in it describe the device
// (Documentation/ABI/testing/dev-kmsg).
func Text(record string) string {
	_, text, _ := strings.Cut(record, ";")
	text, _, _ = strings.Cut(text, "\n")
	return text
}
