package stats

import (
	"encoding/binary"
	"math"
	"testing"
)

func TestRefusesValuesWithoutLogarithm(t *testing.T) {
	for _, v := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1)} {
		if _, err := GeoMean([]float64{1, v}); err == nil {
			t.Errorf("GeoMean accepted %v", v)
		}
		if _, err := Compare([]Sample{{1: 1}, {1: v}}, 0.1); err == nil {
			t.Errorf("Compare accepted %v", v)
		}
	}
	for _, m := range []float64{-0.1, math.NaN(), math.Inf(1)} {
		if _, err := Compare([]Sample{{1: 1}, {1: 2}}, m); err == nil {
			t.Errorf("margin %v accepted", m)
		}
	}
	if _, err := GeoMean(nil); err == nil {
		t.Error("GeoMean of nothing")
	}
	if _, err := Median(nil); err == nil {
		t.Error("Median of nothing")
	}
	if _, err := Median([]float64{1, math.NaN()}); err == nil {
		t.Error("Median accepted NaN")
	}
	if _, _, err := Kendall([]float64{1}, []float64{1, 2}); err == nil {
		t.Error("Kendall accepted rankings of different lengths")
	}
	if _, _, err := Kendall([]float64{1, math.NaN()}, []float64{1, 2}); err == nil {
		t.Error("Kendall accepted NaN")
	}
}

func TestSingleValueHasNoInterval(t *testing.T) {
	e, err := GeoMean([]float64{3})
	if err != nil || !e.Single || e.Low != e.Value || e.High != e.Value || e.N != 1 {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		in   []float64
		want float64
	}{{[]float64{3, 1, 2}, 2}, {[]float64{4, 1, 2, 3}, 2.5}, {[]float64{-7}, -7}} {
		if got, err := Median(c.in); err != nil || got != c.want {
			t.Errorf("Median(%v) = %v, %v", c.in, got, err)
		}
	}
}

// One round does not reveal noise: nothing is settled, nothing panics.
func TestOneRoundSettlesNothing(t *testing.T) {
	c, err := Compare([]Sample{{1: 1}, {1: 100}, {}}, 0.1)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range c.Pairs {
		if p.Outcome != Open {
			t.Errorf("%+v is settled", p)
		}
		if _, ok := c.Needed(p.A, p.B); ok {
			t.Errorf("forecast for %+v with unknown noise", p)
		}
	}
	for i, r := range c.Ranks() {
		if r != (Range{1, 3}) {
			t.Errorf("candidate %d has ranks %v", i, r)
		}
	}
}

func TestSingleAndNoCandidate(t *testing.T) {
	for _, in := range [][]Sample{nil, {{1: 2, 2: 3}}} {
		c, err := Compare(in, 0.1)
		if err != nil || len(c.Pairs) != 0 || len(c.Ranks()) != len(in) {
			t.Errorf("%+v, %v", c, err)
		}
	}
}

// Known answer: three candidates with clear steps, one far noisier pair.
func TestOutcomes(t *testing.T) {
	c, err := Compare([]Sample{
		{1: 1.00, 2: 1.01, 3: 0.99},
		{1: 1.01, 2: 1.00, 3: 1.00},
		{1: 2.00, 2: 2.02, 3: 1.99},
	}, 0.10)
	if err != nil {
		t.Fatal(err)
	}
	want := map[[2]int]Outcome{{0, 1}: Tied, {0, 2}: Lower, {1, 2}: Lower}
	for _, p := range c.Pairs {
		if p.Outcome != want[[2]int{p.A, p.B}] {
			t.Errorf("%+v: outcome %d, want %d", p, p.Outcome, want[[2]int{p.A, p.B}])
		}
	}
	ranks := c.Ranks()
	if ranks[0] != (Range{1, 2}) || ranks[1] != (Range{1, 2}) || ranks[2] != (Range{3, 3}) {
		t.Errorf("ranks %v", ranks)
	}
	back, _ := c.Between(2, 0)
	there, _ := c.Between(0, 2)
	if back.Outcome != Higher || math.Abs(back.Ratio*there.Ratio-1) > 1e-12 || back.Low > back.Ratio || back.High < back.Ratio {
		t.Errorf("turned %+v of %+v", back, there)
	}
}

// A significant difference within the margin is a tie; one whose estimate is
// below the margin while its interval is not stays open.
func TestMarginDecides(t *testing.T) {
	small := []Sample{{1: 1, 2: 1.001, 3: 0.999}, {1: 1.05, 2: 1.051, 3: 1.0495}}
	c, _ := Compare(small, 0.10)
	if p := c.Pairs[0]; p.Adjusted > 0.05 || p.Outcome != Tied {
		t.Errorf("5 %% apart, clearly: %+v", p)
	}
	c, _ = Compare(small, 0.01)
	if p := c.Pairs[0]; p.Outcome != Lower {
		t.Errorf("5 %% apart with a margin of 1 %%: %+v", p)
	}
	noisy := []Sample{{1: 1, 2: 1.06, 3: 0.96}, {1: 1.05, 2: 1.04, 3: 1.10}}
	c, _ = Compare(noisy, 0.10)
	if p := c.Pairs[0]; p.Outcome != Open {
		t.Errorf("5 %% apart in noise: %+v", p)
	}
	if n, ok := c.Needed(0, 1); !ok || n < 1 {
		t.Errorf("needed %d, %v", n, ok)
	}
}

