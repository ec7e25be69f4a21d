package labguest

import (
	"testing"
	"time"

	"whichfs/internal/host/machine"
	"whichfs/internal/result"
	"whichfs/internal/sys/load"
	"whichfs/internal/wire"
)

// A phase has the load between the agent's message of its beginning and of its figures; what is not
// timed has none.
func TestLoadOfPhases(t *testing.T) {
	marks := 0
	var got []wire.Figures
	var begun []string
	e := Loaded(func() load.Mark { marks++; return load.Observe("/proc").Now() },
		machine.Events{Phase: func(p string) { begun = append(begun, p) }, Figures: func(f wire.Figures) { got = append(got, f) }})
	timed := []result.Measurement{result.Figure(result.Wall, 0.1).In("write")}
	e.Phase("mkfs")
	e.Phase("write")
	time.Sleep(time.Millisecond)
	e.Figures(wire.Figures{Phase: "write", Measurements: timed})
	e.Figures(wire.Figures{Phase: "write", Artifacts: []result.Artifact{{Name: "fio.json"}}})
	e.Figures(wire.Figures{Phase: "sentinel", Measurements: []result.Measurement{result.Figure(result.SentinelRead, 1)}})
	e.Phase("clone")
	e.Figures(wire.Figures{Phase: "clone", Measurements: []result.Measurement{result.Missing(result.Wall, "no clones").In("clone")}})
	e.Phase("mount")
	e.Figures(wire.Figures{Phase: "mount", Options: []result.Option{{Text: "-o noatime"}}})
	if len(begun) != 4 || len(got) != 5 || marks != 5 || len(timed) != 1 {
		t.Fatalf("%d marks, begun %q, %+v", marks, begun, got)
	}
	for i, f := range got {
		window := 0.0
		for _, m := range f.Measurements {
			if m.Metric == result.LoadWindow {
				window = m.Value
			}
			if m.Phase != f.Phase && f.Phase != "sentinel" {
				t.Errorf("a figure of phase %q in %q", m.Phase, f.Phase)
			}
		}
		if (window >= 0.001) != (i == 0) {
			t.Errorf("%s was observed for %v s", f.Phase, window)
		}
	}
	if e := Loaded(nil, machine.Events{}); e.Phase != nil || e.Figures != nil {
		t.Error("it observes a phase although no one asked for figures")
	}
}
