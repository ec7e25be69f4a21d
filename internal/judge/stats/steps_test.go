package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The noise of steps is that of the values, whether or not their level changes.
func TestNoiseOfSteps(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const tries, sd = 2000, 0.1
	sum, outside := 0.0, 0
	for range tries {
		var values []float64
		for i := range 21 {
			level := 1.0
			if i >= 12 {
				level = 3
			}
			values = append(values, level*math.Exp(sd*random.NormFloat64()))
		}
		n, err := NoiseOfSteps(values)
		if err != nil || !n.Known {
			t.Fatal(n, err)
		}
		sum += n.sd
		// A further value against the mean of four others of its level.
		others := 0.0
		for range 4 {
			others += sd * random.NormFloat64() / 4
		}
		if n.P(math.Exp(sd*random.NormFloat64()-others), 4) < Alpha {
			outside++
		}
	}
	if mean := sum / tries; math.Abs(mean/sd-1) > 0.1 {
		t.Errorf("the noise of %v is estimated as %.4f", sd, mean)
	}
	// The change of the level enlarges the noise a little.
	if share := float64(outside) / tries; share > Alpha || share < Alpha/4 {
		t.Errorf("%.4f of the values lie outside", share)
	}
}

func TestNoiseOfFewSteps(t *testing.T) {
	if n, err := NoiseOfSteps([]float64{1, 2, 3}); err != nil || n.Known || n.P(10, 3) != 1 {
		t.Errorf("three values show their noise: %+v, %v", n, err)
	}
	if n, err := NoiseOfSteps([]float64{1, 1, 1, 1}); err != nil || n.P(1.001, 3) > 0.2 || n.P(1.00001, 3) < 0.5 {
		t.Errorf("of values that repeat: %+v, %v", n, err)
	}
	for _, bad := range [][]float64{{1, 2, 0, 3}, {math.NaN()}, {1, math.Inf(1)}} {
		if _, err := NoiseOfSteps(bad); err == nil {
			t.Errorf("no error for %v", bad)
		}
	}
}
