package contrast

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
)

// made is a made-up run: a phase takes a second, times a factor per candidate
// and phase, times noise.
type made struct {
	id         string
	study      string
	candidates []string
	rounds     int
	noise      float64
	seed       uint64
	factor     map[string]float64 // "CANDIDATE PHASE", "PHASE", "CANDIDATE"
	run        func(*result.Run)
	trial      func(*result.Trial)
}

func (m made) source(t testing.TB) verdict.Judged {
	t.Helper()
	if m.study == "" {
		m.study = "bootlin-2023"
	}
	st, ok := study.ByName(m.study)
	if !ok {
		t.Fatalf("no study %q", m.study)
	}
	run := result.Run{ID: m.id, Study: st.Name, Scale: "quick", Machine: "lab", Storage: "disk:1G", Rounds: m.rounds, Candidates: m.candidates, Margin: 0.10,
		State: result.Finished, Version: "1", Conditions: []result.Condition{
			{Group: "machine", Name: "kernel", Value: "6.1.0", Matters: true}, {Group: "machine", Name: "lab image", Value: "aaaa", Matters: true},
			{Group: "tools", Name: "e2fsprogs", Value: "1.47", Matters: true}, {Group: "data", Name: "tree", Value: "sha256:1", Matters: true}}}
	if m.run != nil {
		m.run(&run)
	}
	r := rand.New(rand.NewPCG(m.seed, 3))
	var trials []result.Trial
	for round := 1; round <= m.rounds; round++ {
		for place, name := range m.candidates {
			one := result.Trial{ID: int64(len(trials) + 1), Round: round, Place: place + 1, Attempt: 1, Candidate: name, Outcome: result.Done}
			for _, phase := range st.Scenario(strings.HasPrefix(name, "erofs"), st.Scales["quick"]).Phases() {
				k := math.Exp(m.noise * r.NormFloat64())
				for _, key := range []string{name + " " + phase, phase, name} {
					if f, ok := m.factor[key]; ok {
						k *= f
					}
				}
				one.Measurements = append(one.Measurements, result.Measurement{Phase: phase, Metric: result.Wall, Value: k, Unit: "s"},
					result.Measurement{Phase: phase, Metric: result.SpaceUsed, Value: 1e8, Unit: "B"})
			}
			if m.trial != nil {
				m.trial(&one)
			}
			trials = append(trials, one)
		}
	}
	v, err := verdict.Compute(run, nil, trials, st, verdict.Beside{})
	if err != nil {
		t.Fatal(err)
	}
	return verdict.Judged{Verdict: v, Study: st, Columns: verdict.Samples(run, nil, trials, st), Phases: verdict.PhaseTimes(run, nil, trials, st)}
}

