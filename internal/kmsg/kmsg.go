// Package kmsg reads what the kernel says (/dev/kmsg), line by line. A log that
// cannot be read has no lines; who must know why (package meter) reads it itself.
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

// Pause is how long another processor may take to write a record. Until it has,
// the log ends before that record, also for who reads a later one
// (prb_read_valid in kernel/printk/printk_ringbuffer.c).
const Pause = 200 * time.Microsecond

// Lines are those that were logged up to now, without their heads.
func (l Log) Lines() []string {
	if l.fd < 0 {
		return nil
	}
	var out []string
	buf := make([]byte, 8<<10) // no record is longer
	paused := runtime.NumCPU() == 1
	for range most {
		n, err := unix.Read(l.fd, buf)
		switch {
		case errors.Is(err, unix.EPIPE) || errors.Is(err, unix.EINTR):
			// The log went round: what follows is still there.
		case err == nil && n > 0:
			out = append(out, Text(string(buf[:n])))
		case paused:
			return out
		default:
			time.Sleep(Pause)
			paused = true
		}
	}
	return out
}

// Text is the line of a record, "6,123,456,-;text", of which one read gives one;
// lines behind it describe the device (Documentation/ABI/testing/dev-kmsg).
func Text(record string) string {
	_, text, _ := strings.Cut(record, ";")
	text, _, _ = strings.Cut(text, "\n")
	return text
}
