// Package procfs reads what procfs shows about processes. Nothing in it allocates but names, so that
// it can be used beside what is measured.
package procfs

import (
	"bytes"
	"errors"
	"time"
)

// Tick is USER_HZ, which is 100 in Linux on every architecture here.
const Tick = 10 * time.Millisecond

// Process holds fields of /proc/PID/stat (proc(5)).
type Process struct {
	Name    string // may contain anything
	State   byte
	Parent  int
	Kernel  bool          // it is a kernel thread
	Used    time.Duration // user and system time, in whole ticks
	Started uint64        // ticks since the machine started
}

const kernelThread = 0x00200000 // PF_KTHREAD, include/linux/sched.h

// ParseProcess reads a stat line. The name may contain parentheses and blanks, so it ends at the last
// parenthesis.
func ParseProcess(text []byte) (Process, error) {
	bad := errors.New("not a line of process state")
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 0 || end < open || len(text) < end+4 {
		return Process{}, bad
	}
	p := Process{Name: string(text[open+1 : end]), State: text[end+2]}
	rest := text[end+3:]
	for field := 4; field <= 22; field++ {
		value, r, ok := number(rest)
		if !ok {
			return Process{}, bad
		}
		rest = r
		switch field {
		case 4:
			if value < 0 || value > 1<<30 {
				return Process{}, bad
			}
			p.Parent = int(value)
		case 9:
			p.Kernel = value&kernelThread != 0
		case 14, 15:
			if value < 0 || value > 1<<38 {
				return Process{}, bad
			}
			p.Used += time.Duration(value) * Tick
		case 22:
			if value < 0 {
				return Process{}, bad
			}
			p.Started = uint64(value)
		}
	}
	return p, nil
}

// ParseSchedstat reads /proc/PID/schedstat (Documentation/scheduler/sched-stats.rst): time on a
// processor, and waiting for one. A kernel that does not count shows zeros, which a thread that reads
// its own cannot have.
func ParseSchedstat(text []byte) (ran, waited time.Duration, err error) {
	r, rest, ok := number(text)
	w, _, more := number(rest)
	if !ok || !more || r < 0 || w < 0 {
		return 0, 0, errors.New("not a line of scheduler statistics")
	}
	return time.Duration(r), time.Duration(w), nil
}

// number reads the decimal number that text begins with, after blanks, up to a blank or the end.
func number(text []byte) (value int64, rest []byte, ok bool) {
	text = bytes.TrimLeft(text, " \t\n")
	negative := len(text) > 0 && text[0] == '-'
	if negative {
		text = text[1:]
	}
	n := 0
	for ; n < len(text) && text[n] >= '0' && text[n] <= '9'; n++ {
		digit := int64(text[n] - '0')
		if value > (1<<62-digit)/10 {
			return 0, nil, false
		}
		value = value*10 + digit
	}
	if n < len(text) && text[n] != ' ' && text[n] != '\t' && text[n] != '\n' {
		return 0, nil, false
	}
	if negative {
		value = -value
	}
	return value, text[n:], n > 0
}
