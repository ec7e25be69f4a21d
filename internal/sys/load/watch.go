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

// Watch observes processes with all their threads. It serves one goroutine at a time.
type Watch struct {
	proc    string
	self    int // this process
	selfErr error
	pids    []int
	known   map[int]whose // processes of the last mark
	buf     []byte
}

// whose a process is.
type whose byte

const (
	observed whose = iota + 1
	own            // this process where it is not observed, and children of either: they show elsewhere
	kernels        // a thread of the kernel works for whoever asks
	others
)

// Observe watches processes by their numbers in a procfs ("/proc").
func Observe(proc string, pids ...int) *Watch {
	w := &Watch{proc: proc, pids: pids, buf: make([]byte, 4096)}
	w.self, w.selfErr = procfs.Self(proc)
	return w
}

// ObserveSelf watches this process.
func ObserveSelf(proc string) *Watch {
	w := Observe(proc)
	w.pids = []int{w.self}
	return w
}

// thread holds the times of one thread since it began.
type thread struct {
	pid         int
	others      bool // of a process that works for others
	here        bool // of this process
	ran, waited time.Duration
}

// Mark is the state of the counters at one moment.
type Mark struct {
	from, to   time.Time      // when it was read
	threads    map[int]thread // by number
	threadsErr error
	here       time.Duration // processor time of this process
	processors processors
	statErr    error
	pressure   time.Duration
	pressErr   error
}

// Now reads the counters, which takes about 5 µs for each thread of the machine's programs. What
// cannot be read is absent from what follows.
func (w *Watch) Now() Mark {
	m := Mark{from: time.Now(), threads: map[int]thread{}, here: clock(unix.CLOCK_PROCESS_CPUTIME_ID)}
	m.threadsErr = errors.Join(w.selfErr, w.all(m.threads))
	text, err := os.ReadFile(filepath.Join(w.proc, "stat"))
	if m.statErr = err; err == nil {
		m.processors, m.statErr = parseStat(text)
	}
	text, err = os.ReadFile(filepath.Join(w.proc, "pressure/cpu"))
	if m.pressErr = err; err == nil {
		m.pressure, m.pressErr = parsePressure(text)
	}
	m.to = time.Now()
	return m
}

// all adds the threads of all processes that can be seen from here and are neither the kernel's nor
// own.
func (w *Watch) all(into map[int]thread) error {
	names, err := list(w.proc)
	if err != nil {
		return err
	}
	known, seen := make(map[int]whose, len(names)), 0
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		whose := w.known[pid]
		if whose == 0 {
			whose = w.asks(pid)
		}
		known[pid] = whose
		if whose != observed && whose != others {
			continue
		}
		switch err := w.threads(pid, whose, into); {
		case whose == others: // it may have ended
		case err != nil:
			return err
		default:
			seen++
		}
	}
	w.known = known
	if seen < len(w.pids) {
		return errors.New("what is observed has ended")
	}
	return nil
}

// asks whose a process is; 0 if it has ended.
func (w *Watch) asks(pid int) whose {
	observes := func(pid int) bool { return slices.Contains(w.pids, pid) }
	if observes(pid) {
		return observed
	}
	text, err := os.ReadFile(filepath.Join(w.proc, strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0
	}
	p, err := procfs.ParseProcess(text)
	switch {
	case err != nil:
		return 0
	case p.Kernel:
		return kernels
	case pid == w.self, p.Parent == w.self, observes(p.Parent):
		return own
	}
	return others
}

// threads adds the threads of a process; one that ends meanwhile is left out.
func (w *Watch) threads(pid int, of whose, into map[int]thread) error {
	dir := filepath.Join(w.proc, strconv.Itoa(pid), "task")
	names, err := list(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		tid, err := strconv.Atoi(name)
		if err != nil {
			return fmt.Errorf("%s: a thread named %q", dir, name)
		}
		text, err := w.read(dir + "/" + name + "/schedstat")
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
			if _, gone := os.Stat(filepath.Join(dir, name)); gone != nil {
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
		into[tid] = thread{pid, of == others, pid == w.self, ran, waited}
	}
	return nil
}

// read reads a short file.
func (w *Watch) read(name string) ([]byte, error) {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	defer unix.Close(fd) //nolint:errcheck // read only
	n, err := unix.Read(fd, w.buf)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return w.buf[:n], nil
}

// list names what is in a directory, in no order.
func list(name string) ([]string, error) {
	dir, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer dir.Close() //nolint:errcheck // read only
	return dir.Readdirnames(-1)
}

// Load is what the processors of a machine did to the observed work between two marks.
type Load struct {
	Window time.Duration
	// Waited is how long the work waited for other work of the machine, or for other machines of its
	// hypervisor, at most Window.
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

// Own is what programs and the kernel's threads did for the observed work: they are not observed.
type Own struct {
	Ran time.Duration
	// Waited is how long they kept the work waiting while they waited themselves.
	Waited time.Duration
}

// Between says what happened from a to b.
//
// Processes of the same work wait one after the other where one hands its requests to the next, and
// so their waits add up. Threads of the same process mostly wait beside each other: the one counts that
// waited longest. All of them also wait for each other, on a machine with few processors even if it has
// no other work, and a repetition would wait as long. So the sum counts as far as the work could have
// been faster, and as far as processors certainly worked for others meanwhile.
func Between(a, b Mark, own Own) Load {
	l := Load{Window: b.from.Sub(a.to)}
	if err := errors.Join(a.pressErr, b.pressErr); err != nil {
		l.NoPressure = err.Error()
	}
	l.Pressure = min(max(0, b.pressure-a.pressure), l.Window)
	var ran, waited, seen time.Duration
	longest := map[int]time.Duration{}
	counted := false
	for tid, after := range b.threads {
		before := a.threads[tid] // zero: it began meanwhile
		if after.ran < before.ran || after.waited < before.waited {
			before = thread{} // another one of the same number
		}
		counted = counted || after.ran > 0
		switch {
		case after.others:
			seen += after.ran - before.ran
			continue
		case !after.here: // here has those as well that ended
			ran += after.ran - before.ran
		}
		longest[after.pid] = max(longest[after.pid], after.waited-before.waited)
	}
	for _, w := range longest {
		waited += w
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
	waited += own.Waited
	busy := b.processors.busy - a.processors.busy
	number := time.Duration(max(1, b.processors.number))
	l.Stolen = max(0, b.processors.stolen-a.processors.stolen)
	l.Waited = max(0, min(waited, l.Window-ran/number, max(seen, busy-ran-uncertain(number, l.Window))))
	// A processor that is taken away takes the work on it along, in proportion to the work. The sum of
	// all processors is known to a tick.
	if stolen := l.Stolen - procfs.Tick; stolen > 0 {
		l.Waited += time.Duration(float64(ran) * stolen.Seconds() / (stolen + max(busy, ran)).Seconds())
	}
	l.Waited = min(l.Waited, l.Window)
	return l
}

// uncertain is by how much the busy time of processors can be wrong.
//
// The counters of threads are exact, but those that ended took theirs along, and are in the busy time
// alone, which most kernels sample: whatever runs at a tick has the whole tick. That is three times the
// standard deviation of as many drawings, at most 1/2 each, and a tick that is lost in the sum.
func uncertain(number, window time.Duration) time.Duration {
	ticks := float64(number) * window.Seconds() / procfs.Tick.Seconds()
	return procfs.Tick + time.Duration(3*math.Sqrt(ticks)/2*float64(procfs.Tick))
}
