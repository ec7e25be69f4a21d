package stats

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// cellsOf makes a full experiment: candidates with their own noise, levels with
// a common effect and one for each candidate.
func cellsOf(r *rand.Rand, rounds int, sd []float64, effect []float64, own func(candidate, level int) float64) []Cell {
	var out []Cell
	for i, s := range sd {
		for k := range rounds {
			block := r.NormFloat64()
			for l := range len(effect) + 1 {
				x := block + s*r.NormFloat64()
				if l > 0 {
					x += effect[l-1] + own(i, l)
				}
				out = append(out, Cell{i, l, k, math.Exp(x)})
			}
		}
	}
	return out
}

func alike(int, int) float64 { return 0 }

// Known answer: noatime does nothing, dirsync costs a factor of two, on two
// candidates, and the reference is missing for a third.
func TestEffects(t *testing.T) {
	cells := []Cell{
		{0, 0, 1, 10}, {0, 1, 1, 10.1}, {0, 2, 1, 20}, {0, 0, 2, 12}, {0, 1, 2, 11.9}, {0, 2, 2, 24.2},
		{0, 0, 3, 11}, {0, 1, 3, 11}, {0, 2, 3, 21.9},
		{1, 0, 1, 5}, {1, 1, 1, 5.02}, {1, 2, 1, 10}, {1, 0, 2, 5.1}, {1, 1, 2, 5.08}, {1, 2, 2, 10.1},
		{2, 1, 1, 7}, {2, 1, 2, 7.1},
		{3, 0, 1, 3}, {3, 2, 2, 6},
		{4, 0, 1, 3}, {4, 1, 1, 3}, {4, 2, 1, 6},
	}
	f, err := Effects(cells, 0.10)
	if err != nil {
		t.Fatal(err)
	}
	if e := f.Pooled[0]; e.Outcome != Tied || e.N != 6 || e.Candidate != -1 || e.Level != 1 {
		t.Errorf("noatime: %+v", e)
	}
	if e := f.Pooled[1]; e.Outcome != Higher || math.Abs(e.Ratio-2) > 0.02 || e.SimLow >= e.Low || e.SimHigh <= e.High {
		t.Errorf("dirsync: %+v", e)
	}
	reasons := map[[2]int]string{{2, 1}: "reference", {2, 2}: "reference", {3, 1}: "level", {3, 2}: "no round has both"}
	for _, e := range f.Own {
		why := reasons[[2]int{e.Candidate, e.Level}]
		if (why != "") != (e.Reason != "") || !strings.Contains(e.Reason, why) {
			t.Errorf("%+v: want the reason %q", e, why)
		}
		if why != "" && (!math.IsNaN(e.Ratio) || e.Outcome != Open || e.P != 1) {
			t.Errorf("no figures, but %+v", e)
		}
		if e.Candidate == 4 && (math.Abs(e.Ratio-float64(e.Level)) > 1e-12 || !math.IsInf(e.High, 1) || e.Outcome != Open) {
			t.Errorf("one round reveals its noise: %+v", e)
		}
		if why == "" && e.Level == 2 && e.Candidate != 4 && e.Outcome != Higher {
			t.Errorf("dirsync on %d: %+v", e.Candidate, e)
		}
	}
	if !f.Tested || f.Differs {
		t.Errorf("interaction %+v", f.Interaction)
	}
}

