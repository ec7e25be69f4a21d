package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// drifting simulates a run whose storage speeds up and slows down by sd over
// time, with a sentinel before every trial that is off by blur.
func drifting(r *rand.Rand, means []float64, rounds int, sd, blur float64) (samples, sentinel []Sample) {
	samples, sentinel = make([]Sample, len(means)), make([]Sample, len(means))
	for i := range means {
		samples[i], sentinel[i] = Sample{}, Sample{}
	}
	level := sd * r.NormFloat64()
	for k := 1; k <= rounds; k++ {
		for _, i := range r.Perm(len(means)) {
			level = 0.8*level + 0.6*sd*r.NormFloat64()
			samples[i][k] = math.Exp(means[i] + level + 0.03*r.NormFloat64())
			sentinel[i][k] = level + blur*r.NormFloat64()
		}
	}
	return samples, sentinel
}

// A sentinel that is noise must not raise the familywise error, whatever the
// candidates' noise is: there are no differences here, and the margin hides
// none.
func TestNoiseSentinelKeepsError(t *testing.T) {
	const runs, seed = 800, 31
	for name, sd := range map[string][]float64{
		"equal": noises["equal"], "one noisy": noises["one noisy"], "graded": noises["graded"], "three": repeat(0.05, 3),
	} {
		r := rand.New(rand.NewPCG(seed, 1))
		plain, with, used := 0, 0, 0
		for range runs {
			samples := draw(r, make([]float64, len(sd)), sd, 4)
			sentinel := make([]Sample, len(sd))
			for i := range sentinel {
				sentinel[i] = Sample{}
				for k := 1; k <= 4; k++ {
					sentinel[i][k] = 0.05 * r.NormFloat64()
				}
			}
			a, err := Compare(samples, 0)
			if err != nil {
				t.Fatal(err)
			}
			b, err := CompareWith(samples, sentinel, 0)
			if err != nil {
				t.Fatal(err)
			}
			plain, with = plain+differs(a), with+differs(b)
			if b.Drift.Used {
				used++
			}
		}
		t.Logf("seed %d, %s: familywise error %.4f, with a sentinel of noise %.4f, used in %.4f of runs", seed, name,
			float64(plain)/runs, float64(with)/runs, float64(used)/runs)
		if float64(with)/runs > Alpha || float64(with-plain)/runs > 0.005 {
			t.Errorf("%s: familywise error %.4f with a sentinel of noise, %.4f without (seed %d)", name, float64(with)/runs, float64(plain)/runs, seed)
		}
		if float64(used)/runs > 0.01 { // 1 % on two sides, one of which counts; and chance
			t.Errorf("%s: noise is used as a covariate in %.4f of runs (seed %d)", name, float64(used)/runs, seed)
		}
	}
}

func differs(c Compared) int {
	for _, p := range c.Pairs {
		if p.Outcome == Lower || p.Outcome == Higher {
			return 1
		}
	}
	return 0
}

// driftMost is the maximum number of rounds that driftCosts tries.
const driftMost = 40

// driftCosts is the number of rounds after which nine of ten runs find that
// one of five candidates is 15 % faster than each of the other four, with and
// without the sentinel; driftMost+1 if driftMost rounds do not suffice.
func driftCosts(sd, blur float64) (without, with int) {
	const runs, seed = 150, 32
	means := []float64{-math.Log(1.15), 0, 0, 0, 0}
	rounds := func(use bool) int {
		for n := 3; n <= driftMost; n++ {
			r := rand.New(rand.NewPCG(seed, uint64(n)))
			found := 0
			for range runs {
				samples, sentinel := drifting(r, means, n, sd, blur)
				if !use {
					sentinel = nil
				}
				c, err := CompareWith(samples, sentinel, 0.10)
				if err != nil {
					panic(err)
				}
				if c.Ranks()[0].High == 1 {
					found++
				}
			}
			if found >= runs*9/10 {
				return n
			}
		}
		return driftMost + 1
	}
	return rounds(false), rounds(true)
}

// driftTable returns what the sentinel saves, for docs/statistics.md.
func driftTable() (table string, saves bool) {
	table = "| drift | sentinel off by | rounds without it | rounds with it |\n| ---: | ---: | ---: | ---: |\n"
	saves = true
	for _, c := range []struct{ sd, blur float64 }{{0, 0.01}, {0.05, 0.01}, {0.10, 0.01}, {0.10, 0.05}, {0.20, 0.02}} {
		without, with := driftCosts(c.sd, c.blur)
		said := fmt.Sprint(without)
		if without > driftMost {
			said = fmt.Sprintf("more than %d", driftMost)
		}
		table += fmt.Sprintf("| %g %% | %g %% | %s | %d |\n", 100*c.sd, 100*c.blur, said, with)
		if with > without || c.sd >= 0.1 && c.blur <= 0.02 && with > without/2 {
			saves = false
		}
	}
	return table, saves
}

