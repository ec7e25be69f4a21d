package load

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

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

// machine is a procfs with one process of the observed work, 7.
type machine struct {
	busy, stolen int // ticks, of two processors
	pressure     int // us
	threads      map[int]thread
	processes    map[int]process
	without      string // a file that this kernel does not have
	zeros        bool   // it does not count
}

// process is another one.
type process struct {
	parent int
	flags  int
	ran    time.Duration
}

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
	put("stat", fmt.Sprintf("cpu  %d 0 0 1000 0 0 0 %d 0 0\ncpu0 0\ncpu1 0\nintr 1\n", m.busy, m.stolen))
	put("pressure/cpu", fmt.Sprintf("some avg10=0.00 avg60=0.00 avg300=0.00 total=%d\n", m.pressure))
	must.Do(t, os.MkdirAll(filepath.Join(proc, "7/task"), 0o755))
	for tid, k := range m.threads {
		must.Do(t, os.MkdirAll(filepath.Join(proc, "7/task", fmt.Sprint(tid)), 0o755))
		if m.zeros {
			k = thread{}
		}
		put(fmt.Sprintf("7/task/%d/schedstat", tid), fmt.Sprintf("%d %d 1\n", k.ran, k.waited))
	}
	for pid, p := range m.processes {
		put(fmt.Sprintf("%d/stat", pid), fmt.Sprintf("%d (x) S %d 0 0 0 -1 %d 0 0 0 0 1 1 0 0 20 0 1 0 9\n", pid, p.parent, p.flags))
	}
	w := Observe(proc, 7)
	w.used = func(pid int) (time.Duration, bool) {
		p, ok := m.processes[pid]
		return p.ran, ok
	}
	return w
}

// Half a second of an observed process, on two processors. What the processors' busy time says is
// uncertain by 10 ms and 3/2 of the root of 100 ticks: 160 ms.
func TestBetween(t *testing.T) {
	const ms = time.Millisecond
	threads := func(ran, waited time.Duration) map[int]thread {
		return map[int]thread{7: {ran: 10 * ms, waited: ms}, 8: {ran: 100*ms + ran, waited: 20*ms + waited}}
	}
	with := func(more map[int]process) map[int]process {
		all := map[int]process{1: {ran: 900 * ms}, 2: {flags: 0x200000, ran: 50 * ms}, 7: {parent: 1, ran: 110 * ms}, 40: {parent: 1, ran: 70 * ms}}
		maps.Copy(all, more)
		return all
	}
	before := machine{busy: 1000, stolen: 5, pressure: 4000, threads: threads(0, 0), processes: with(nil)}
	for name, c := range map[string]struct {
		after  machine
		own    Own
		waited time.Duration
		press  time.Duration
		absent string
		noPSI  bool
	}{
		"quiet":                          {after: machine{busy: 1056, stolen: 6, pressure: 4000, threads: threads(400*ms, 200*ms)}},
		"another process works":          {after: machine{busy: 1040, stolen: 5, pressure: 4000, threads: threads(400*ms, 200*ms), processes: with(map[int]process{40: {ran: 100 * ms}})}, waited: 30 * ms},
		"it does not disturb":            {after: machine{busy: 1040, stolen: 5, pressure: 4000, threads: threads(400*ms, 2*ms), processes: with(map[int]process{40: {ran: 100 * ms}})}, waited: 2 * ms},
		"another process begins":         {after: machine{busy: 1040, stolen: 5, pressure: 4000, threads: threads(400*ms, 200*ms), processes: with(map[int]process{41: {parent: 40, ran: 50 * ms}})}, waited: 50 * ms},
		"a number is used again":         {after: machine{busy: 1040, stolen: 5, pressure: 4000, threads: threads(400*ms, 200*ms), processes: with(map[int]process{40: {ran: 15 * ms}})}, waited: 15 * ms},
		"its own program works":          {after: machine{busy: 1040, stolen: 5, pressure: 4000, threads: threads(400*ms, 200*ms), processes: with(map[int]process{41: {parent: 7, ran: 50 * ms}})}},
		"the kernel works":               {after: machine{busy: 1040, stolen: 5, pressure: 4000, threads: threads(400*ms, 200*ms), processes: with(map[int]process{2: {flags: 0x200000, ran: 99 * ms}})}},
		"processes end":                  {after: machine{busy: 1100, stolen: 5, pressure: 304000, threads: threads(300*ms, 600*ms)}, waited: 500 * ms, press: 300 * ms},
		"one that ends":                  {after: machine{busy: 1050, stolen: 5, pressure: 4000, threads: threads(300*ms, 200*ms)}, waited: 40 * ms},
		"only its own threads work":      {after: machine{busy: 1040, stolen: 5, pressure: 304000, threads: threads(400*ms, 200*ms)}, press: 300 * ms},
		"programs of its own work":       {after: machine{busy: 1080, stolen: 5, pressure: 4000, threads: threads(400*ms, 200*ms)}, own: Own{Ran: 400 * ms}},
		"a program waits":                {after: machine{busy: 1100, stolen: 5, pressure: 4000, threads: threads(0, 0)}, own: Own{Waited: 120 * ms}, waited: 120 * ms},
		"a thread of the kernel waits":   {after: machine{busy: 1100, stolen: 5, pressure: 4000, threads: threads(0, 10*ms)}, own: Own{Threads: 150 * ms}, waited: 150 * ms},
		"a thread begins":                {after: machine{busy: 1100, stolen: 5, pressure: 4000, threads: map[int]thread{7: {ran: 10 * ms, waited: ms}, 9: {ran: 50 * ms, waited: 90 * ms}}}, waited: 90 * ms},
		"another machine":                {after: machine{busy: 1040, stolen: 46, pressure: 4000, threads: threads(400*ms, 0)}, waited: 200 * ms},
		"never longer than the window":   {after: machine{busy: 1200, stolen: 105, pressure: 9004000, threads: threads(400*ms, 480*ms)}, waited: 500 * ms, press: 500 * ms},
		"no statistics of the scheduler": {after: machine{busy: 1100, stolen: 5, pressure: 4000, threads: threads(0, 0), without: "7/task/7/schedstat"}, absent: "no such file"},
		"statistics turned off":          {after: machine{busy: 1100, stolen: 5, pressure: 4000, threads: threads(0, 0), zeros: true}, absent: "does not count"},
		"no pressure":                    {after: machine{busy: 1100, stolen: 5, threads: threads(300*ms, 200*ms), without: "pressure/cpu"}, waited: 200 * ms, noPSI: true},
	} {
		if c.after.processes == nil {
			c.after.processes = with(nil)
		}
		a := before.observe(t).Now()
		b := c.after.observe(t).Now()
		a.at, a.here, b.at, b.here = time.Unix(0, 0), 0, time.Unix(0, 0).Add(500*ms), 0
		got := Between(a, b, c.own)
		if (got.Absent == "") != (c.absent == "") || !strings.Contains(got.Absent, c.absent) || (got.NoPressure != "") != c.noPSI {
			t.Errorf("%s: absent %q, %q", name, got.Absent, got.NoPressure)
		}
		if off := got.Waited - c.waited; c.absent == "" && off.Abs() > time.Microsecond || got.Window != 500*ms || !c.noPSI && got.Pressure != c.press {
			t.Errorf("%s: %+v, want %v waited and %v of pressure", name, got, c.waited, c.press)
		}
	}
}

