package meter

import (
	"bytes"
	"errors"
	"time"
)

// procStat holds the needed fields of /proc/PID/stat (proc(5)).
type procStat struct {
	name   string
	kernel bool          // it is a kernel thread
	used   time.Duration // user and system time, in whole clock ticks
}

const kernelThread = 0x00200000 // PF_KTHREAD, include/linux/sched.h

// parseStat reads a stat line. The name may contain anything, including parentheses and blanks, so
// it ends at the last parenthesis.
func parseStat(text []byte) (procStat, error) {
	bad := errors.New("not a line of process state")
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return procStat{}, bad
	}
	s := procStat{name: string(text[open+1 : end])}
	rest := text[end+1:]
	if len(rest) < 3 {
		return procStat{}, bad
	}
	rest = rest[3:] // " S", the state, and the blank after it
	// From field 4 on; 4 to 8 are parent, group, session, terminal and its group, of which the last
	// can be -1.
	for field := 4; field <= 15; field++ {
		rest = bytes.TrimLeft(rest, " ")
		if field <= 8 && len(rest) > 0 && rest[0] == '-' {
			rest = rest[1:]
		}
		value, r, ok := number(rest)
		if !ok {
			return procStat{}, bad
		}
		rest = r
		switch field {
		case 9:
			s.kernel = value&kernelThread != 0
		case 14, 15:
			if value > 1<<40 {
				return procStat{}, bad
			}
			s.used += time.Duration(value) * clockTick
		}
	}
	return s, nil
}

// parseSchedstat reads /proc/PID/schedstat: nanoseconds on a processor,
// nanoseconds waiting, turns.
func parseSchedstat(text []byte) (used, waited time.Duration, err error) {
	u, rest, ok := number(text)
	w, _, more := number(rest)
	if !ok || !more || u > 1<<62 || w > 1<<62 {
		return 0, 0, errors.New("not a line of scheduler statistics")
	}
	return time.Duration(u), time.Duration(w), nil
}
