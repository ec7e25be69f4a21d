package load

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/sys/procfs"
)

// Watch observes processes with all their threads.
type Watch struct {
	proc  string
	pids  []int
	used  func(pid int) (time.Duration, bool) // processor time of a process
	kinds map[int]kind                        // of processes seen before
}

// kind of a process: whether it works for someone else.
type kind struct {
	others bool
	used   time.Duration // when it was seen last: another process of the same number has less
}

// Observe watches processes. proc is the path of procfs ("/proc"). A Watch serves one goroutine at a
// time.
func Observe(proc string, pids ...int) *Watch {
	return &Watch{proc: proc, pids: pids, used: usedBy, kinds: map[int]kind{}}
}

// usedBy reads the clock of a process, to the nanosecond (clock_getcpuclockid(3); the encoding is in
// include/linux/posix-timers_types.h). Threads of the kernel are processes here.
func usedBy(pid int) (time.Duration, bool) {
	const ofProcess, scheduler = 0, 2
	var t unix.Timespec
	err := unix.ClockGettime(int32(^pid<<3|ofProcess|scheduler), &t)
	return time.Duration(t.Nano()), err == nil
}

// thread holds the times of one thread since it began.
type thread struct {
	ran, waited time.Duration
	here        bool // of this process
}

// Mark is the state of the counters at one moment.
type Mark struct {
	at         time.Time
	threads    map[int]thread // of the observed processes, by number
	threadsErr error
	here       time.Duration         // processor time of this process
	others     map[int]time.Duration // and of each that works for others
	processors processors
	statErr    error
	pressure   time.Duration
	pressErr   error
}

// Now reads the counters: 100 µs for a guest's ten threads, and 1 µs for each process of the machine.
// What cannot be read is absent from what follows.
func (w *Watch) Now() Mark {
	m := Mark{at: time.Now(), threads: map[int]thread{}, here: clock(unix.CLOCK_PROCESS_CPUTIME_ID), others: w.others()}
	for _, pid := range w.pids {
		if err := w.threads(pid, m.threads); err != nil {
			m.threadsErr = err
		}
	}
	text, err := os.ReadFile(filepath.Join(w.proc, "stat"))
	if m.statErr = err; err == nil {
		m.processors, m.statErr = parseStat(text)
	}
	text, err = os.ReadFile(filepath.Join(w.proc, "pressure/cpu"))
	if m.pressErr = err; err == nil {
		m.pressure, m.pressErr = parsePressure(text)
	}
	return m
}

// threads adds the threads of a process; one that ends meanwhile is left out.
func (w *Watch) threads(pid int, into map[int]thread) error {
	dir := filepath.Join(w.proc, strconv.Itoa(pid), "task")
	list, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range list {
		tid, err := strconv.Atoi(entry.Name())
		if err != nil {
			return fmt.Errorf("%s: a thread named %q", dir, entry.Name())
		}
		text, err := os.ReadFile(filepath.Join(dir, entry.Name(), "schedstat"))
		if errors.Is(err, os.ErrNotExist) {
			if _, gone := os.Stat(filepath.Join(dir, entry.Name())); gone != nil {
				continue
			}
		}
		if err != nil {
			return err
		}
		ran, waited, err := procfs.ParseSchedstat(text)
		if err != nil {
			return err
		}
		into[tid] = thread{ran: ran, waited: waited, here: pid == os.Getpid()}
	}
	return nil
}

// others are the times of the processes that are neither observed, nor this one, nor children of
// these, nor threads of the kernel, which work for whoever asks. Processes that cannot be seen from
// here are not among them.
func (w *Watch) others() map[int]time.Duration {
	found := map[int]time.Duration{}
	dir, err := os.Open(w.proc)
	if err != nil {
		return found
	}
	defer dir.Close() //nolint:errcheck // read only
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return found
	}
	kinds := make(map[int]kind, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		used, ok := w.used(pid)
		if !ok {
			continue
		}
		k, seen := w.kinds[pid]
		if !seen || used < k.used {
			k.others = w.works(pid)
		}
		k.used = used
		kinds[pid] = k
		if k.others {
			found[pid] = used
		}
	}
	w.kinds = kinds
	return found
}

