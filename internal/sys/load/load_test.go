package load

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/sys/procfs"
	"whichfs/internal/testing/must"
)

func fixture(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestParseStat(t *testing.T) {
	for name, want := range map[string]processors{
		// 130622+47629+83887 ticks of work, 283 of another machine.
		"linux-6.18-amd64": {number: 2, busy: 262138 * procfs.Tick, stolen: 283 * procfs.Tick},
		"linux-6.1-guest":  {number: 1, busy: 156 * procfs.Tick},
	} {
		if got, err := parseStat(fixture(t, "stat/"+name)); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, want)
		}
	}
	for _, text := range []string{"", "cpu", "cpu 1 2 3 4 5 6 7\ncpu0", "cpu0 1 2 3 4 5 6 7 8\n",
		"cpu  1 2 3 4 5 6 7 x\ncpu0\n", "cpu  18446744073709551615 2 3 4 5 6 7 8\ncpu0\n"} {
		if p, err := parseStat([]byte(text)); err == nil {
			t.Errorf("%q: %+v", text, p)
		}
	}
}

func TestParsePressure(t *testing.T) {
	for name, want := range map[string]time.Duration{"linux-6.18-amd64": 790755504 * time.Microsecond, "linux-6.1-guest": 678142 * time.Microsecond} {
		if got, err := parsePressure(fixture(t, "pressure/"+name)); err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", name, got, err, want)
		}
	}
	for _, text := range []string{"", "some avg10=0.00", "some total=", "some total=x", "full avg10=0.00 total=1", "some total=18446744073709551615"} {
		if got, err := parsePressure([]byte(text)); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func seeds(f *testing.F, dir string) {
	f.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", dir, "*"))
	if err != nil || len(names) == 0 {
		f.Fatalf("no seeds in %s: %v", dir, err)
	}
	for _, name := range names {
		f.Add(fixture(f, strings.TrimPrefix(name, "testdata/")))
	}
}

func FuzzParseStat(f *testing.F) {
	seeds(f, "stat")
	f.Fuzz(func(t *testing.T, text []byte) {
		if p, err := parseStat(text); err == nil && (p.busy < 0 || p.stolen < 0) {
			t.Fatalf("%q: %+v", text, p)
		}
	})
}

func FuzzParsePressure(f *testing.F) {
	seeds(f, "pressure")
	f.Fuzz(func(t *testing.T, text []byte) {
		if got, err := parsePressure(text); err == nil && got < 0 {
			t.Fatalf("%q: %v", text, got)
		}
	})
}

// machine is a procfs, of two processors.
type machine struct {
	busy, stolen int // ticks
	pressure     int // us
	processes    map[int]process
	without      string // a file that this kernel does not have
}

type process struct {
	parent, flags int
	threads       map[int]thread
}

// self is this process, observed the one whose work is, with one thread of its number and another.
const self, observedOne, secondThread = 3, 7, 8

func (m machine) observe(t *testing.T) *Watch {
	t.Helper()
	proc := t.TempDir()
	put := func(name, text string) {
		if m.without != "" && strings.HasSuffix(name, m.without) {
			return
		}
		path := filepath.Join(proc, name)
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	}
	must.Do(t, os.Symlink(fmt.Sprint(self), filepath.Join(proc, "self")))
	put("stat", fmt.Sprintf("cpu  %d 0 0 1000 0 0 0 %d 0 0\ncpu0 0\ncpu1 0\nintr 1\n", m.busy, m.stolen))
	put("pressure/cpu", fmt.Sprintf("some avg10=0.00 avg60=0.00 avg300=0.00 total=%d\n", m.pressure))
	for pid, p := range m.processes {
		put(fmt.Sprintf("%d/stat", pid), fmt.Sprintf("%d (x) S %d 0 0 0 -1 %d 0 0 0 0 1 1 0 0 20 0 1 0 9\n", pid, p.parent, p.flags))
		must.Do(t, os.MkdirAll(filepath.Join(proc, fmt.Sprint(pid), "task"), 0o755))
		for tid, k := range p.threads {
			must.Do(t, os.MkdirAll(filepath.Join(proc, fmt.Sprintf("%d/task/%d", pid, tid)), 0o755))
			put(fmt.Sprintf("%d/task/%d/schedstat", pid, tid), fmt.Sprintf("%d %d 1\n", k.ran, k.waited))
		}
	}
	return Observe(proc, observedOne)
}

// Half a second of an observed process. What the processors' busy time says is uncertain by 10 ms and
// 3/2 of the root of 100 ticks: 160 ms.
func TestBetween(t *testing.T) {
	const ms = time.Millisecond
	work := func(ran, waited time.Duration) map[int]process {
		return map[int]process{
			1: {threads: map[int]thread{1: {ran: 900 * ms}}},
			2: {flags: 0x200000, threads: map[int]thread{2: {ran: 50 * ms}}}, self: {parent: 1, threads: map[int]thread{self: {ran: ms}}},
			observedOne: {parent: 1, threads: map[int]thread{observedOne: {ran: 10 * ms, waited: ms}, secondThread: {ran: 100*ms + ran, waited: 20*ms + waited}}},
			40:          {parent: 1, threads: map[int]thread{40: {ran: 70 * ms}, 41: {ran: 5 * ms}}},
		}
	}
	but := func(all map[int]process, pid int, p process) map[int]process {
		all[pid] = p
		return all
	}
	one := func(parent, tid int, ran, waited time.Duration) process {
		return process{parent: parent, threads: map[int]thread{tid: {ran: ran, waited: waited}}}
	}
	before := machine{busy: 1000, stolen: 5, pressure: 4000, processes: work(0, 0)}
	for name, c := range map[string]struct {
		after  machine
		own    Own
		waited time.Duration
		press  time.Duration
		absent string
		noPSI  bool
	}{
		"quiet":                        {after: machine{busy: 1056, stolen: 6, pressure: 4000, processes: work(400*ms, 200*ms)}},
		"another process works":        {after: machine{busy: 1040, stolen: 5, pressure: 4000, processes: but(work(400*ms, 200*ms), 40, one(1, 40, 100*ms, 0))}, waited: 30 * ms},
		"another process waits":        {after: machine{busy: 1040, stolen: 5, pressure: 4000, processes: but(work(400*ms, 0), 40, one(1, 40, 100*ms, 300*ms))}},
		"it does not disturb":          {after: machine{busy: 1040, stolen: 5, pressure: 4000, processes: but(work(400*ms, 2*ms), 40, one(1, 40, 100*ms, 0))}, waited: 2 * ms},
		"another process begins":       {after: machine{busy: 1040, stolen: 5, pressure: 4000, processes: but(work(400*ms, 200*ms), 50, one(40, 50, 50*ms, 0))}, waited: 50 * ms},
		"a number is used again":       {after: machine{busy: 1040, stolen: 5, pressure: 4000, processes: but(work(400*ms, 200*ms), 40, one(1, 40, 15*ms, 0))}, waited: 15 * ms},
		"its own program works":        {after: machine{busy: 1040, stolen: 5, pressure: 4000, processes: but(work(400*ms, 200*ms), 50, one(observedOne, 50, 50*ms, 90*ms))}},
		"this process works":           {after: machine{busy: 1040, stolen: 5, pressure: 4000, processes: but(work(400*ms, 200*ms), self, one(1, self, 50*ms, 90*ms))}},
		"the kernel works":             {after: machine{busy: 1040, stolen: 5, pressure: 4000, processes: but(work(400*ms, 200*ms), 2, process{flags: 0x200000, threads: map[int]thread{2: {ran: 99 * ms}}})}},
		"processes end":                {after: machine{busy: 1100, stolen: 5, pressure: 304000, processes: work(300*ms, 600*ms)}, waited: 350 * ms, press: 300 * ms},
		"one that ends":                {after: machine{busy: 1050, stolen: 5, pressure: 4000, processes: work(300*ms, 200*ms)}, waited: 40 * ms},
		"only its own threads work":    {after: machine{busy: 1040, stolen: 5, pressure: 304000, processes: work(400*ms, 200*ms)}, press: 300 * ms},
		"programs of its own work":     {after: machine{busy: 1080, stolen: 5, pressure: 4000, processes: work(400*ms, 200*ms)}, own: Own{Ran: 400 * ms}},
		"a program waits":              {after: machine{busy: 1100, stolen: 5, pressure: 4000, processes: work(0, 10*ms)}, own: Own{Waited: 120 * ms}, waited: 130 * ms},
		"a thread begins":              {after: machine{busy: 1100, stolen: 5, pressure: 4000, processes: but(work(0, 0), observedOne, process{threads: map[int]thread{observedOne: {ran: 10 * ms, waited: ms}, 9: {ran: 50 * ms, waited: 90 * ms}}})}, waited: 90 * ms},
		"the kernel waits in turns":    {after: machine{busy: 1100, stolen: 5, pressure: 4000, processes: work(50*ms, 100*ms)}, own: Own{Waited: 70 * ms}, waited: 170 * ms},
		"threads of it beside another": {after: machine{busy: 1100, stolen: 5, pressure: 4000, processes: but(work(0, 0), observedOne, process{threads: map[int]thread{observedOne: {ran: 260 * ms, waited: 241 * ms}, secondThread: {ran: 350 * ms, waited: 265 * ms}}})}, waited: 245 * ms},
		"another machine":              {after: machine{busy: 1040, stolen: 46, pressure: 4000, processes: work(400*ms, 0)}, waited: 200 * ms},
		"never longer than the window": {after: machine{busy: 1200, stolen: 905, pressure: 9004000, processes: work(100*ms, 480*ms)}, waited: 500 * ms, press: 500 * ms},
		"it ended":                     {after: machine{busy: 1100, stolen: 5, pressure: 4000, processes: map[int]process{1: {}}}, absent: "has ended"},
		"no scheduler's statistics":    {after: machine{busy: 1100, stolen: 5, pressure: 4000, processes: work(0, 0), without: "7/task/7/schedstat"}, absent: "no such file"},
		"statistics turned off":        {after: machine{busy: 1100, stolen: 5, pressure: 4000, processes: map[int]process{observedOne: {threads: map[int]thread{observedOne: {}}}}}, absent: "does not count"},
		"no pressure":                  {after: machine{busy: 1100, stolen: 5, processes: work(300*ms, 200*ms), without: "pressure/cpu"}, waited: 200 * ms, noPSI: true},
	} {
		a := before.observe(t).Now()
		b := c.after.observe(t).Now()
		a.to, a.here, b.from, b.here = time.Unix(0, 0), 0, time.Unix(0, 0).Add(500*ms), 0
		got := Between(a, b, c.own)
		if (got.Absent == "") != (c.absent == "") || !strings.Contains(got.Absent, c.absent) || (got.NoPressure != "") != c.noPSI {
			t.Errorf("%s: absent %q, %q", name, got.Absent, got.NoPressure)
		}
		if off := got.Waited - c.waited; c.absent == "" && off.Abs() > time.Microsecond || got.Window != 500*ms || !c.noPSI && got.Pressure != c.press {
			t.Errorf("%s: %+v, want %v waited and %v of pressure", name, got, c.waited, c.press)
		}
	}
}

// What this process does itself is no load of others; what a process does that it does not know is,
// beside it on the same processor.
func TestOthersWork(t *testing.T) {
	// A child of a shell that has ended.
	text, err := exec.Command("sh", "-c", "while :; do :; done >/dev/null 2>&1 & echo $!").Output()
	must.Do(t, err)
	other, err := strconv.Atoi(strings.TrimSpace(string(text)))
	must.Do(t, err)
	t.Cleanup(func() { _ = unix.Kill(other, unix.SIGKILL) })
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all, one unix.CPUSet
	must.Do(t, unix.SchedGetaffinity(0, &all))
	defer func() { must.Do(t, unix.SchedSetaffinity(0, &all)) }()
	for cpu := range 1024 {
		if all.IsSet(cpu) {
			one.Set(cpu)
			break
		}
	}
	burn := func() Load {
		w := ObserveSelf("/proc")
		a := w.Now()
		for start := clock(unix.CLOCK_THREAD_CPUTIME_ID); clock(unix.CLOCK_THREAD_CPUTIME_ID)-start < 50*time.Millisecond; {
		}
		return Between(a, w.Now(), Own{})
	}
	must.Do(t, unix.SchedSetaffinity(0, &one))
	must.Do(t, unix.SchedSetaffinity(other, &one))
	// The kernel divides a processor among sessions or other groups first, and may give either more.
	if got := burn(); got.Absent != "" || got.Waited < 5*time.Millisecond || got.Waited > got.Window {
		t.Errorf("beside another: %+v", got)
	}
	must.Do(t, unix.Kill(other, unix.SIGSTOP))
	if got := burn(); got.Absent != "" || got.Window < 50*time.Millisecond || got.Waited < 0 || got.Waited > got.Window {
		t.Errorf("alone: %+v", got)
	}
}

// A process that ends takes its counters along.
func TestEnded(t *testing.T) {
	if got := Between(Observe("/proc", 1<<30).Now(), Observe("/proc", 1<<30).Now(), Own{}); got.Absent == "" {
		t.Errorf("%+v", got)
	}
}

func TestTry(t *testing.T) {
	if got := Try(t.Context(), 20*time.Millisecond); got < 0 || got > 1 {
		t.Error(got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	start := time.Now()
	Try(ctx, time.Hour)
	if took := time.Since(start); took > time.Minute {
		t.Errorf("it did not end for %v", took)
	}
}
