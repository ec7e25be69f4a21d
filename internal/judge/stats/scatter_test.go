package stats

import (
	"math"
	"testing"
)

// Quantiles from printed tables of chi-square and F.
func TestScatterQuantiles(t *testing.T) {
	for _, c := range []struct{ got, want float64 }{
		{chiSquare(0.025, 4), 0.484}, {chiSquare(0.975, 4), 11.143}, {chiSquare(0.975, 20), 34.170},
		{fQuantile(0.975, 4, 6), 6.227}, {fQuantile(0.025, 4, 6), 1 / 9.197}, {fQuantile(0.975, 10, 10), 3.717},
	} {
		if math.Abs(c.got/c.want-1) > 1e-3 {
			t.Errorf("%v, the table has %v", c.got, c.want)
		}
	}
}

func TestScatter(t *testing.T) {
	e := math.Exp(0.1)
	// Deviations of -0.1, 0, 0.1 around any mean: a variance of 0.02 / 2.
	s := ScatterOf(Sample{1: 1, 2: e, 3: 1 / e}, Sample{1: 50, 2: 50 * e, 3: 50 / e}, Sample{4: 7})
	if s.DF != 4 || math.Abs(s.Value-0.1) > 1e-12 {
		t.Fatalf("%+v", s)
	}
	if low, high := s.Limits(); math.Abs(low-0.1*math.Sqrt(4/11.143)) > 1e-4 || math.Abs(high-0.1*math.Sqrt(4/0.4844)) > 1e-4 {
		t.Errorf("%v to %v", low, high)
	}
	ratio, low, high := s.Over(Scatter{0.05, 6})
	if ratio != s.Value/0.05 || math.Abs(low-2/math.Sqrt(6.227)) > 1e-3 || math.Abs(high-2*math.Sqrt(9.197)) > 1e-3 {
		t.Errorf("%v, %v to %v", ratio, low, high)
	}
	if s := ScatterOf(Sample{1: 2}); s.DF != 0 {
		t.Errorf("one figure has %+v", s)
	}
}