// Figures that repeat exactly have no noise to estimate.
func TestExactRepetition(t *testing.T) {
	c, err := Compare([]Sample{{1: 5, 2: 5, 3: 5}, {1: 6, 2: 6, 3: 6}, {1: 5.01, 2: 5.01, 3: 5.01}}, 0.1)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range c.Pairs {
		if math.IsNaN(p.P) || p.Outcome == Open {
			t.Errorf("%+v", p)
		}
	}
}

func TestMissingCells(t *testing.T) {
	c, err := Compare([]Sample{
		{1: 1, 2: 1.02, 3: 0.98}, {1: 3, 3: 3.05}, {2: 2}, {4: 7, 5: 7.1},
	}, 0.1)
	if err != nil {
		t.Fatal(err)
	}
	if p, _ := c.Between(0, 1); p.N != 2 || p.P > 0.05 || p.P == 0 {
		t.Errorf("two common rounds: %+v", p)
	}
	if p, _ := c.Between(0, 2); p.N != 1 || p.Outcome != Open || p.P != 1 || !math.IsInf(p.High, 1) || p.SimLow != 0 {
		t.Errorf("one common round: %+v", p)
	}
	if p, _ := c.Between(0, 3); p.N != 0 || p.Outcome != Open || !math.IsInf(p.High, 1) {
		t.Errorf("no common round: %+v", p)
	}
}

// Whatever the figures: no panic, probabilities are probabilities, intervals
// contain their estimate, ranges contain a rank, and Holm only raises.
func FuzzCompare(f *testing.F) {
	f.Add([]byte{3, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 0.1)
	f.Add([]byte{1}, 0.0)
	f.Add([]byte{2, 0, 0, 255, 255}, 1.0)
	f.Fuzz(func(t *testing.T, in []byte, margin float64) {
		if len(in) < 1 || len(in) > 60 {
			return
		}
		n := 1 + int(in[0])%8
		samples := make([]Sample, n)
		for i := range samples {
			samples[i] = Sample{}
		}
		for k, b := range in[1:] {
			if b != 0 {
				samples[k%n][k/n] = math.Exp(float64(b)/16 - 8)
			}
		}
		c, err := Compare(samples, margin)
		if err != nil {
			if margin >= 0 && margin <= 10 {
				t.Fatal(err)
			}
			return
		}
		for _, p := range c.Pairs {
			if !(p.P >= 0 && p.P <= 1) || p.Adjusted < p.P || p.Adjusted > 1 || p.Outcome < Open || p.Outcome > Tied {
				t.Fatalf("%+v", p)
			}
			if p.N > 0 && (p.Low > p.Ratio || p.High < p.Ratio) {
				t.Fatalf("interval excludes its estimate: %+v", p)
			}
			if _, ok := c.Needed(p.A, p.B); !ok && p.Outcome != Open {
				t.Fatalf("settled without noise: %+v", p)
			}
		}
		for _, r := range c.Ranks() {
			if r.Low < 1 || r.High > n || r.Low > r.High {
				t.Fatalf("rank range %v of %d", r, n)
			}
		}
	})
}

func FuzzKendall(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6})
	f.Add([]byte{1, 1, 1, 1})
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) > 60 {
			return
		}
		n := len(in) / 2
		x, y, down := make([]float64, n), make([]float64, n), make([]float64, n)
		for i := range n {
			x[i], y[i] = float64(in[i]), float64(in[n+i])
			down[i] = -y[i]
		}
		a, okA, err := Kendall(x, y)
		b, okB, _ := Kendall(x, down)
		if err != nil || okA != okB || math.Abs(a) > 1+1e-12 || math.Abs(a+b) > 1e-12 {
			t.Fatalf("%v %v: %v %v, turned %v %v, %v", x, y, a, okA, b, okB, err)
		}
	})
}

func FuzzHolm(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, in []byte) {
		var p []float64
		for ; len(in) >= 8; in = in[8:] {
			p = append(p, math.Float64frombits(binary.LittleEndian.Uint64(in)))
		}
		for i, q := range Holm(p) {
			if !(q >= 0 && q <= 1) || (p[i] >= 0 && p[i] <= 1 && q < p[i]) {
				t.Fatalf("%v became %v", p[i], q)
			}
		}
	})
}