// A process is asked once what it is, and again if another one has its number.
func TestKinds(t *testing.T) {
	m := machine{processes: map[int]process{1: {ran: 5}, 40: {parent: 7, ran: 10}}}
	w := m.observe(t)
	w.Now()
	must.Do(t, os.WriteFile(filepath.Join(w.proc, "40/stat"), []byte("40 (x) S 1 0 0 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 9"), 0o600))
	if got := w.Now().others; len(got) != 1 || got[1] != 5 {
		t.Errorf("%v", got)
	}
	m.processes[40] = process{ran: 4}
	if got := w.Now().others; len(got) != 2 || got[40] != 4 {
		t.Errorf("%v", got)
	}
}

// The clock of another process is exact, and this machine's kernel has threads of its own.
func TestUsedBy(t *testing.T) {
	other := exec.Command("sh", "-c", "while :; do :; done")
	must.Do(t, other.Start())
	t.Cleanup(func() { _ = other.Process.Kill(); _ = other.Wait() })
	w := Observe("/proc")
	before, ok := w.used(other.Process.Pid)
	for used := before; used-before < 5*time.Millisecond; used, ok = w.used(other.Process.Pid) {
		if !ok {
			t.Fatal("no clock of another process")
		}
	}
	if w.works(other.Process.Pid) {
		t.Error("a child of this process is another's")
	}
	if _, ok := w.used(1 << 28); ok {
		t.Error("a process that is not there has a clock")
	}
	// A process that this one does not know works for others.
	w = Observe("/proc")
	if parent := os.Getppid(); parent > 1 && !w.works(parent) {
		t.Error("the parent works for this process")
	}
}

// What this process does itself is no load of others.
func TestOwnWork(t *testing.T) {
	a := Observe("/proc", os.Getpid()).Now()
	for start := time.Now(); time.Since(start) < 50*time.Millisecond; {
	}
	got := Between(a, Observe("/proc", os.Getpid()).Now(), Own{})
	if got.Absent != "" || got.Window < 50*time.Millisecond || got.Waited < 0 || got.Waited > got.Window {
		t.Errorf("%+v", got)
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
