package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The textbook's two-sample t interval with a common variance, by hand.
func TestPooledRatio(t *testing.T) {
	e, err := PooledRatio([]float64{math.Exp(1), math.Exp(2), math.Exp(3)}, []float64{math.Exp(5)}, []float64{math.Exp(0), math.Exp(2)})
	if err != nil {
		t.Fatal(err)
	}
	// Squares 2 and 2 over three degrees of freedom, t(3) = 3.1824.
	half := 3.182446 * math.Sqrt(4.0/3*(1.0/3+1))
	if math.Abs(math.Log(e.Value)-3) > 1e-9 || math.Abs(math.Log(e.High)-3-half) > 1e-4 || math.Abs(math.Log(e.Low)-3+half) > 1e-4 || e.Single || e.N != 1 {
		t.Errorf("%+v, want %v to %v", e, math.Exp(3-half), math.Exp(3+half))
	}
	if e, err := PooledRatio([]float64{2}, []float64{5}); err != nil || !e.Single || e.Value != 2.5 || e.Low != 2.5 {
		t.Errorf("of two figures: %+v, %v", e, err)
	}
	if e, err := PooledRatio([]float64{2, 2}, []float64{5}); err != nil || e.Single || e.Low != 2.5 || e.High != 2.5 {
		t.Errorf("of figures that repeat: %+v, %v", e, err)
	}
	for _, bad := range [][]float64{nil, {0}, {-1, 2}, {math.NaN()}} {
		if _, err := PooledRatio(bad, []float64{1}); err == nil {
			t.Errorf("no error for %v", bad)
		}
		if _, err := PooledRatio([]float64{1}, []float64{1}, bad, []float64{1, math.Inf(1)}); err == nil {
			t.Errorf("no error for %v next to others", bad)
		}
	}
}

// Its interval contains the truth as often as it promises.
func TestPooledRatioCovers(t *testing.T) {
	const seed = 11
	r := rand.New(rand.NewPCG(seed, 1))
	draw := func(n int, mean float64) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = mean * math.Exp(0.1*r.NormFloat64())
		}
		return out
	}
	held := 0
	const times = 4000
	for range times {
		e, err := PooledRatio(draw(3, 1), draw(1, 7), draw(1, 2))
		if err != nil {
			t.Fatal(err)
		}
		if e.Low <= 7 && e.High >= 7 {
			held++
		}
	}
	if share := float64(held) / times; math.Abs(share-Level) > 0.015 {
		t.Errorf("the interval contained the truth in %.3f of the draws (seed %d)", share, seed)
	}
}
