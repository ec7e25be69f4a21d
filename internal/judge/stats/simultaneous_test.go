package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// All simultaneous intervals of a run contain the true ratios in nineteen runs
// of twenty, whatever the noise of the candidates; the marginal ones need not.
func TestSimultaneousIntervalsCover(t *testing.T) {
	const runs, seed = 250, 15
	means := []float64{0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9}
	marginal := 0
	for name, sd := range noises {
		for _, rounds := range []int{3, 6} {
			r := rand.New(rand.NewPCG(seed, uint64(rounds)))
			missed := 0
			for range runs {
				c, err := Compare(draw(r, means, sd, rounds), 0.10)
				if err != nil {
					t.Fatal(err)
				}
				together, alone := false, false
				for _, p := range c.Pairs {
					truth := math.Exp(means[p.A] - means[p.B])
					together = together || truth < p.SimLow || truth > p.SimHigh
					alone = alone || truth < p.Low || truth > p.High
				}
				if together {
					missed++
				}
				if alone {
					marginal++
				}
			}
			t.Logf("seed %d, %s, %d rounds: an interval misses in %.3f of runs", seed, name, rounds, float64(missed)/runs)
			if float64(missed)/runs > Alpha {
				t.Errorf("%s, %d rounds: an interval misses in %.3f of runs (seed %d)", name, rounds, float64(missed)/runs, seed)
			}
		}
	}
	if share := float64(marginal) / float64(2*runs*len(noises)); share < 2*Alpha {
		t.Errorf("the marginal intervals miss in only %.3f of runs: then the others show nothing", share)
	}
}

// With many candidates and few rounds the studentised range is far tighter
// than a correction for the number of pairs, and never tighter than the
// interval of one pair.
func TestSimultaneousLimitsAreTight(t *testing.T) {
	const seed = 16
	r := rand.New(rand.NewPCG(seed, 1))
	c, err := Compare(draw(r, make([]float64, 10), noises["two noisy"], 3), 0.10)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range c.Pairs {
		alone, together := math.Log(p.High/p.Ratio), math.Log(p.SimHigh/p.Ratio)
		d := c.noise.difference(p.A, p.B)
		tail := sidak(Alpha, len(c.Pairs)) / 2
		sidaks := math.Max(tQuantile(1-tail, d.pooledDF)*math.Sqrt(d.pooled), tQuantile(1-tail, d.ownDF)*math.Sqrt(d.own))
		if together < alone || together > sidaks {
			t.Errorf("seed %d: %+v: half widths %v alone, %v together, %v by Šidák", seed, p, alone, together, sidaks)
		}
	}
	back, _ := c.Between(1, 0)
	if p := c.Pairs[0]; math.Abs(back.SimLow*p.SimHigh-1) > 1e-12 || math.Abs(back.SimHigh*p.SimLow-1) > 1e-12 {
		t.Errorf("turned %+v of %+v", back, p)
	}
}
