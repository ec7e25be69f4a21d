// Package load measures how long work on this machine waits for a processor that other work has:
// from the scheduler's own counters where there is work to observe, and by trying where there is none.
package load

import (
	"bytes"
	"errors"
	"strconv"
	"time"
)

// task holds the times of one thread since it began (/proc/PID/task/TID/schedstat,
// Documentation/scheduler/sched-stats.rst).
type task struct {
	ran, waited time.Duration
	here        bool // of this process
}

// parseSchedstat reads nanoseconds on a processor, nanoseconds waiting for one, turns. A kernel
// without these counters shows zeros, which a thread that reads its own cannot have.
func parseSchedstat(text []byte) (task, error) {
	var v [3]uint64
	if !numbers(text, v[:]) || v[0] > 1<<62 || v[1] > 1<<62 {
		return task{}, errors.New("not a line of scheduler statistics")
	}
	return task{ran: time.Duration(v[0]), waited: time.Duration(v[1])}, nil
}

// processors holds the times of all processors together since the machine started (/proc/stat,
// proc(5)).
type processors struct {
	busy   time.Duration // with the machine's own work, interrupts included
	stolen time.Duration // that a hypervisor had for other machines while there was work
}

// tick is USER_HZ, which is 100 in Linux on every architecture here.
const tick = 10 * time.Millisecond

// most ticks that a time.Duration can hold: 170 years.
const most = 1 << 39

// parseStat reads the first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq,
// steal; a guest's time is in user's. Kernels before 2.6.11 have no steal, none here is as old.
func parseStat(text []byte) (processors, error) {
	var p processors
	bad := errors.New("no line of all processors")
	line, _, _ := bytes.Cut(text, []byte{'\n'})
	all, ok := bytes.CutPrefix(line, []byte("cpu "))
	var v [8]uint64
	if !ok || !numbers(all, v[:]) {
		return p, bad
	}
	var busy uint64
	for _, i := range []int{0, 1, 2, 5, 6} {
		busy += min(v[i], most)
	}
	if busy > most || v[7] > most {
		return p, bad
	}
	p.busy, p.stolen = time.Duration(busy)*tick, time.Duration(v[7])*tick
	return p, nil
}

// parsePressure reads /proc/pressure/cpu (Documentation/accounting/psi.rst): how long at least one
// task waited for a processor since the machine started.
func parsePressure(text []byte) (time.Duration, error) {
	for line := range bytes.Lines(text) {
		some, ok := bytes.CutPrefix(line, []byte("some "))
		if !ok {
			continue
		}
		_, total, ok := bytes.Cut(some, []byte("total="))
		us, err := strconv.ParseUint(string(bytes.TrimSpace(total)), 10, 64)
		if !ok || err != nil || us > 1<<52 {
			break
		}
		return time.Duration(us) * time.Microsecond, nil
	}
	return 0, errors.New("no total of processor pressure")
}

// numbers reads as many blank-separated numbers as v has room for.
func numbers(text []byte, v []uint64) bool {
	fields := bytes.Fields(text)
	if len(fields) < len(v) {
		return false
	}
	for i := range v {
		n, err := strconv.ParseUint(string(fields[i]), 10, 64)
		if err != nil {
			return false
		}
		v[i] = n
	}
	return true
}
