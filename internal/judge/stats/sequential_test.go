package stats

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// Known answer: a clear best of three, one of the others within the margin and
// one dropped.
func TestLook(t *testing.T) {
	samples := []Sample{
		{1: 1.00, 2: 1.01, 3: 0.99},
		{1: 1.01, 2: 1.005, 3: 1.00},
		{1: 2.00, 2: 2.02, 3: 1.99},
		{},
	}
	rule := Sequential{Margin: 0.10}
	early, err := rule.Look(samples, 2)
	if err != nil || early.Settled || early.Looks != 0 || early.Best != -1 || early.AlphaSpent != 0 || early.Reason == "" {
		t.Errorf("before the first look: %+v, %v", early, err)
	}
	got, err := rule.Look(samples, 3)
	if err != nil || !got.Settled || got.Best != 0 || !slices.Equal(got.Tied, []int{1}) || !slices.Equal(got.Dropped, []int{2}) ||
		got.Looks != 1 || got.Rounds != 3 || math.Abs(got.AlphaSpent-Alpha/3) > 1e-15 {
		t.Errorf("%+v, %v", got, err)
	}
	// With a margin of zero, which of the two is better stays open, but
	// the third is still dropped.
	got, err = Sequential{}.Look(samples, 3)
	if err != nil || got.Settled || got.Best != 0 || got.Tied != nil || !slices.Equal(got.Dropped, []int{2}) || got.Reason == "" {
		t.Errorf("margin 0: %+v, %v", got, err)
	}
}