func compareThem(t testing.TB, a, b verdict.Judged) Contrast {
	t.Helper()
	c, err := Compare(a, b)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func change(t testing.TB, c Contrast, key, candidate string) Change {
	t.Helper()
	for _, list := range [][]Column{c.Columns, c.Extra} {
		for _, col := range list {
			if col.Key != key {
				continue
			}
			if candidate == "" {
				return col.All
			}
			for _, r := range col.Rows {
				if r.Candidate == candidate {
					return r
				}
			}
		}
	}
	t.Fatalf("no change of %s for %s", key, candidate)
	return Change{}
}

var four = []string{"ext4", "xfs", "f2fs", "erofs"}

// Deliberate changes are found with their size, and nothing else is.
func TestChangesAreFound(t *testing.T) {
	a := made{id: "a", candidates: four, rounds: 6, noise: 0.03, seed: 1}.source(t)
	b := made{id: "b", candidates: four, rounds: 6, noise: 0.03, seed: 2, factor: map[string]float64{"ext4 write": 1.6, "xfs read": 0.5},
		run: func(r *result.Run) { r.Conditions[0].Value = "6.12.0"; r.Conditions[1].Value = "bbbb" }}.source(t)
	c := compareThem(t, a, b)
	w := change(t, c, "write", "ext4")
	if w.Outcome != Higher || w.SimLow > 1.6 || w.SimHigh < 1.6 || w.Adjusted >= 0.05 || w.Adjusted < w.P {
		t.Errorf("ext4 writes: %+v", w)
	}
	if r := change(t, c, "read", "xfs"); r.Outcome != Lower || math.Abs(r.Ratio.Value-0.5) > 0.05 {
		t.Errorf("xfs reads: %+v", r)
	}
	if !(w.SimLow < w.Ratio.Low && w.SimHigh > w.Ratio.High) {
		t.Errorf("limits for all: %+v", w)
	}
	for _, col := range c.Columns {
		for _, r := range col.Rows {
			if changed(r) && r.Candidate+" "+col.Key != "ext4 write" && r.Candidate+" "+col.Key != "xfs read" {
				t.Errorf("%s %s: %+v", col.Key, r.Candidate, r)
			}
		}
	}
	if s := change(t, c, "space", "ext4"); s.Outcome != Same || s.Ratio.Value != 1 {
		t.Errorf("space: %+v", s)
	}
	if e := change(t, c, "write", "erofs"); !strings.Contains(e.Absent, "not part of the work with a read-only filesystem") || e.Outcome != "" {
		t.Errorf("erofs writes: %+v", e)
	}
	if !slices.Equal(c.About, []string{"kernel"}) || len(c.Differs) != 2 {
		t.Errorf("about %q: %+v", c.About, c.Differs)
	}
	if !strings.HasPrefix(c.Answer[0], "With a different kernel, of 31 figures: 1 higher and 1 lower beyond chance") || !strings.HasPrefix(c.Answer[1], "The largest change: Read of xfs, from ") {
		t.Errorf("%q", c.Answer)
	}
	if c.Family != 31+9 {
		t.Errorf("%d comparisons", c.Family)
	}
}

// A change that all candidates share is found over all of them even if none
// shows it alone, and the means are taken over rounds.
func TestAllTogether(t *testing.T) {
	var list []string
	for i := range 8 {
		list = append(list, fmt.Sprintf("ext4 -b %d", 1024<<(i%3)), "")
		list = list[:len(list)-1]
		list[i] = fmt.Sprintf("ext4 -i %d", 4096*(i+1))
	}
	a := made{id: "a", candidates: list, rounds: 4, noise: 0.12, seed: 5}.source(t)
	b := made{id: "b", candidates: list, rounds: 4, noise: 0.12, seed: 6, factor: map[string]float64{"write": 1.35}}.source(t)
	c := compareThem(t, a, b)
	if all := change(t, c, "write", ""); all.Outcome != Higher || all.Ratio.Low > 1.35 || all.Ratio.High < 1.35 || all.A.N != 4 {
		t.Errorf("all: %+v", all)
	}
	alone := 0
	for _, r := range c.Columns[4].Rows {
		if changed(r) {
			alone++
		}
	}
	if alone > 2 {
		t.Errorf("%d of 8 show it alone", alone)
	}
}

// Where nothing changed, at most 5 % of the comparisons of two runs find a
// change.
func TestFamilywiseError(t *testing.T) {
	wrong := 0
	const runs = 80
	for n := range runs {
		a := made{id: "a", candidates: four[:3], rounds: 4, noise: 0.15, seed: uint64(2 * n)}.source(t)
		b := made{id: "b", candidates: four[:3], rounds: 4, noise: 0.15, seed: uint64(2*n + 1)}.source(t)
		c := compareThem(t, a, b)
		if slices.ContainsFunc(c.Columns, func(col Column) bool { return changed(col.All) || slices.ContainsFunc(col.Rows, changed) }) {
			wrong++
		}
	}
	// 5 % of 80 are 4 with a deviation of 2.
	if wrong > 9 {
		t.Errorf("%d of %d found what is not there", wrong, runs)
	}
}

// Runs that did not measure the same thing are refused, and the differences are
// named.
func TestRefused(t *testing.T) {
	base := made{id: "a", candidates: four, rounds: 2}
	a := base.source(t)
	b := func(change func(*made)) verdict.Judged {
		m := base
		m.id = "b"
		change(&m)
		return m.source(t)
	}
	run := func(f func(*result.Run)) verdict.Judged { return b(func(m *made) { m.run = f }) }
	for name, c := range map[string]struct {
		b    verdict.Judged
		want string
	}{
		"study":      {b(func(m *made) { m.study, m.candidates = "pandora-2012", []string{"ext4"} }), "study (bootlin-2023, pandora-2012)"},
		"scale":      {run(func(r *result.Run) { r.Scale = "full" }), "scale (quick, full)"},
		"clock":      {run(func(r *result.Run) { r.Clock = result.ClockInstructions }), "clock (wall, instructions)"},
		"emulation":  {run(func(r *result.Run) { r.Emulated = true }), "emulation (no, yes)"},
		"data":       {run(func(r *result.Run) { r.Conditions[3].Value = "sha256:2" }), "data set tree (sha256:1, sha256:2)"},
		"candidates": {b(func(m *made) { m.candidates = []string{"jfs"} }), "no candidate in common"},
		"itself":     {a, "cannot be compared with itself"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Compare(a, c.b)
			var r *result.Failure
			if !errors.As(err, &r) || !strings.Contains(r.Reason, c.want) || r.Hint == "" {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	x, y := a, b(func(*made) {})
	x.Scenarios, y.Scenarios = "one", "other"
	if _, err := Compare(x, y); err == nil || !strings.Contains(err.Error(), "the steps of the scenario") {
		t.Errorf("scenarios: %v", err)
	}
}

// Every other difference is what the comparison is about; more than one causes
// a warning, and the image that contains kernel and tools does not count
// separately.
func TestAbout(t *testing.T) {
	a := made{id: "a", candidates: []string{"ext4", "xfs", "jfs"}, rounds: 3, noise: 0.01, seed: 1}.source(t)
	b := made{id: "b", candidates: []string{"ext4", "xfs", "f2fs"}, rounds: 3, noise: 0.01, seed: 2, run: func(r *result.Run) {
		r.Storage, r.Machine, r.Version = "sim:sd-basic,1G", "local", "2"
		r.Conditions[0].Value, r.Conditions[1].Value = "6.12.0", "bbbb"
		r.Conditions = append(r.Conditions[:2], r.Conditions[3], result.Condition{Group: "tools", Name: "e2fsprogs", Value: "1.48", Matters: true},
			result.Condition{Group: "tools", Name: "f2fs-tools", Value: "1.15", Matters: true}, result.Condition{Group: "storage", Name: "model", Value: "sd-basic", Matters: true},
			result.Condition{Group: "machine", Name: "frequency governor", Value: "powersave"})
	}}.source(t)
	c := compareThem(t, a, b)
	if !slices.Equal(c.About, []string{"storage", "machine", "whichfs", "kernel", "tools"}) {
		t.Errorf("about %q", c.About)
	}
	if !strings.HasPrefix(c.Warnings[0], "Storage, machine, whichfs, kernel and tools differ: no change can be attributed") {
		t.Errorf("%q", c.Warnings)
	}
	var names []string
	for _, d := range c.Differs {
		names = append(names, d.Name)
	}
	if got := strings.Join(names, ", "); got != "storage, kind of machine, version, kernel, lab image, e2fsprogs, model, frequency governor" {
		t.Errorf("differs: %s", got)
	}
	if !slices.Equal(c.OnlyA, []string{"jfs"}) || !slices.Equal(c.OnlyB, []string{"f2fs"}) {
		t.Errorf("only %q and %q", c.OnlyA, c.OnlyB)
	}
	// With everything else equal, only the time differs.
	same := compareThem(t, a, made{id: "c", candidates: []string{"ext4", "xfs", "jfs"}, rounds: 3, noise: 0.01, seed: 3}.source(t))
	if len(same.About) != 0 || !strings.HasPrefix(same.Warnings[0], "No condition that matters is known to differ") || !strings.HasPrefix(same.Answer[0], "Of 27 figures: none higher or lower") {
		t.Errorf("%q %q", same.Warnings, same.Answer)
	}
	// So does the processor that guests were charged for.
	with := func(id, cpu string) verdict.Judged {
		return made{id: id, candidates: []string{"ext4"}, rounds: 3, run: func(r *result.Run) {
			r.Clock, r.Processor = result.ClockVirtual, cpu
			if cpu != "" {
				r.Conditions = append(r.Conditions, result.Condition{Group: "machine", Name: "charged processor", Value: cpu, Matters: true})
			}
		}}.source(t)
	}
	for _, pair := range [][2]string{{"600MIPS", "bbb"}, {"", "bbb"}, {"bbb", ""}} {
		if cpu := compareThem(t, with("a", pair[0]), with("c", pair[1])); !slices.Equal(cpu.About, []string{"processor"}) {
			t.Errorf("%q: about %q", pair, cpu.About)
		}
	}
	// A guest's memory is one thing, whether given or seen; its processors are another.
	guest := func(id, given, seen, processors string) verdict.Judged {
		return made{id: id, candidates: []string{"ext4"}, rounds: 3, run: func(r *result.Run) {
			for _, c := range [][2]string{{"guest memory", given}, {"memory", seen}, {"processors", processors}} {
				r.Conditions = append(r.Conditions, result.Condition{Group: "machine", Name: c[0], Value: c[1], Matters: true})
			}
		}}.source(t)
	}
	for _, x := range []struct {
		b    verdict.Judged
		want []string
	}{{guest("c", "1024 MiB", "990 MiB", "1"), []string{"memory"}}, {guest("c", "512 MiB", "480 MiB", "2"), []string{"processors"}}} {
		if c := compareThem(t, guest("a", "512 MiB", "480 MiB", "1"), x.b); !slices.Equal(c.About, x.want) {
			t.Errorf("about %q, want %q", c.About, x.want)
		}
	}
	// An image that alone differs counts.
	image := compareThem(t, a, made{id: "c", candidates: []string{"ext4"}, rounds: 3, run: func(r *result.Run) { r.Conditions[1].Value = "bbbb" }}.source(t))
	if !slices.Equal(image.About, []string{"lab image"}) {
		t.Errorf("about %q", image.About)
	}
}

// One round does not show the noise: there is a ratio, and nothing is settled.
// A figure that one run lacks is absent with its reason.
func TestOneRound(t *testing.T) {
	a := made{id: "a", candidates: []string{"ext4", "xfs"}, rounds: 1}.source(t)
	b := made{id: "b", candidates: []string{"ext4", "xfs"}, rounds: 3, factor: map[string]float64{"write": 9}, trial: func(x *result.Trial) {
		if x.Candidate == "xfs" {
			x.Outcome, x.Phase, x.Reason = result.SubjectFailed, "write", "input/output error"
		}
	}}.source(t)
	c := compareThem(t, a, b)
	w := change(t, c, "write", "ext4")
	if w.Outcome != Open || !w.Ratio.Single || math.Abs(w.Ratio.Value-9) > 1e-9 || w.P != 1 || w.SimHigh != 0 {
		t.Errorf("%+v", w)
	}
	if x := change(t, c, "write", "xfs"); !strings.HasPrefix(x.Absent, "in the second run: no trial of it counts") {
		t.Errorf("%+v", x)
	}
	if all := change(t, c, "write", ""); all.Absent != "there is only one candidate" {
		t.Errorf("%+v", all)
	}
	if !slices.ContainsFunc(c.Warnings, func(s string) bool { return strings.HasPrefix(s, "Run a has only one round") }) {
		t.Errorf("%q", c.Warnings)
	}
}

// The answers of both runs are compared, and a new first candidate is reported
// only where both are settled.
func TestOrders(t *testing.T) {
	a := made{id: "a", candidates: []string{"ext4", "xfs"}, rounds: 4, noise: 0.01, seed: 1, factor: map[string]float64{"xfs": 1.5}}.source(t)
	b := made{id: "b", candidates: []string{"ext4", "xfs"}, rounds: 4, noise: 0.01, seed: 2, factor: map[string]float64{"ext4": 1.5}}.source(t)
	c := compareThem(t, a, b)
	if len(c.Orders) != 1 || c.Orders[0].Same || c.Orders[0].A != "ext4" || c.Orders[0].B != "xfs" || !strings.Contains(strings.Join(c.Answer, " "), "a different candidate is first: ext4 before, xfs after") {
		t.Errorf("%+v %q", c.Orders, c.Answer)
	}
	noisy := made{id: "b", candidates: []string{"ext4", "xfs"}, rounds: 1, noise: 0.5, seed: 9, factor: map[string]float64{"ext4": 1.5}}.source(t)
	if c = compareThem(t, a, noisy); strings.Contains(strings.Join(c.Answer, " "), "another candidate") {
		t.Errorf("%q", c.Answer)
	}
}

// A change beyond chance that may be too small to matter stays open.
func TestSmallChange(t *testing.T) {
	a := made{id: "a", candidates: []string{"ext4"}, rounds: 12, noise: 0.02, seed: 21}.source(t)
	b := made{id: "b", candidates: []string{"ext4"}, rounds: 12, noise: 0.02, seed: 22, factor: map[string]float64{"write": 1.09}}.source(t)
	w := change(t, compareThem(t, a, b), "write", "ext4")
	if w.Adjusted >= 0.05 || w.Ratio.Value > 1.1 || w.Ratio.High < 1.1 {
		t.Fatalf("the figures do not test it: %+v", w)
	}
	if w.Outcome != Open {
		t.Errorf("%+v", w)
	}
}

// Worse is what is higher in the study's measures, of the candidates themselves.
func TestWorse(t *testing.T) {
	c := Contrast{Columns: []Column{{Name: "Write", All: Change{Outcome: Higher}, Rows: []Change{{Candidate: "ext4", Outcome: Higher}, {Candidate: "xfs", Outcome: Lower}, {Candidate: "f2fs", Outcome: Open}, {Candidate: "btrfs", Outcome: Higher, Absent: "failed"}}}},
		Extra: []Column{{Name: "check", Rows: []Change{{Candidate: "ext4", Outcome: Higher}}}}}
	if got := c.Worse(); len(got) != 1 || got[0] != "Write of ext4" {
		t.Errorf("worse: %v", got)
	}
}

// What takes less than a millisecond in both runs says nothing; by the virtual clock it is exact.
func TestShortPhasesAreNotCompared(t *testing.T) {
	two := func(virtual bool) Contrast {
		of := func(id string, factor float64) made {
			return made{id: id, candidates: []string{"ext4", "xfs"}, rounds: 5, noise: 0.01, seed: uint64(len(id)), factor: map[string]float64{"mount": 1e-4 * factor, "xfs mount": 30},
				run: func(r *result.Run) {
					if virtual {
						r.Clock = result.ClockVirtual
					}
				}}
		}
		c, err := Compare(of("a", 1).source(t), of("bb", 9).source(t))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for _, virtual := range []bool{false, true} {
		compared := map[string]bool{}
		for _, col := range slices.Concat(two(virtual).Columns, two(virtual).Extra) {
			for _, ch := range col.Rows {
				if ch.Absent == "" || !strings.Contains(ch.Absent, "too short") {
					compared[ch.Candidate+" "+col.Key] = true
				} else if ch.Outcome != "" || col.Key != "mount" || ch.Candidate != "ext4" {
					t.Errorf("%s of %s: %s, %q", col.Key, ch.Candidate, ch.Absent, ch.Outcome)
				}
			}
		}
		if compared["ext4 mount"] != virtual || !compared["xfs mount"] {
			t.Errorf("virtual: %v; compared are %v", virtual, compared)
		}
	}
}
