// Package kmsg reads what the kernel says (/dev/kmsg), line by line. A Log that
// cannot be read has no lines; who must know why (package meter) calls Read.
package kmsg

import (
	"errors"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const device = "/dev/kmsg"

// Log is the kernel's log from some place on. Each Lines goes on where the last
// one ended; calls do not share memory.
type Log struct{ fd int } // -1: it cannot be read

// Whole begins with the oldest line that the kernel still has.
func Whole() Log {
	fd, err := unix.Open(device, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return Log{-1}
	}
	return Log{fd}
}

// SinceNow begins behind the newest.
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

// Skip goes on behind the newest.
func (l Log) Skip() error {
	_, err := unix.Seek(l.fd, 0, unix.SEEK_END)
	return err
}

// Close may be called once.
func (l Log) Close() {
	if l.fd >= 0 {
		_ = unix.Close(l.fd)
	}
}

// most is how many lines are taken in at once: a kernel that writes faster than
// this reads must not keep it.
const most = 1 << 14

// unwritten is how long another processor may take to write a record. Until it
// has, the log ends before that record, also for who reads a later one
// (prb_read_valid in kernel/printk/printk_ringbuffer.c). Beside three writers that
// do nothing else, 6 of 10,000 own lines were not there at once, 1 of 10,000 after
// 10 microseconds, 1 of a million after 50, and no fewer after 200.
const unwritten = 50 * time.Microsecond

// Longest is longer than any record, in bytes.
const Longest = 8 << 10

// Read hands over what was logged up to now, a record at a time and at most so
// many. fd does not block; buf, of Longest bytes, is used for each of them. Lost
// tells that the log went round: what follows is still there.
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
		case time.Since(ended) > unwritten: // busy until then: sleeping takes a millisecond
			return lost, nil
		}
	}
	return lost, nil
}

// Lines are those that were logged up to now, without their heads.
func (l Log) Lines() []string {
	if l.fd < 0 {
		return nil
	}
	var out []string
	_, _ = Read(l.fd, make([]byte, Longest), most, func(record []byte) { out = append(out, Text(string(record))) })
	return out
}

// Text is the line of a record, "6,123,456,-;text", of which one read gives one;
// lines behind it describe the device (Documentation/ABI/testing/dev-kmsg).
func Text(record string) string {
	_, text, _ := strings.Cut(record, ";")
	text, _, _ = strings.Cut(text, "\n")
	return text
}
