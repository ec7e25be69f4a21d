package history

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"whichfs/internal/judge/stats"
	"whichfs/internal/judge/verdict"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
)

var toy = study.Study{Name: "toy", Title: "Toy"}

// made are runs of two candidates, of which the second takes factor(i) times as long in run i, each
// with noise within a run and from run to run.
func made(seed uint64, n int, within, between float64, factor func(i int) float64, change func(i int, r *Run)) []Run {
	random := rand.New(rand.NewPCG(seed, 1))
	var out []Run
	for i := range n {
		r := Run{Run: result.Run{ID: fmt.Sprintf("run-%02d", i), Study: "toy", Scale: "quick", Machine: "fake", Storage: "disk:1G", Candidates: []string{"ext4", "xfs"}, Margin: 0.1,
			Started:    time.Date(2026, 1, 1+i, 0, 0, 0, 0, time.UTC),
			Conditions: []result.Condition{{Group: "machine", Name: "kernel", Value: "6.1", Matters: true}, {Group: "data", Name: "tree", Value: "one", Matters: true}}}}
		c := verdict.Sampled{Column: study.Column{Key: "write", Name: "Write", Unit: "s"}, Of: map[string]stats.Sample{}}
		for _, name := range r.Candidates {
			level := math.Exp(between * random.NormFloat64())
			if name == "xfs" {
				level *= factor(i)
			}
			c.Of[name] = stats.Sample{}
			for round := 1; round <= 4; round++ {
				c.Of[name][round] = level * math.Exp(within*random.NormFloat64())
			}
		}
		r.Columns = []verdict.Sampled{c}
		if change != nil {
			change(i, &r)
		}
		out = append(out, r)
	}
	return out
}

func same(int) float64 { return 1 }

// changes are "candidate@step".
func changes(t *testing.T, runs []Run, q Question) (h History, out []string) {
	t.Helper()
	h, err := Make(toy, runs, q)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range h.Groups[0].Columns[0].Lines {
		for _, c := range l.Changes {
			out = append(out, fmt.Sprintf("%s@%s", l.Candidate, h.Groups[0].Steps[c.Step].Name))
		}
	}
	return h, out
}

// A change is named with the first run that has it, and back again.
func TestChangesAreNamedWithTheFirstRun(t *testing.T) {
	runs := made(1, 20, 0.02, 0.02, func(i int) float64 {
		if i >= 8 && i < 15 {
			return 1.5
		}
		return 1
	}, func(i int, r *Run) {
		if i >= 8 {
			r.Conditions[0].Value = "6.12"
		}
	})
	h, got := changes(t, runs, Question{})
	if !slices.Equal(got, []string{"xfs@run-08", "xfs@run-15"}) {
		t.Fatalf("changes: %v", got)
	}
	c := h.Groups[0].Columns[0].Lines[1].Changes
	if !c[0].Worse || c[1].Worse || math.Abs(c[0].Ratio.Value-1.5) > 0.08 || c[0].Ratio.Low > 1.5 || c[0].Ratio.High < 1.5 || c[0].P >= stats.Alpha {
		t.Errorf("the changes are %+v", c)
	}
	if got := h.Groups[0].Steps[8].Differs; !slices.Equal(got, []string{"kernel 6.1 → 6.12"}) {
		t.Errorf("the first run that has it differs in %v", got)
	}
	if h.Groups[0].Family != 38 {
		t.Errorf("the correction is for %d comparisons", h.Groups[0].Family)
	}
}

// Noise is no change, whether it is within runs or from run to run.
func TestNoiseIsNoChange(t *testing.T) {
	const histories = 60
	for _, noise := range []struct{ within, between float64 }{{0.02, 0.10}, {0.10, 0}} {
		wrong := 0
		for seed := range histories {
			if _, got := changes(t, made(uint64(seed), 20, noise.within, noise.between, same, nil), Question{Margin: 0.01}); len(got) > 0 {
				wrong++
			}
		}
		if wrong > 8 { // over three standard errors above one in twenty
			t.Errorf("with noise %+v, %d of %d histories have a change although nothing changed", noise, wrong, histories)
		}
	}
}

