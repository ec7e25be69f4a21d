package meter

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"whichfs/internal/sys/kmsg"
)

// kernelLog reads new kernel messages from /dev/kmsg, which returns one record per read
// (Documentation/ABI/testing/dev-kmsg).
type kernelLog struct {
	fd     int
	err    error
	buf    []byte
	report int // see messages
}

// messages are the kernel's own messages since the last read, without those that programs write
// into its log.
type messages struct {
	count    int
	warned   int      // number at level warning or worse
	warnings []string // the first warnings, including repetitions
	last     []string // the last messages of any level
	report   int      // lines that may be left of a report of the kernel's; 0: the last one was in none
	scrubbed int      // blocks, as reported by UBI
	late     []string // of the clock: the processor was unavailable, without any fault here
	lost     bool     // the log wrapped before it was read
	err      error
}

func openLog(path string) *kernelLog {
	l := &kernelLog{buf: make([]byte, kmsg.Longest)}
	l.fd, l.err = unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if l.err != nil {
		l.err = fmt.Errorf("%s: %w", path, l.err)
		return l
	}
	if _, err := unix.Seek(l.fd, 0, unix.SEEK_END); err != nil {
		l.close()
		l.err = fmt.Errorf("%s: %w", path, err)
	}
	return l
}

func (l *kernelLog) close() {
	if l.err == nil {
		_ = unix.Close(l.fd)
		l.err = errors.New("the kernel log is closed")
	}
}

// drain reads new records. If the kernel logs faster than this reads, it stops after as many
// records as any log buffer holds.
func (l *kernelLog) drain() messages {
	m := messages{err: l.err, report: l.report}
	if l.err != nil {
		return m
	}
	var err error
	if m.lost, err = kmsg.Read(l.fd, l.buf, 1<<16, m.add); err != nil {
		m.err = fmt.Errorf("kernel log: %w", err)
	}
	l.report = m.report
	return m
}

// cut begins a report of a fault of the kernel's own, and endTrace ends it (kernel/panic.c): the line
// after the beginning says what and where, and the others are registers and a trace.
const cut, endTrace = "------------[ cut here ]------------", "---[ end trace "

// add parses records: "PRIORITY,SEQUENCE,TIME,FLAGS;TEXT" and lines that begin with a blank, which
// describe the device.
func (m *messages) add(text []byte) {
	for len(text) > 0 {
		line, rest, _ := bytes.Cut(text, []byte{'\n'})
		text = rest
		level, message, ok := parseRecord(line)
		if !ok {
			continue
		}
		m.count++
		if m.last = append(m.last, message); len(m.last) > maxNotes {
			m.last = m.last[1:]
		}
		if m.inReport(message) {
			continue
		}
		if scrubbed(message) {
			m.scrubbed++
		}
		switch {
		case level > warning, suppressed(message):
		case lateClock(message):
			if len(m.late) < maxNotes {
				m.late = append(m.late, message)
			}
		default:
			m.warned++
			if len(m.warnings) < maxNotes {
				m.warnings = append(m.warnings, message)
			}
		}
	}
}

// oldTrace begins the lines of a trace before Linux 4.10, which are warnings there.
const oldTrace = " [<"

// longestReport exceeds the number of lines of a report, should its end be lost.
const longestReport = 128

// inReport reports whether a message belongs to a report, except for the one that says what happened.
func (m *messages) inReport(message string) bool {
	switch {
	case message == cut:
		m.report = longestReport
	case m.report == 0:
		return strings.HasPrefix(message, oldTrace) // its beginning was overwritten
	case strings.HasPrefix(message, endTrace):
		m.report = 0
	default:
		m.report--
		return m.report < longestReport-1
	}
	return true
}

// suppressed reports whether a message counts other messages that the kernel omitted
// (lib/ratelimit.c), perhaps long ago and about another device: it is not a warning itself.
func suppressed(message string) bool { return strings.HasSuffix(message, " callbacks suppressed") }

// warning is the level of KERN_WARNING; worse ones are smaller.
const warning = 4

// lateClock reports whether a message says that the processor was unavailable at a timer's expiry:
// because of a busy host under a guest, or firmware. It concerns the figures and not the
// filesystem. The texts are those of kernel/time/hrtimer.c, kernel/time/clocksource.c and
// kernel/events/core.c, with the prefixes of 6.x.
func lateClock(message string) bool {
	for _, of := range []string{"hrtimer: interrupt took ", "clocksource: ", "perf: interrupt took too long "} {
		if strings.HasPrefix(message, of) {
			return true
		}
	}
	return false
}

// scrubbed reports whether UBI says that it has moved a block with bit flips
// (drivers/mtd/ubi/wl.c): "ubi0: scrubbed PEB 5 (LEB 0:3), data moved to PEB 7".
func scrubbed(message string) bool {
	rest, ubi := strings.CutPrefix(message, "ubi")
	_, what, found := strings.Cut(rest, ": ")
	return ubi && found && strings.HasPrefix(what, "scrubbed PEB ")
}

// parseRecord returns level and text of a message from the kernel itself.
func parseRecord(line []byte) (level int, text string, ok bool) {
	head, message, found := bytes.Cut(line, []byte{';'})
	if !found {
		return 0, "", false
	}
	priority, _, found := bytes.Cut(head, []byte{','})
	value, rest, isNumber := number(priority)
	if !found || !isNumber || len(rest) > 0 || len(line) > 0 && line[0] == ' ' || value > 7 {
		return 0, "", false // 8 and above: programs
	}
	return int(value), unescape(string(message)), true
}

// unescape decodes the log's \x0a escapes; control characters become blanks.
func unescape(s string) string {
	if !strings.Contains(s, `\x`) {
		return s
	}
	var b []byte
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) && s[i+1] == 'x' {
			if hi, lo := hex(s[i+2]), hex(s[i+3]); hi >= 0 && lo >= 0 {
				c := byte(hi<<4 | lo)
				if c < ' ' || c == 0x7f {
					c = ' '
				}
				b = append(b, c)
				i += 3
				continue
			}
		}
		b = append(b, s[i])
	}
	return strings.ToValidUTF8(string(b), "?")
}

func hex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
