// Package kmsg reads what the kernel says (/dev/kmsg), line by line. A log that
// cannot be read has no lines; who must know why (package meter) reads it itself.
package kmsg

import (
	"errors"
	"strings"

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
	if _, err := unix.Seek(l.fd, 0, unix.SEEK_END); err != nil {
		l.Close()
		return Log{-1}
	}
	return l
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

// Lines are those that were logged up to now, without their heads.
func (l Log) Lines() []string {
	if l.fd < 0 {
		return nil
	}
	var out []string
	buf := make([]byte, 8<<10) // no record is longer
	for range most {
		n, err := unix.Read(l.fd, buf)
		if errors.Is(err, unix.EPIPE) || errors.Is(err, unix.EINTR) {
			continue // the log went round: what follows is still there
		}
		if err != nil || n <= 0 {
			return out
		}
		out = append(out, Text(string(buf[:n])))
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
