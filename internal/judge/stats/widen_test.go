package stats

import (
	"math"
	"testing"
)

// Doubts widen the limits on their own side, and a difference that they could explain is not shown.
func TestWiden(t *testing.T) {
	a := Sample{1: 1.00, 2: 1.01, 3: 0.99, 4: 1.00}
	b := Sample{1: 1.30, 2: 1.31, 3: 1.29, 4: 1.30}
	made := func(doubt ...float64) Compared {
		c, err := Compare([]Sample{a, b}, 0.10)
		if err != nil {
			t.Fatal(err)
		}
		c.Widen(doubt)
		return c
	}
	plain, err := Compare([]Sample{a, b}, 0.10)
	if err != nil {
		t.Fatal(err)
	}
	if plain.Pairs[0].Outcome != Lower {
		t.Fatalf("%+v", plain.Pairs[0])
	}
	if got := made(0, 0).Pairs[0]; got != plain.Pairs[0] {
		t.Errorf("no doubt changes\n%+v to\n%+v", plain.Pairs[0], got)
	}
	for _, c := range []struct {
		a, b float64
		want Outcome
	}{
		{0.5, 0, Lower},            // the lower figure is even lower
		{0, math.Log(1.05), Lower}, // 1.24 times is left
		{0, math.Log(1.20), Open},  // 1.08 times is left: less than the margin
		{0, math.Log(1.30), Open},  // nothing is left
		{0, math.Log(4), Open},     // it may be the other way round
		{math.Log(4), math.Log(4), Open},
	} {
		p := made(c.a, c.b).Pairs[0]
		was := plain.Pairs[0]
		if p.Outcome != c.want || p.Ratio != was.Ratio {
			t.Errorf("%v, %v: %+v", c.a, c.b, p)
		}
		for _, x := range [][3]float64{{p.Low, was.Low, -c.a}, {p.High, was.High, c.b}, {p.SimLow, was.SimLow, -c.a}, {p.SimHigh, was.SimHigh, c.b}} {
			if math.Abs(math.Log(x[0]/x[1])-x[2]) > 1e-12 {
				t.Errorf("%v, %v: a limit of %v, was %v", c.a, c.b, x[0], x[1])
			}
		}
		if p.P < was.P {
			t.Errorf("%v, %v: p fell from %v to %v", c.a, c.b, was.P, p.P)
		}
	}
	c := made(0, math.Log(1.30))
	if other, _ := c.Between(1, 0); other.Outcome != Open {
		t.Errorf("seen from the other side: %+v", other)
	}
	if r := c.Ranks(); r[0] != (Range{1, 2}) || r[1] != (Range{1, 2}) {
		t.Errorf("%v", r)
	}
	// A tie that doubts could break is none.
	tie, err := Compare([]Sample{a, a}, 0.10)
	if err != nil || tie.Pairs[0].Outcome != Tied {
		t.Fatalf("%+v, %v", tie, err)
	}
	tie.Widen([]float64{math.Log(1.2), 0})
	if tie.Pairs[0].Outcome != Open {
		t.Errorf("%+v", tie.Pairs[0])
	}
}

// Widen with one round, whose noise is unknown, settles nothing.
func TestWidenWithoutNoise(t *testing.T) {
	c, err := Compare([]Sample{{1: 1}, {1: 3}, {}}, 0.10)
	if err != nil {
		t.Fatal(err)
	}
	c.Widen([]float64{0.1, 0.2, 0})
	for _, p := range c.Pairs {
		if p.Outcome != Open || p.P != 1 {
			t.Errorf("%+v", p)
		}
	}
}
