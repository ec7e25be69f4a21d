package explore

import (
	"errors"
	"regexp"
	"strings"

	"golang.org/x/sys/unix"
)

// kernelLog has what the kernel says of one device. Others' devices may be in
// use at the same time, so a line that names none of ours is nobody's, but where
// it tells of a fault of the kernel itself.
type kernelLog struct {
	fd  int // -1: there is no log
	own *regexp.Regexp
	buf []byte
}

// ofTheKernel are beginnings of lines about faults of the kernel itself.
var ofTheKernel = []string{"BUG: ", "kernel BUG at", "Oops: ", "general protection fault", "Internal error: Oops", "Unable to handle kernel", "Kernel panic", "WARNING: CPU: "}

// followLog begins at the end of the log.
func followLog(device string) *kernelLog {
	l := &kernelLog{fd: -1, buf: make([]byte, 8<<10), // no record is longer
		own: regexp.MustCompile(`\b` + regexp.QuoteMeta(device) + `\b`)}
	fd, err := unix.Open("/dev/kmsg", unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return l
	}
	if _, err := unix.Seek(fd, 0, unix.SEEK_END); err != nil {
		_ = unix.Close(fd)
		return l
	}
	l.fd = fd
	return l
}

func (l *kernelLog) close() {
	if l.fd >= 0 {
		_ = unix.Close(l.fd)
		l.fd = -1
	}
}

// lines are the new ones of the device; one read gives one record,
// "6,123,456,-;text" (Documentation/ABI/testing/dev-kmsg).
func (l *kernelLog) lines() []string {
	var out []string
	for l.fd >= 0 {
		n, err := unix.Read(l.fd, l.buf)
		if errors.Is(err, unix.EPIPE) || errors.Is(err, unix.EINTR) {
			continue // the log went round: what follows is still there
		}
		if err != nil || n <= 0 {
			return out
		}
		if text, ours := l.take(string(l.buf[:n])); ours {
			out = append(out, text)
		}
	}
	return out
}

// take returns the text of a record, if it is ours.
func (l *kernelLog) take(record string) (text string, ours bool) {
	_, text, _ = strings.Cut(record, ";")
	text, _, _ = strings.Cut(text, "\n")
	if l.own.MatchString(text) {
		return text, true
	}
	return text, kernelFault(text)
}

func kernelFault(line string) bool {
	for _, begin := range ofTheKernel {
		if strings.HasPrefix(line, begin) {
			return true
		}
	}
	return false
}

// died reports whether the kernel told of an end of what was under way, after
// which nothing can return.
func died(lines []string) bool {
	for _, l := range lines {
		if kernelFault(l) && !strings.HasPrefix(l, "WARNING: ") {
			return true
		}
	}
	return false
}
