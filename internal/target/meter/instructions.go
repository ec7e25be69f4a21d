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

// Instruction is how far a clock that counts instructions goes with each of
// them: QEMU's -icount shift=1.
const Instruction = 2 * time.Nanosecond

// noTime is why there are no times beside instructions: the clock stands still
// for nobody, and what it shows while a guest waits is no time of anything.
const noTime = "this guest's clock counts instructions and knows no time"

// work is what a machine whose clock counts instructions had done at a moment.
type work struct {
	clock time.Duration // monotonic
	idle  time.Duration // of the only processor, in which it executed nothing
	aside time.Duration // processor time of this process's other threads: the runtime's
	err   error
}

// timers is where the kernel says to the nanosecond how long a processor was
// idle; /proc/stat counts in ticks.
const timers = "/proc/timer_list"

// timersPath is it as the kernel takes it: made once, since the agent counts
// what it allocates meanwhile.
var timersPath = append([]byte(timers), 0)

// atFDCWD stands for the directory that the process is in.
var atFDCWD = ^uintptr(0) - 99

var (
	timersText [256 << 10]byte
	idleMark   = []byte(".idle_sleeptime : ")
)

// begin and end read it, the clock last and first: what the reading itself
// takes lies outside of the phase. While the processor works neither idle time
// nor that of other threads moves.
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
		w.err = errors.New(timers + " does not say how long the processor was idle")
		return
	}
	w.idle = time.Duration(ns)
	// The two clocks are read one right after the other and at the same cost each
	// time: what lies between them cancels out. (getrusage splits the time into
	// user's and system's, which costs more or less.)
	var all, thread unix.Timespec
	w.err = first(w.err, unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &all), unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &thread))
	w.aside = time.Duration(all.Nano() - thread.Nano())
}

// instructions turns the figures of a phase into those of a clock that counts
// instructions: all that the processor executed, but for the other threads of
// this process; and every time is absent.
//
// Where the storage's delays are spent by the processor (a simulated chip), what
// was executed is the time that the phase takes with such a chip and a processor
// that needs Instruction for each instruction: modelled says that this is its
// wall time.
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

// Given are the figures of work that was done and timed earlier by itself, in
// seconds of this machine's clock.
func (m *Meter) Given(seconds float64) []result.Measurement {
	all := Absent("not taken when this work was done and timed, before the trial")
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
	return all
}

// Without are the figures of a phase that could not take place.
func (m *Meter) Without(why string) []result.Measurement {
	all := Absent(why)
	if m.counts {
		all = append(all, result.Missing(result.Instructions, why))
		all = append(all, m.Shares(all, 0, 0)...)
	}
	return all
}

// Shares are the instructions of a phase per file handled and per byte moved;
// nil on a clock that counts time. There are no device requests to count per: a
// disk in memory has none.
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

// Seconds makes times that others took fit the clock: absent where it counts
// instructions.
func (m *Meter) Seconds(all []result.Measurement) {
	if m.counts {
		withoutTimes(all)
	}
}

// uncounted is the error of storage whose traffic nobody counts.
func uncounted(why string) error {
	if why == "" {
		why = "the storage is not a block device, and nothing counts its traffic"
	}
	return errors.New(why)
}
