package workload

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/fault"
	"whichfs/internal/fault/finding"
	"whichfs/internal/fault/script"
	"whichfs/internal/fault/states"
	"whichfs/internal/fault/writelog"
	"whichfs/internal/filesystem"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/target/blockdev"
	"whichfs/internal/testing/needs"
	"whichfs/internal/testing/parsed"
	"whichfs/internal/wire"
)

// States are divided among scripts, and never exceed the requested number.
func TestCrashOrder(t *testing.T) {
	careless := 0
	for _, s := range script.Library() {
		if s.Careless {
			careless++
		}
	}
	all := len(script.Library()) - careless
	for ops, want := range map[int][2]int{0: {all, crashStatesEach}, 5: {5, 1}, 10 * all: {all, 10}} {
		o := crashOrder(parsed.Candidate("ext4"), scenario.Step{Ops: ops, Seed: 7})
		if len(o.Scripts) != want[0] || o.States.Most != want[1] || o.States.Seed != 7 {
			t.Errorf("%d states: %d scripts with %d each", ops, len(o.Scripts), o.States.Most)
		}
		for _, s := range o.Scripts {
			if s.Careless {
				t.Errorf("%s relies on more than is promised", s.Name)
			}
		}
		if ops > 0 && len(o.Scripts)*o.States.Most > ops {
			t.Errorf("more than %d states", ops)
		}
	}
}

func lossOf(name, promise string) finding.Finding {
	return finding.Finding{Candidate: "ext4", Size: 1 << 20, Outcome: fault.Lost, Script: script.Script{Name: name}, Same: 3, State: states.State{Point: 1},
		Breaches: []fault.Breach{{Promise: promise, Path: "a", Outcome: fault.Lost, What: "it is gone"}}, Base: fault.Image{Size: 1 << 20},
		Log: writelog.Log{Entries: []writelog.Entry{{Flags: writelog.Mark, Data: []byte("x")}}}}
}

// Careless scripts are explored only on request, and then alone.
func TestCrashOrderOfCareless(t *testing.T) {
	o := crashOrder(parsed.Candidate("ext4"), scenario.Step{Fault: fault.Careless})
	if len(o.Scripts) == 0 || slices.ContainsFunc(o.Scripts, func(s script.Script) bool { return !s.Careless }) {
		t.Errorf("%+v", o.Scripts)
	}
}

// The results of an exploration are in the figures, and findings are kept, each in its last form.
func TestCrashFigures(t *testing.T) {
	r := &crashRun{out: wire.Explored{Scripts: []finding.Tally{
		{Script: "a", States: 5, Equal: 2, Promises: 20, Broken: 3, Checked: 4, Dirty: 1, Outcomes: map[string]int64{"whole": 2, "lost": 3}},
		{Script: "b", Stopped: "it cannot be done"},
	}}}
	for i := range crashFiles + 2 {
		if err := r.found(wire.Looking{}, lossOf(fmt.Sprintf("s%d", i), "fsync")); err != nil {
			t.Fatal(err)
		}
	}
	again := lossOf("s0", "fsync")
	again.Minimal = true
	if err := r.found(wire.Looking{}, again); err != nil {
		t.Fatal(err)
	}
	x, err := r.after()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, m := range x.Measurements {
		got[m.Metric] = m.Value
		if m.Unit != "1" || m.Absent != "" {
			t.Errorf("%+v", m)
		}
	}
	for metric, want := range map[string]float64{fault.Tried: 5, fault.States: 5, fault.Equal: 2, fault.Promises: 20, fault.Broken: 3,
		fault.CheckDirty: 1, fault.CheckClean: 3, fault.OutcomePrefix + "lost": 3, fault.OutcomePrefix + "whole": 2} {
		if v, ok := got[metric]; !ok || v != want {
			t.Errorf("%s is %v, want %v", metric, v, want)
		}
	}
	if len(x.Artifacts) != crashFiles || x.Artifacts[0].Name != "crash-1.json" {
		t.Fatalf("%d files", len(x.Artifacts))
	}
	if f, err := finding.Decode(strings.NewReader(x.Artifacts[0].Text)); err != nil || !f.Minimal || f.Script.Name != "s0" {
		t.Errorf("%+v, %v", f, err)
	}
	if n := len(x.Notes); n != 1+crashNotes+1 || !strings.Contains(x.Notes[0].Text, "it cannot be done") || !strings.Contains(x.Notes[1].Text, "it is gone") ||
		!strings.Contains(x.Notes[n-1].Text, fmt.Sprint(crashFiles+2-crashNotes)) {
		t.Errorf("notes %+v", x.Notes)
	}
}

// If nothing can be recorded, the step is unsupported and says why; if there is nothing to explore,
// it is absent.
func TestCrashStatesElsewhere(t *testing.T) {
	needs.Devices(t)
	for line, absent := range map[string]bool{"squashfs": true, "ext4": false} {
		c, err := filesystem.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		env := &Env{Candidate: c, FS: c.Filesystem(), Work: t.TempDir()}
		job, err := CrashStates.Setup(context.Background(), env, scenario.Step{Ops: 2})
		if err != nil || (job.Absent != "") != absent {
			t.Fatalf("%s: %v %q", line, err, job.Absent)
		}
		if absent {
			continue
		}
		if blockdev.Missing() == nil {
			continue // this kernel can
		}
		var f *result.Failure
		if err := job.Run(&Tally{}); !errors.As(err, &f) || f.Outcome != result.Unsupported || f.Hint == "" {
			t.Errorf("%s: %v", line, err)
		}
	}
}
