package load

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Watch observes processes with all their threads.
type Watch struct {
	proc string
	pids []int
}

// Observe watches processes. proc is the path of procfs ("/proc").
func Observe(proc string, pids ...int) *Watch { return &Watch{proc, pids} }

// Mark is the state of the counters at one moment.
type Mark struct {
	at         time.Time
	tasks      map[int]task // by thread
	tasksErr   error
	here       time.Duration // processor time of this process
	processors processors
	statErr    error
	pressure   time.Duration
	pressErr   error
}

// Now reads the counters: about 100 µs for a guest's ten threads. What cannot be read is absent
// from what follows.
func (w *Watch) Now() Mark {
	m := Mark{at: time.Now(), tasks: map[int]task{}, here: clock(unix.CLOCK_PROCESS_CPUTIME_ID)}
	for _, pid := range w.pids {
		if err := w.threads(pid, m.tasks); err != nil {
			m.tasksErr = err
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
func (w *Watch) threads(pid int, into map[int]task) error {
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
		t, err := parseSchedstat(text)
		if err != nil {
			return err
		}
		t.here = pid == os.Getpid()
		into[tid] = t
	}
	return nil
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
// other work, and a repetition would wait as long. So the wait counts as far as processors worked
// for others meanwhile. Their time is known to about a tick for every mark.
func Between(a, b Mark, own Own) Load {
	l := Load{Window: b.at.Sub(a.at)}
	if err := errors.Join(a.pressErr, b.pressErr); err != nil {
		l.NoPressure = err.Error()
	}
	l.Pressure = min(max(0, b.pressure-a.pressure), l.Window)
	var ran, longest time.Duration
	counted := false
	for tid, after := range b.tasks {
		before := a.tasks[tid] // zero: it began meanwhile
		counted = counted || after.ran > 0
		if after.ran < before.ran || after.waited < before.waited {
			before = task{} // another one of the same number
		}
		if !after.here { // here has those as well that ended
			ran += after.ran - before.ran
		}
		longest = max(longest, after.waited-before.waited)
	}
	err := errors.Join(a.tasksErr, b.tasksErr, a.statErr, b.statErr)
	if err == nil && !counted {
		err = errors.New("this kernel does not count how long threads wait")
	}
	if err != nil {
		l.Absent = err.Error()
		return l
	}
	ran += b.here - a.here + own.Ran
	busy := b.processors.busy - a.processors.busy
	l.Stolen = max(0, b.processors.stolen-a.processors.stolen)
	others := max(0, busy-ran) + 2*tick
	l.Waited = min(max(longest+own.Waited, own.Threads), others)
	// A processor that is taken away takes the work on it along, in proportion to the work.
	l.Waited += time.Duration(stolenShare(a.processors, b.processors) * float64(ran))
	l.Waited = min(l.Waited, l.Window)
	return l
}
