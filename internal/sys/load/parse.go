// Package load measures how long work on this machine waits for a processor that other work has:
// from the scheduler's own counters where there is work to observe, and by trying where there is none.
package load

import (
	"bytes"
	"errors"
	"strconv"
	"time"

	"whichfs/internal/sys/procfs"
)

// processors holds the times of all processors together since the machine started (/proc/stat,
// proc(5)).
type processors struct {
	number int
	busy   time.Duration // with programs and threads of the kernel
	stolen time.Duration // that a hypervisor had for other machines while there was work
}

// most ticks of one kind: three of them are a time.Duration, 170 years.
const most = 1 << 39 / 3

// parseStat reads /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal of all processors;
// a guest's time is in user's. Interrupts are left out: nobody knows for whom they were. Kernels
// before 2.6.11 have no steal, none here is as old.
func parseStat(text []byte) (processors, error) {
	var p processors
	bad := errors.New("no line of all processors")
	line, rest, _ := bytes.Cut(text, []byte{'\n'})
	all, ok := bytes.CutPrefix(line, []byte("cpu "))
	var v [8]uint64
	if !ok || !numbers(all, v[:]) {
		return p, bad
	}
	for _, i := range []int{0, 1, 2, 7} {
		if v[i] > most {
			return p, bad
		}
	}
	p.busy, p.stolen = time.Duration(v[0]+v[1]+v[2])*procfs.Tick, time.Duration(v[7])*procfs.Tick
	for line := range bytes.Lines(rest) {
		if !bytes.HasPrefix(line, []byte("cpu")) {
			break
		}
		p.number++
	}
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