func TestLookWithoutFigures(t *testing.T) {
	for name, samples := range map[string][]Sample{
		"nothing": nil, "nobody": {{}, {}}, "alone": {{1: 1, 2: 1, 3: 1}, {}},
		"apart": {{1: 1, 2: 1, 3: 1}, {4: 1, 5: 1, 6: 1}},
	} {
		got, err := Sequential{Margin: 0.1}.Look(samples, 9)
		if err != nil || got.Settled || len(got.Dropped) > 0 || got.Reason == "" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	good := []Sample{{1: 1, 2: 1}, {1: 1, 2: 1}}
	for name, rule := range map[string]Sequential{
		"margin": {Margin: -1}, "alpha": {Alpha: 0.7}, "no alpha": {Alpha: math.NaN()}, "one round": {First: 1}, "before the start": {First: -3},
	} {
		if _, err := rule.Look(good, 2); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := (Sequential{}).Look([]Sample{{1: -1}}, 1); err == nil {
		t.Error("a negative figure")
	}
	// Figures that repeat exactly, of two equal candidates and of two
	// different ones.
	for ratio, dropped := range map[float64]int{1: 0, 1.05: 1, 2: 1} {
		got, err := Sequential{Margin: 0.1}.Look([]Sample{{1: 5, 2: 5, 3: 5}, {1: 5 * ratio, 2: 5 * ratio, 3: 5 * ratio}}, 3)
		if err != nil || !got.Settled || got.Best != 0 || len(got.Dropped) != dropped {
			t.Errorf("exact, ratio %v: %+v, %v", ratio, got, err)
		}
	}
}

// A run that is examined after every round and one that is resumed and
// examined once agree, and figures that a run did not measure, because the
// candidate was dropped, do not matter: adding them does not change the
// decision.
func TestLookDependsOnlyOnFigures(t *testing.T) {
	const seed = 41
	r := rand.New(rand.NewPCG(seed, 1))
	rule := Sequential{Margin: raceMargin}
	drops := 0
	for range 60 {
		f := fields[len(fields)-1]
		g := f.simulate(r, shapes[0], raceRounds)
		kept := newRace(Sequential{Margin: raceMargin, Alpha: Alpha, First: FirstLook}, g)
		samples := make([]Sample, len(f.means))
		for i := range samples {
			samples[i] = Sample{}
		}
		var gone []int
		for n := 1; n <= raceRounds; n++ {
			for i := range samples {
				if kept.dropped[i] {
					g.cells[i][n-1] = math.NaN()
				} else {
					samples[i][n] = math.Exp(g.cells[i][n-1])
				}
			}
			got, err := rule.Look(samples, n)
			if err != nil {
				t.Fatal(err)
			}
			if n < FirstLook {
				continue
			}
			kept.look(n)
			if !reflect.DeepEqual(got, kept.result) {
				t.Fatalf("seed %d, round %d: resumed %+v, continuous %+v", seed, n, got, kept.result)
			}
			for _, i := range gone {
				if !slices.Contains(got.Dropped, i) {
					t.Fatalf("seed %d, round %d: %d was dropped and is back: %+v", seed, n, i, got)
				}
			}
			gone = got.Dropped
			drops += len(gone)
			if got.Settled {
				later, err := rule.Look(samples, n+5)
				if err != nil || !reflect.DeepEqual(later, got) {
					t.Fatalf("settled %+v, later %+v, %v", got, later, err)
				}
				break
			}
		}
	}
	if drops == 0 {
		t.Error("nothing was ever dropped")
	}
}

// The total error of all looks is as promised, with Student's t of successive
// rounds in place of the normal figures that the boundaries assume: in the
// worst case, where a candidate is worse by exactly the margin and its noise
// is known only from its own few rounds.
func TestBoundaryWithStudent(t *testing.T) {
	const runs, seed, looks = 60_000, 42, 40
	for _, others := range []int{1, 3, 9} {
		for _, first := range []int{2, 3} {
			b := boundaryOf(first, Alpha/float64(others))
			limit := make([]float64, looks)
			for k := range limit {
				limit[k] = tQuantile(1-b.look(k+1), float64(first+k-1))
			}
			r := rand.New(rand.NewPCG(seed, uint64(first)))
			crossed := 0
			for range runs {
				sum, squares := 0.0, 0.0
				for n := 1; n < first+looks; n++ {
					x := r.NormFloat64()
					sum, squares = sum+x, squares+x*x
					if n < first {
						continue
					}
					m := float64(n)
					if sum > limit[n-first]*math.Sqrt(m*(squares-sum*sum/m)/(m-1)) {
						crossed++
						break
					}
				}
			}
			share, want := float64(crossed)/runs, Alpha/float64(others)
			t.Logf("seed %d, %d others, first look after %d: %.5f of %.5f", seed, others, first, share, want)
			if share > want+2*math.Sqrt(want/runs) || share < want/2 {
				t.Errorf("%d others, first look after %d: crossed in %.5f of runs, promised %.5f (seed %d)", others, first, share, want, seed)
			}
		}
	}
}

// Boundaries never exceed the promise: each look has some error, at most the
// total, and those that are simply added up are smaller.
func TestBoundaryErrors(t *testing.T) {
	b := boundaryOf(3, 0.05)
	total := 0.0
	for k := 1; k <= carried+50; k++ {
		e := b.look(k)
		total += small * 0.05 * (spending(k) - spending(k-1))
		if !(e > 0 && e < 0.05) || k > 1 && e > b.look(k-1)*1.1 {
			t.Errorf("look %d: error %v after %v", k, e, b.look(max(1, k-1)))
		}
		if e < small*0.05*(spending(k)-spending(k-1))*(1-1e-9) {
			t.Errorf("look %d: error %v is less than what it adds", k, e)
		}
	}
	if total > small*0.05 {
		t.Errorf("%v spent", total)
	}
}

// Whatever the figures: no panic, the best is one of those left, dropped ones
// stay dropped, and only settled results have ties.
func FuzzLook(f *testing.F) {
	f.Add([]byte{3, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, 0.1)
	f.Add([]byte{1, 9, 9, 9, 200, 9, 200, 9, 200, 9, 201}, 0.0)
	f.Add([]byte{4, 1, 0, 90, 1, 0, 0, 80, 0, 1, 1, 90, 0, 1, 0, 88}, 0.5)
	f.Fuzz(func(t *testing.T, in []byte, margin float64) {
		if len(in) < 1 || len(in) > 80 {
			return
		}
		n := 1 + int(in[0])%6
		samples := make([]Sample, n)
		for i := range samples {
			samples[i] = Sample{}
		}
		for k, b := range in[1:] {
			if b != 0 {
				samples[k%n][k/n] = math.Exp(float64(b)/16 - 8)
			}
		}
		rule := Sequential{Margin: margin, First: 2}
		var before Settled
		for round := range len(in)/n + 2 {
			got, err := rule.Look(samples, round)
			if err != nil {
				if margin >= 0 && margin <= 10 {
					t.Fatal(err)
				}
				return
			}
			for _, i := range before.Dropped {
				if !slices.Contains(got.Dropped, i) {
					t.Fatalf("%d is back: %+v after %+v", i, got, before)
				}
			}
			switch {
			case got.Reason == "", got.AlphaSpent < before.AlphaSpent, got.AlphaSpent >= Alpha,
				got.Settled && got.Best < 0, !got.Settled && len(got.Tied) > 0, before.Settled && !reflect.DeepEqual(got, before),
				got.Best >= 0 && slices.Contains(got.Dropped, got.Best), slices.Contains(got.Tied, got.Best):
				t.Fatalf("%+v after %+v", got, before)
			}
			before = got
		}
	})
}