// works reports whether a process works for others.
func (w *Watch) works(pid int) bool {
	text, err := os.ReadFile(filepath.Join(w.proc, strconv.Itoa(pid), "stat"))
	if err != nil {
		return false // it has ended
	}
	p, err := procfs.ParseProcess(text)
	own := func(pid int) bool { return pid == os.Getpid() || slices.Contains(w.pids, pid) }
	return err == nil && !p.Kernel && !own(pid) && !own(p.Parent)
}

// Load is what the processors of a machine did to the observed work between two marks.
type Load struct {
	Window time.Duration
	// Waited is how long the work's threads waited for other work of the machine, or for other
	// machines of its hypervisor: those of the thread that waited longest, at most Window.
	Waited time.Duration
	// Stolen is what the hypervisor had of all processors together.
	Stolen time.Duration
	// Pressure is how long any process of the machine waited for a processor.
	Pressure time.Duration
	// Absent says why Waited is unknown, NoPressure why Pressure is; empty: they are known.
	Absent, NoPressure string
}

// Add adds what happened at another time.
func (l *Load) Add(m Load) {
	l.Window, l.Waited, l.Stolen, l.Pressure = l.Window+m.Window, l.Waited+m.Waited, l.Stolen+m.Stolen, l.Pressure+m.Pressure
	l.Absent, l.NoPressure = cmp.Or(l.Absent, m.Absent), cmp.Or(l.NoPressure, m.NoPressure)
}

// Own is what the observed work did besides what its threads' counters and those of this process
// show.
type Own struct {
	// Ran is processor time of threads and programs that were not observed.
	Ran time.Duration
	// Waited is how long programs waited that the work waited for, one after the other.
	Waited time.Duration
	// Threads is how long the one waited that waited longest of threads that were not observed.
	Threads time.Duration
}

// Between says what happened from a to b.
//
// The work's threads also wait for each other, on a machine with few processors even if it has no
// other work, and a repetition would wait as long. So the wait counts as far as processors certainly
// worked for others meanwhile.
func Between(a, b Mark, own Own) Load {
	l := Load{Window: b.at.Sub(a.at)}
	if err := errors.Join(a.pressErr, b.pressErr); err != nil {
		l.NoPressure = err.Error()
	}
	l.Pressure = min(max(0, b.pressure-a.pressure), l.Window)
	var ran, longest time.Duration
	counted := false
	for tid, after := range b.threads {
		before := a.threads[tid] // zero: it began meanwhile
		counted = counted || after.ran > 0
		if after.ran < before.ran || after.waited < before.waited {
			before = thread{} // another one of the same number
		}
		if !after.here { // here has those as well that ended
			ran += after.ran - before.ran
		}
		longest = max(longest, after.waited-before.waited)
	}
	err := errors.Join(a.threadsErr, b.threadsErr, a.statErr, b.statErr)
	if err == nil && !counted {
		err = errors.New("this kernel does not count how long threads wait")
	}
	if err != nil {
		l.Absent = err.Error()
		return l
	}
	ran += b.here - a.here + own.Ran
	l.Stolen = max(0, b.processors.stolen-a.processors.stolen)
	l.Waited = min(max(longest+own.Waited, own.Threads), ofOthers(a, b, ran))
	// A processor that is taken away takes the work on it along, in proportion to the work.
	if stolen := l.Stolen - procfs.Tick; stolen > 0 {
		busy := max(b.processors.busy-a.processors.busy, ran)
		l.Waited += time.Duration(float64(ran) * stolen.Seconds() / (stolen + busy).Seconds())
	}
	l.Waited = min(l.Waited, l.Window)
	return l
}

// ofOthers is how long processors certainly worked for others from a to b, while they worked for the
// observed work as long as ran.
//
// Processes that are there at b have exact clocks. Those that ended meanwhile are in the busy time of
// the processors alone, which most kernels sample: whatever runs at a tick has the whole tick. The
// difference to the time that is known counts from three times the standard deviation of as many
// drawings, at most 1/2 each, and the tick that is lost in the sum.
func ofOthers(a, b Mark, ran time.Duration) time.Duration {
	var seen time.Duration
	for pid, used := range b.others {
		if before := a.others[pid]; before <= used {
			used -= before // otherwise another one of the same number
		}
		seen += used
	}
	ticks := float64(b.processors.number) * b.at.Sub(a.at).Seconds() / procfs.Tick.Seconds()
	uncertain := procfs.Tick + time.Duration(3*math.Sqrt(ticks)/2*float64(procfs.Tick))
	return max(seen, b.processors.busy-a.processors.busy-ran-uncertain)
}
