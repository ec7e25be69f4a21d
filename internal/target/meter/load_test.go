package meter

import (
	"fmt"
	"os"
	"testing"
	"time"

	"whichfs/internal/result"
)

// loadedWorld is a world in which this process has one thread, on two processors.
func loadedWorld(t *testing.T) *world {
	w := newWorld(t)
	w.state(0, 0, 0)
	return w
}

// state sets the counters: ticks of work of the processors, and how long in ms this process's thread
// and a thread of the kernel that works a millisecond have waited.
func (w *world) state(busy, own, kernel int) {
	w.write("proc/stat", fmt.Sprintf("cpu  %d 0 0 9 0 0 0 0 0 0\ncpu0 1\ncpu1 1\n", 1000+busy))
	w.write(fmt.Sprintf("proc/%d/task/1/schedstat", os.Getpid()), fmt.Sprintf("5000000 %d 1\n", 1000000+own*1000000))
	w.write("proc/11/schedstat", fmt.Sprintf("%d %d 7\n", 1000000000+min(kernel, 1)*1000000, 5+kernel*1000000))
}

func TestLoadOfPhase(t *testing.T) {
	for name, c := range map[string]struct {
		busy, own, kernel, program int
		least, most                float64 // s
	}{
		"quiet":                        {most: 0},
		"this process waits":           {busy: 100, own: 7, least: 0.007, most: 0.007},
		"a thread of the kernel waits": {busy: 100, own: 7, kernel: 9, least: 0.016, most: 0.016},
		"a program waits":              {busy: 100, own: 2, program: 6, least: 0.008, most: 0.008},
	} {
		t.Run(name, func(t *testing.T) {
			w := loadedWorld(t)
			m := w.meter(Config{Load: true})
			figures, _, err := m.Around("write", func() error {
				for begun := time.Now(); time.Since(begun) < 40*time.Millisecond; { // twice as long as it waits
				}
				w.state(c.busy, c.own, c.kernel)
				if c.program > 0 {
					w.write("proc/77/schedstat", fmt.Sprintf("1 %d 1\n", c.program*1000000))
					m.Ended(77)
				}
				m.Ended(78) // gone
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			all := byMetric(t, figures)
			waited := all[result.LoadWaited]
			if waited.Absent != "" || waited.Value < c.least-1e-9 || waited.Value > c.most+1e-9 || all[result.LoadWindow].Value < 0.02 {
				t.Errorf("%+v of %+v", waited, all[result.LoadWindow])
			}
			if p := all[result.LoadPressure]; p.Absent == "" {
				t.Errorf("a kernel without pressure: %+v", p)
			}
		})
	}
}

// Where load is not asked for, as in guests, nothing of it is read.
func TestNoLoad(t *testing.T) {
	m := newWorld(t).meter(Config{})
	figures, _, err := m.Around("write", func() error { m.Ended(1); return nil })
	if err != nil {
		t.Fatal(err)
	}
	if f, there := byMetric(t, figures)[result.LoadWindow]; there {
		t.Errorf("%+v", f)
	}
}

// The kernel's own procfs has these figures, and none of the agent's timed section allocates for
// them.
func TestLoadHere(t *testing.T) {
	m := New(Config{Load: true})
	t.Cleanup(m.Close)
	figures, _, err := m.Around("write", func() error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	all := byMetric(t, figures)
	for _, metric := range []string{result.LoadWaited, result.LoadStolen, result.LoadWindow} {
		if f := all[metric]; f.Absent != "" || f.Value < 0 {
			t.Errorf("%s: %+v", metric, f)
		}
	}
	if all[result.LoadWaited].Value > all[result.LoadWindow].Value || all[result.AgentMallocs].Value != 0 {
		t.Errorf("%+v", all)
	}
}