// If there is a slope, it is found: nothing else of the sentinel is used.
func TestDriftIsAdjusted(t *testing.T) {
	const seed = 33
	r := rand.New(rand.NewPCG(seed, 1))
	samples, sentinel := drifting(r, []float64{0, 0, 0.5}, 6, 0.2, 0)
	plain, err := Compare(samples, 0.1)
	if err != nil {
		t.Fatal(err)
	}
	if plain.Drift.Used || plain.Drift.Reason == "" {
		t.Errorf("no sentinel: %+v", plain.Drift)
	}
	with, err := CompareWith(samples, sentinel, 0.1)
	if err != nil {
		t.Fatal(err)
	}
	d := with.Drift
	if !d.Used || d.Low > 1 || d.High < 1 || d.P > 1e-3 || d.VarianceAfter > d.VarianceBefore/4 || with.Blocks.DF != plain.Blocks.DF-1 {
		t.Errorf("seed %d: %+v", seed, d)
	}
	if math.Abs(with.Blocks.Variance/d.VarianceAfter-1) > 1e-9 {
		t.Errorf("the model's variance %v is not that after the covariate, %v", with.Blocks.Variance, d.VarianceAfter)
	}
	if a, b := with.Pairs[0], plain.Pairs[0]; a.High/a.Low >= b.High/b.Low {
		t.Errorf("the interval of %+v is no narrower than that of %+v", a, b)
	}
	// Where a sentinel is missing there is no adjustment; a few missing
	// ones change little.
	delete(sentinel[0], 2)
	delete(sentinel[2], 5)
	if c, err := CompareWith(samples, sentinel, 0.1); err != nil || !c.Drift.Used {
		t.Errorf("two sentinels missing: %+v, %v", c.Drift, err)
	}
	// Reversed: trials are faster when the sentinel is slower.
	for i := range sentinel {
		for k := range sentinel[i] {
			sentinel[i][k] = -sentinel[i][k]
		}
	}
	if c, err := CompareWith(samples, sentinel, 0.1); err != nil || c.Drift.Used || c.Drift.Slope > 0 || c.Drift.Reason == "" {
		t.Errorf("wrong sign: %+v, %v", c.Drift, err)
	}
}

func TestDriftUndetermined(t *testing.T) {
	samples := []Sample{{1: 1, 2: 2, 3: 3}, {1: 2, 2: 4.1, 3: 6}, {1: 1, 2: 2.2, 3: 3.1}, {1: 1, 2: 2, 3: 3.1}}
	flat := func(f func(i, k int) float64) []Sample {
		out := make([]Sample, len(samples))
		for i := range out {
			out[i] = Sample{}
			for k := range samples[i] {
				out[i][k] = f(i, k)
			}
		}
		return out
	}
	for name, sentinel := range map[string][]Sample{
		"same all the time":  flat(func(int, int) float64 { return 1 }),
		"same in each round": flat(func(_, k int) float64 { return float64(k) }),
		"of the candidate":   flat(func(i, _ int) float64 { return float64(i) }),
		"none":               make([]Sample, 4),
	} {
		c, err := CompareWith(samples, sentinel, 0.1)
		if err != nil || c.Drift.Tested || c.Drift.Used || c.Drift.Reason == "" || c.Drift.P != 1 {
			t.Errorf("%s: %+v, %v", name, c.Drift, err)
		}
	}
	if c, err := CompareWith(samples[:2], flat(func(i, k int) float64 { return float64(i * k) })[:2], 0.1); err != nil || c.Drift.Tested {
		t.Errorf("too few trials: %+v, %v", c.Drift, err)
	}
	if c, err := CompareWith([]Sample{{1: 1, 2: 1, 3: 1, 4: 1}, {1: 2, 2: 2, 3: 2, 4: 2}, {1: 2, 2: 2, 3: 2, 4: 2}},
		flat(func(i, k int) float64 { return float64(i * k) })[:3], 0.1); err != nil || c.Drift.Tested || c.Drift.Reason == "" {
		t.Errorf("no noise: %+v, %v", c.Drift, err)
	}
	if _, err := CompareWith(samples, samples[:2], 0.1); err == nil {
		t.Error("sentinels of two candidates for four")
	}
	if _, err := CompareWith(samples, flat(func(i, k int) float64 { return math.Inf(1) }), 0.1); err == nil {
		t.Error("an infinite sentinel")
	}
}

// Whatever the sentinel: no panic, and every pair's limits stay in order.
func FuzzCompareWith(f *testing.F) {
	f.Add([]byte{3, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24})
	f.Add([]byte{4, 9, 9, 9, 9, 9, 9, 9, 9, 1, 1, 1, 1, 1, 1, 1, 1})
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) < 1 || len(in) > 80 {
			return
		}
		n := 1 + int(in[0])%6
		samples, sentinel := make([]Sample, n), make([]Sample, n)
		for i := range samples {
			samples[i], sentinel[i] = Sample{}, Sample{}
		}
		half := len(in[1:]) / 2
		for k := range half {
			if v, s := in[1+k], in[1+half+k]; v != 0 {
				samples[k%n][k/n] = math.Exp(float64(v)/16 - 8)
				if s != 0 {
					sentinel[k%n][k/n] = float64(s)/32 - 4
				}
			}
		}
		c, err := CompareWith(samples, sentinel, 0.1)
		if err != nil {
			t.Fatal(err)
		}
		if d := c.Drift; d.Used == (d.Reason != "") || !(d.P >= 0 && d.P <= 1) || d.Used && (d.Slope <= 0 || d.Low > d.Slope || d.High < d.Slope) {
			t.Fatalf("%+v", d)
		}
		for _, p := range c.Pairs {
			if p.N > 0 && !(p.SimLow <= p.Low && p.Low <= p.Ratio && p.Ratio <= p.High && p.High <= p.SimHigh) {
				t.Fatalf("%+v", p)
			}
		}
	})
}
