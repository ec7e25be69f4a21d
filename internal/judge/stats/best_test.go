package stats

import (
	"errors"
	"math"
	"slices"
	"testing"
)

// Two candidates have a closed form: the difference of their means has
// Student's distribution.
func TestProbabilityBestOfTwo(t *testing.T) {
	const draws, seed = 200_000, 51
	for _, c := range []struct{ difference, df, covariance float64 }{
		{0, 3, 0}, {0.1, 2, 0}, {0.3, 5, 0.02}, {-0.2, 20, 0.01}, {0.2, math.Inf(1), 0},
	} {
		got, err := ProbabilityBest([]float64{1, 1 + c.difference}, [][]float64{{0.03, c.covariance}, {c.covariance, 0.05}}, c.df, draws, seed)
		if err != nil {
			t.Fatal(err)
		}
		d := c.difference / math.Sqrt(0.08-2*c.covariance)
		want := normalCDF(d)
		if !math.IsInf(c.df, 1) {
			want = tTwoSided(d, c.df) / 2
			if d > 0 {
				want = 1 - want
			}
		}
		if math.Abs(got[0]-want) > 4*0.5/math.Sqrt(draws) || math.Abs(got[0]+got[1]-1) > 1e-9 {
			t.Errorf("%+v: %v, closed form %v (seed %d)", c, got, want, seed)
		}
	}
}

// For a comparison: one minus half the p of the pair, reproducible from the
// seed, and NaN for candidates without figures.
func TestProbabilityBestOfCompared(t *testing.T) {
	const draws, seed = 200_000, 52
	c, err := Compare([]Sample{{1: 1, 2: 1.1, 3: 0.9, 4: 1.2}, {}, {1: 1.2, 2: 1.15, 3: 1.12, 4: 1.22}}, 0.1)
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.ProbabilityBest(draws, seed)
	if err != nil {
		t.Fatal(err)
	}
	p, _ := c.Between(0, 2)
	if math.Abs(got[0]-(1-p.P/2)) > 0.005 || !math.IsNaN(got[1]) || math.Abs(got[0]+got[2]-1) > 1e-9 {
		t.Errorf("%v, p %v (seed %d)", got, p.P, seed)
	}
	again, err := c.ProbabilityBest(draws, seed)
	if err != nil || again[0] != got[0] {
		t.Errorf("%v, then %v, %v", got, again, err)
	}
	if one, _ := Compare([]Sample{{1: 1}, {1: 2}}, 0.1); one.Blocks.DF != 0 {
		t.Error("one round reveals noise")
	} else if _, err := one.ProbabilityBest(10, 1); !errors.Is(err, ErrNoise) {
		t.Errorf("one round: %v", err)
	}
	apart, err := Compare([]Sample{{1: 1, 2: 2}, {1: 1, 2: 2.1}, {3: 1}, {3: 2}}, 0.1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := apart.ProbabilityBest(10, 1); err == nil {
		t.Error("two groups without a common round have a best")
	}
}

func TestProbabilityBestRefuses(t *testing.T) {
	one := [][]float64{{1, 0}, {0, 1}}
	for name, f := range map[string]func() ([]float64, error){
		"no draws": func() ([]float64, error) { return ProbabilityBest([]float64{1, 2}, one, 3, 0, 1) },
		"no df":    func() ([]float64, error) { return ProbabilityBest([]float64{1, 2}, one, 0, 9, 1) },
		"NaN":      func() ([]float64, error) { return ProbabilityBest([]float64{1, math.NaN()}, one, 3, 9, 1) },
		"shape":    func() ([]float64, error) { return ProbabilityBest([]float64{1, 2, 3}, one, 3, 9, 1) },
		"ragged":   func() ([]float64, error) { return ProbabilityBest([]float64{1, 2}, [][]float64{{1, 0}, {0}}, 3, 9, 1) },
		"asymmetric": func() ([]float64, error) {
			return ProbabilityBest([]float64{1, 2}, [][]float64{{1, 0}, {0.5, 1}}, 3, 9, 1)
		},
		"indefinite": func() ([]float64, error) {
			return ProbabilityBest([]float64{1, 2}, [][]float64{{1, 2}, {2, 1}}, 3, 9, 1)
		},
		"no variance": func() ([]float64, error) {
			return ProbabilityBest([]float64{1, 2}, [][]float64{{0, 1}, {1, 1}}, 3, 9, 1)
		},
		"negative":      func() ([]float64, error) { return ProbabilityBest([]float64{1}, [][]float64{{-1}}, 3, 9, 1) },
		"no covariance": func() ([]float64, error) { return ProbabilityBest([]float64{1}, [][]float64{{math.NaN()}}, 3, 9, 1) },
	} {
		if got, err := f(); err == nil {
			t.Errorf("%s: %v", name, got)
		}
	}
	// Known exactly: no draw changes anything, and equal candidates share.
	got, err := ProbabilityBest([]float64{1, 1, 2}, [][]float64{{0, 0, 0}, {0, 0, 0}, {0, 0, 0}}, 3, 4, 1)
	if err != nil || !slices.Equal(got, []float64{0.5, 0.5, 0}) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestRatioSummary(t *testing.T) {
	median, near, err := RatioSummary([]float64{1, 3, 8, 30}, []float64{1, 2, 2, 3})
	// Ratios 1, 1.5 (just near), 4, 10: in the middle √(1.5·4).
	if err != nil || math.Abs(median-math.Sqrt(6)) > 1e-12 || near != 0.5 {
		t.Errorf("%v, %v, %v", median, near, err)
	}
	if median, near, err = RatioSummary([]float64{2}, []float64{3}); err != nil || math.Abs(median-2.0/3) > 1e-12 || near != 1 {
		t.Errorf("%v, %v, %v", median, near, err)
	}
	for k := 1.0; k < 200; k++ { // exactly 1.5, however the logarithms are rounded
		if _, near, err = RatioSummary([]float64{3 * k, 2 * k}, []float64{2 * k, 3 * k}); err != nil || near != 1 {
			t.Errorf("%v of %v: %v, %v", 3*k, 2*k, near, err)
		}
	}
	for name, c := range map[string][2][]float64{
		"nothing": {nil, nil}, "lengths": {{1}, {1, 2}}, "zero": {{0}, {1}}, "published zero": {{1}, {0}}, "NaN": {{math.NaN()}, {1}},
	} {
		if _, _, err := RatioSummary(c[0], c[1]); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