// Less than the margin is none.
func TestMargin(t *testing.T) {
	step := func(i int) float64 { return map[bool]float64{true: 1.06, false: 1}[i >= 5] }
	runs := made(3, 10, 0.001, 0.001, step, nil)
	if _, got := changes(t, runs, Question{}); len(got) > 0 {
		t.Errorf("changes: %v", got)
	}
	if _, got := changes(t, runs, Question{Margin: 0.05}); !slices.Equal(got, []string{"xfs@run-05"}) {
		t.Errorf("with a smaller margin: %v", got)
	}
}

// In virtual time one figure is enough, since it repeats.
func TestExactFigures(t *testing.T) {
	runs := made(4, 6, 0, 0, func(i int) float64 { return map[bool]float64{true: 1.2, false: 1}[i >= 3] }, func(_ int, r *Run) {
		r.Clock = result.ClockVirtual
		for name, s := range r.Columns[0].Of {
			r.Columns[0].Of[name] = stats.Sample{1: s[1]}
		}
	})
	if _, got := changes(t, runs, Question{}); !slices.Equal(got, []string{"xfs@run-03"}) {
		t.Errorf("changes: %v", got)
	}
	for i := range runs {
		runs[i].Clock = ""
	}
	if _, got := changes(t, runs[1:4], Question{}); len(got) > 0 {
		t.Errorf("by wall clock: %v", got)
	}
}

// Kernels are ordered by version, with all runs of each.
func TestByKernel(t *testing.T) {
	versions := []string{"6.12.95", "6.1.0-56-amd64", "6.9", "6.1.0-9-amd64"}
	runs := made(5, 12, 0.01, 0.01, func(i int) float64 { return map[bool]float64{true: 2, false: 1}[i%4 == 0] }, func(i int, r *Run) { r.Conditions[0].Value = versions[i%4] })
	h, got := changes(t, runs, Question{By: ByKernel})
	if !slices.Equal(got, []string{"xfs@6.12.95"}) {
		t.Errorf("changes: %v", got)
	}
	var names []string
	for _, s := range h.Groups[0].Steps {
		names = append(names, s.Name)
		if len(s.Runs) != 3 {
			t.Errorf("kernel %s has runs %v", s.Name, s.Runs)
		}
	}
	if !slices.Equal(names, []string{"6.1.0-9-amd64", "6.1.0-56-amd64", "6.9", "6.12.95"}) {
		t.Errorf("kernels: %v", names)
	}
}

func TestVersions(t *testing.T) {
	order := []string{"", "2.6.32", "6.1-rc2", "6.1", "6.1.0-9", "6.1.0-56", "6.1.2", "6.9", "6.12", "6.12.95"}
	for i, a := range order {
		for k, b := range order {
			if got, want := Versions(a, b), i-k; got < 0 != (want < 0) || got > 0 != (want > 0) {
				t.Errorf("%q and %q: %d", a, b, got)
			}
		}
	}
}

// Runs on other storage or other data are not in one line, and only the latest steps are shown.
func TestGroups(t *testing.T) {
	runs := made(6, 12, 0.01, 0.01, same, func(i int, r *Run) {
		switch {
		case i < 4:
			r.Storage = "sd:1G"
		case i < 8:
			r.Conditions[1].Value = "other"
		}
	})
	h, err := Make(toy, runs, Question{Last: 3})
	if err != nil {
		t.Fatal(err)
	}
	if len(h.Groups) != 3 || h.Groups[0].Data[0] != "tree one" || h.Groups[1].Data[0] != "tree other" || h.Groups[2].Storage != "sd:1G" {
		t.Fatalf("groups: %+v", h.Groups)
	}
	if g := h.Groups[0]; len(g.Steps) != 3 || g.Earlier != 1 || g.Steps[0].Name != "run-09" {
		t.Errorf("steps: %+v", g.Steps)
	}
	if _, err := Make(toy, runs, Question{By: "weather"}); err == nil {
		t.Error("no error for an order that does not exist")
	}
}
