package meter

import (
	"bytes"
	"errors"
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"whichfs/internal/result"
)

// Instruction is the time that one instruction takes on a clock that counts instructions: QEMU's
// -icount shift=1.
const Instruction = 2 * time.Nanosecond

// noTime is the reason that times are absent beside instructions: while a guest waits, the clock
// follows real time, and otherwise instructions, so its differences are no times.
const noTime = "this guest's clock counts instructions, not time"

// work holds the counters of a machine whose clock counts instructions, at one moment.
type work struct {
	clock time.Duration // monotonic
	idle  time.Duration // of the only processor
	aside time.Duration // processor time of this process's other threads: the runtime's
	err   error
}

// timers shows a processor's idle time in nanoseconds; /proc/stat counts ticks.
const timers = "/proc/timer_list"

// timersPath is timers as a C string, built once: the agent's own allocations are counted.
var timersPath = append([]byte(timers), 0)

// atFDCWD stands for the working directory.
var atFDCWD = ^uintptr(0) - 99

var (
	timersText [256 << 10]byte
	idleMark   = []byte(".idle_sleeptime : ")
)

// begin reads the clock last and end reads it first, so that reading the counters is outside the
// phase. While this thread runs, neither idle time nor the time of other threads grows.
func (w *work) begin() {
	w.rest()
	w.now()
}

func (w *work) end() {
	w.now()
	w.rest()
}

func (w *work) now() {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		w.err = err
	}
	w.clock = time.Duration(now.Nano())
}

func (w *work) rest() {
	fd, _, errno := unix.Syscall6(unix.SYS_OPENAT, atFDCWD, uintptr(unsafe.Pointer(&timersPath[0])), unix.O_RDONLY|unix.O_CLOEXEC, 0, 0, 0)
	if errno != 0 {
		w.err = fmt.Errorf("%s: %w", timers, errno)
		return
	}
	text, err := readAll(int(fd), timers, timersText[:])
	if err != nil {
		w.err = err
		return
	}
	_, text, found := bytes.Cut(text, idleMark)
	ns, _, ok := number(text)
	if !found || !ok {
		w.err = errors.New(timers + " does not show the processor's idle time")
		return
	}
	w.idle = time.Duration(ns)
	// The two clocks are read in succession, at the same cost each time, so the time between the
	// reads cancels out. (The cost of getrusage varies: it splits the time into user and system.)
	var all, thread unix.Timespec
	w.err = first(w.err, unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &all), unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &thread))
	w.aside = time.Duration(all.Nano() - thread.Nano())
}

// instructions converts the figures of a phase for a clock that counts instructions: it adds the
// instructions that the processor executed, without those of this process's other threads, and makes
// every time absent.
//
// Where the processor spends the storage's delays (a simulated chip), the instructions give the
// duration of the phase with such a chip and a processor that needs Instruction for each
// instruction: modelled makes this the wall time.
func (f *figures) instructions(before, after work, modelled bool) {
	withoutTimes(f.all)
	did := (after.clock - before.clock) - (after.idle - before.idle) - (after.aside - before.aside)
	err := first(before.err, after.err)
	f.add(result.Instructions, count(did), err)
	if !modelled || err != nil {
		return
	}
	for i := range f.all {
		if f.all[i].Metric == result.Wall {
			f.all[i].Value, f.all[i].Absent = did.Seconds(), ""
		}
	}
}

func count(d time.Duration) float64 { return float64(d) / float64(Instruction) }

// withoutTimes makes every figure in seconds absent.
func withoutTimes(all []result.Measurement) {
	for i := range all {
		if all[i].Unit == "s" && all[i].Absent == "" {
			all[i].Absent, all[i].Value = noTime, 0
		}
	}
}

// givenBefore is the reason that only the time of some work is known.
const givenBefore = "not taken when this work was done and timed, before the trial"

// Given returns the figures of work that was done and timed separately before the trial, in seconds
// of this machine's clock.
func (m *Meter) Given(seconds float64) []result.Measurement {
	all := Absent(givenBefore)
	for i := range all {
		if all[i].Metric == result.Wall {
			all[i].Value, all[i].Absent = seconds, ""
		}
	}
	if m.counts {
		if !m.modelled {
			withoutTimes(all)
		}
		all = append(all, result.Figure(result.Instructions, seconds*1e9/float64(Instruction)))
	}
	return append(all, m.uncharged(givenBefore)...)
}

// Earlier adds the time of a part of the phase's work that was done and timed before to its figures.
// What else that part took is in none of them.
func (m *Meter) Earlier(all []result.Measurement, seconds float64) {
	for i := range all {
		switch one := &all[i]; {
		case one.Absent != "":
		case one.Metric == result.Wall:
			one.Value += seconds
		case one.Metric == result.Instructions && m.counts:
			one.Value += seconds * 1e9 / float64(Instruction)
		}
	}
}

// Without returns the figures of a phase that could not run.
func (m *Meter) Without(why string) []result.Measurement {
	all := append(Absent(why), m.uncharged(why)...)
	if m.counts {
		all = append(all, result.Missing(result.Instructions, why))
		all = append(all, m.Shares(all, 0, 0)...)
	}
	return all
}

// Shares returns the instructions of a phase per file handled and per byte moved; nil on a clock
// that counts time. There is no share per device request: a disk in memory has none.
func (m *Meter) Shares(all []result.Measurement, files, bytes int64) []result.Measurement {
	if !m.counts {
		return nil
	}
	share := func(metric string, of int64, what string) result.Measurement {
		s := result.Missing(metric, "no instructions were counted")
		for _, x := range all {
			if x.Metric != result.Instructions {
				continue
			}
			switch {
			case x.Absent != "":
				s.Absent = x.Absent
			case of <= 0:
				s.Absent = "the phase " + what
			default:
				s.Value, s.Absent = x.Value/float64(of), ""
			}
		}
		return s
	}
	return []result.Measurement{
		share(result.InstructionsOp, files, "handles no files"),
		share(result.InstructionsByte, bytes, "moves no data of its own"),
	}
}

// Seconds makes times measured by other programs absent where the clock counts instructions.
func (m *Meter) Seconds(all []result.Measurement) {
	if m.counts {
		withoutTimes(all)
	}
}

// uncounted is the error for storage without traffic counters.
func uncounted(why string) error {
	if why == "" {
		why = "the storage is not a block device, and its traffic is not counted"
	}
	return errors.New(why)
}
