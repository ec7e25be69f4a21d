package stats

import (
	"math"
	"testing"
)

// Differences decides figures of any sign; the margin is a share of the largest
// mean.
func TestDifferences(t *testing.T) {
	around := func(mean, spread float64) Sample {
		return Sample{1: mean - spread, 2: mean + spread, 3: mean, 4: mean + spread/2, 5: mean - spread/2}
	}
	const mb = 1e6
	c, err := Differences([]Sample{around(-1.8*mb, mb/100), around(3*mb, mb/50), around(3.1*mb, mb/50), {}}, 0.1)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		a, b int
		want Outcome
		diff float64
	}{{0, 1, Lower, -4.8 * mb}, {1, 0, Higher, 4.8 * mb}, {1, 2, Tied, -0.1 * mb}} {
		p, ok := c.Between(x.a, x.b)
		if !ok || p.Outcome != x.want || math.Abs(p.Diff-x.diff) > 1 || p.DiffLow > p.Diff || p.DiffHigh < p.Diff || !math.IsNaN(p.Ratio) {
			t.Errorf("%d with %d: %+v, want %v", x.a, x.b, p, x.want)
		}
	}
	if p, _ := c.Between(0, 3); p.Outcome != Open {
		t.Errorf("without figures: %+v", p)
	}
	if c, err := Differences([]Sample{around(mb, 5*mb), around(3*mb, -5*mb)}, 0.1); err != nil || c.Pairs[0].Outcome != Open || c.Pairs[0].Diff > -2*mb+1 {
		t.Errorf("in noise: %+v, %v", c.Pairs, err)
	}
	if c, err := Differences([]Sample{{1: 0}, {1: 0}}, 0.1); err != nil || c.Pairs[0].Outcome != Open || !math.IsInf(c.Pairs[0].DiffHigh, 1) {
		t.Errorf("one round of nothing: %+v, %v", c.Pairs, err)
	}
	if c, err := Differences([]Sample{{1: 0, 2: 0}, {1: 0, 2: 0}}, 0.1); err != nil || c.Pairs[0].Outcome != Tied {
		t.Errorf("nothing, twice: %+v, %v", c.Pairs, err)
	}
	if _, err := Differences([]Sample{{1: math.NaN()}}, 0.1); err == nil {
		t.Error("accepts NaN")
	}
	if _, err := Mean([]float64{1, math.Inf(1)}); err == nil {
		t.Error("accepts an infinity")
	}
}