func TestEffectsUndetermined(t *testing.T) {
	for name, cells := range map[string][]Cell{
		"nothing":       nil,
		"reference":     {{0, 0, 1, 1}, {1, 0, 1, 2}},
		"one round":     {{0, 0, 1, 1}, {0, 1, 1, 2}, {1, 0, 1, 1}, {1, 1, 1, 2}},
		"one candidate": {{0, 0, 1, 1}, {0, 1, 1, 2}, {0, 0, 2, 1}, {0, 1, 2, 2.1}},
	} {
		f, err := Effects(cells, 0.1)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if f.Tested || f.Reason == "" || f.P != 1 || f.Differs {
			t.Errorf("%s: interaction %+v", name, f.Interaction)
		}
		for _, e := range f.Own {
			if (e.Outcome != Open) != (name == "one candidate") {
				t.Errorf("%s: %+v", name, e)
			}
		}
	}
	for name, cells := range map[string][]Cell{
		"twice":    {{0, 0, 1, 1}, {0, 0, 1, 2}},
		"zero":     {{0, 0, 1, 0}},
		"negative": {{-1, 0, 1, 1}},
		"level":    {{0, -1, 1, 1}},
		"too many": {{5000, 0, 1, 1}},
	} {
		if _, err := Effects(cells, 0.1); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := Effects(nil, -1); err == nil {
		t.Error("a margin of -1")
	}
}

// If no level has an effect, at most one experiment in twenty may find one, in
// either family, or candidates that differ; and at most one in twenty may have
// a simultaneous interval that misses the truth, even if levels have effects.
func TestEffectsErrors(t *testing.T) {
	const runs, seed = 600, 21
	for name, sd := range map[string][]float64{
		"equal": repeat(0.05, 4), "one noisy": {0.5, 0.05, 0.05, 0.05}, "graded": {0.02, 0.05, 0.12, 0.3}, "two": {0.3, 0.03},
	} {
		for _, effect := range [][]float64{{0, 0}, {0.3, -0.2}} {
			r := rand.New(rand.NewPCG(seed, 1))
			pooled, own, differs, missed := 0, 0, 0, 0
			for range runs {
				f, err := Effects(cellsOf(r, 3, sd, effect, alike), 0)
				if err != nil {
					t.Fatal(err)
				}
				count := func(es []Effect) (found, missed int) {
					for _, e := range es {
						truth := effect[e.Level-1]
						if truth == 0 && e.Outcome != Open {
							found = 1
						}
						if math.Log(e.SimLow) > truth || math.Log(e.SimHigh) < truth {
							missed = 1
						}
					}
					return found, missed
				}
				a, m := count(f.Pooled)
				b, n := count(f.Own)
				pooled, own, missed = pooled+a, own+b, missed+max(m, n)
				if f.Differs {
					differs++
				}
			}
			t.Logf("seed %d, %s, effects %v: pooled %.3f, own %.3f, interaction %.3f, an interval misses in %.3f of runs", seed, name, effect,
				float64(pooled)/runs, float64(own)/runs, float64(differs)/runs, float64(missed)/runs)
			if float64(differs)/runs > 0.08 { // see Interaction.P
				t.Errorf("%s, effects %v: an interaction is found in %.3f of runs (seed %d)", name, effect, float64(differs)/runs, seed)
			}
			for what, n := range map[string]int{"a pooled effect": pooled, "an own effect": own} {
				if float64(n)/runs > Alpha {
					t.Errorf("%s, effects %v: %s is found in %.3f of runs (seed %d)", name, effect, what, float64(n)/runs, seed)
				}
			}
			// Two families, each with its own 5 %.
			if float64(missed)/runs > 2*Alpha {
				t.Errorf("%s, effects %v: intervals miss in %.3f of runs (seed %d)", name, effect, float64(missed)/runs, seed)
			}
		}
	}
}

// An interaction must be found, and pooled effects must then be wide.
func TestInteractionIsFound(t *testing.T) {
	const runs, seed = 100, 22
	r := rand.New(rand.NewPCG(seed, 1))
	own := func(i, l int) float64 { return 0.2 * float64(i) * float64(l-1) }
	found := 0
	for range runs {
		f, err := Effects(cellsOf(r, 3, repeat(0.05, 3), []float64{0, 0}, own), 0.1)
		if err != nil {
			t.Fatal(err)
		}
		if f.Differs && f.PooledVariance > f.OwnVariance {
			found++
		}
	}
	if found < runs*9/10 {
		t.Errorf("found in %d of %d runs (seed %d)", found, runs, seed)
	}
}

// Published: on this card noatime has the effect of relatime, and dirsync
// cripples creating and deleting files but not the streams, so tests differ.
func TestPublishedEffects(t *testing.T) {
	tests, figures := published(t)
	var cells, gentle []Cell
	for k, test := range tests {
		for level, values := range figures[test] {
			for fs, v := range values {
				if v > 0 {
					cells = append(cells, Cell{k, level, fs, v}) // tests take the candidates' place
					if level < 2 {
						gentle = append(gentle, Cell{k, level, fs, v})
					}
				}
			}
		}
	}
	noatime, err := Effects(gentle, 0.10)
	if err != nil {
		t.Fatal(err)
	}
	if noatime.Pooled[0].Outcome != Tied || noatime.Differs {
		t.Errorf("noatime: %+v", noatime)
	}
	f, err := Effects(cells, 0.10)
	if err != nil {
		t.Fatal(err)
	}
	if !f.Differs {
		t.Errorf("interaction: %+v", f.Interaction)
	}
	for _, e := range f.Own {
		if e.Level != 2 {
			continue
		}
		slow := strings.Contains(tests[e.Candidate], "create") || strings.Contains(tests[e.Candidate], "delete")
		stat := strings.Contains(tests[e.Candidate], "stat")
		switch {
		case stat && e.Reason == "":
			t.Errorf("%s: %+v from no figures", tests[e.Candidate], e)
		case slow && (e.Outcome != Lower) && tests[e.Candidate] != "random delete":
			t.Errorf("%s: %+v", tests[e.Candidate], e)
		case !slow && !stat && (e.Ratio < 0.9 || e.Ratio > 1.1):
			t.Errorf("%s: %+v", tests[e.Candidate], e)
		}
	}
}

func FuzzEffects(f *testing.F) {
	f.Add([]byte{3, 2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18}, 0.1)
	f.Add([]byte{1, 1, 7}, 0.0)
	f.Add([]byte{2, 3, 9, 0, 9, 9, 0, 0, 9, 9, 9, 9, 0, 9}, 2.0)
	f.Fuzz(func(t *testing.T, in []byte, margin float64) {
		if len(in) < 2 || len(in) > 80 {
			return
		}
		n, levels := 1+int(in[0])%5, 1+int(in[1])%4
		var cells []Cell
		for k, b := range in[2:] {
			if b != 0 {
				cells = append(cells, Cell{k % n, k / n % levels, k / n / levels, math.Exp(float64(b)/16 - 8)})
			}
		}
		got, err := Effects(cells, margin)
		if err != nil {
			if margin >= 0 && margin <= 10 {
				t.Fatal(err)
			}
			return
		}
		if !(got.P >= 0 && got.P <= 1) || got.Tested == (got.Interaction.Reason != "") {
			t.Fatalf("%+v", got.Interaction)
		}
		for _, e := range append(got.Pooled, got.Own...) {
			if !(e.P >= 0 && e.P <= 1) || e.Adjusted < e.P || e.Adjusted > 1 || e.Outcome < Open || e.Outcome > Tied {
				t.Fatalf("%+v", e)
			}
			if (e.Reason != "") != math.IsNaN(e.Ratio) {
				t.Fatalf("reason without absence: %+v", e)
			}
			if e.Reason == "" && !(e.SimLow <= e.Low && e.Low <= e.Ratio && e.Ratio <= e.High && e.High <= e.SimHigh) {
				t.Fatalf("limits out of order: %+v", e)
			}
		}
	})
}
