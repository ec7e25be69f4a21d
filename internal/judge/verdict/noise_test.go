package verdict

import (
	"math"
	"testing"

	"whichfs/internal/judge/stats"
)

// Figures within the noise of their source have no order among each other.
func TestTauWithinNoise(t *testing.T) {
	made := func(values ...float64) (*column, []string) {
		c := &column{absent: map[string]string{}}
		var names []string
		for i, v := range values {
			names = append(names, string(rune('a'+i)))
			c.add(names[i], stats.Sample{1: v, 2: v})
		}
		if err := c.estimates(); err != nil {
			t.Fatal(err)
		}
		return c, names
	}
	for _, x := range []struct {
		ours, theirs []float64
		want         float64
		has          bool
	}{
		{[]float64{1, 2, 3, 4}, []float64{1, 2, 3, 4}, 1, true},
		{[]float64{4, 3, 2, 1}, []float64{1, 2, 3, 4}, -1, true},
		// Figures that differ by less than a tenth have no order, theirs and ours
		// alike.
		{[]float64{1.05, 1, 2, 2.1}, []float64{1, 1.05, 2.1, 2}, 1, true},
		// Four of six pairs agree, and two are tied only in theirs.
		{[]float64{1, 1.5, 2, 3}, []float64{1, 1.05, 2.1, 2}, 4 / math.Sqrt(4*6), true},
		{[]float64{1, 2, 3, 4}, []float64{1, 1.02, 1.04, 1.06}, 0, false},
		{[]float64{1, 1, 1, 1}, []float64{1, 2, 3, 4}, 0, false},
	} {
		c, names := made(x.ours...)
		got, has := c.tauWithin(names, x.theirs, 0.10)
		if math.Abs(got-x.want) > 1e-12 || has != x.has {
			t.Errorf("%v against %v: %v, %v, want %v, %v", x.ours, x.theirs, got, has, x.want, x.has)
		}
	}
	if near(1, 1.2, 0.10) || !near(1, 1.099, 0.10) || near(1, 1.0001, 0) || !near(2, 2, 0) {
		t.Error("near is wrong at its edges")
	}
}

// Figures that are all equal have no order, and so another one than published
// figures that differ.
func TestEqualFiguresHaveNoOrder(t *testing.T) {
	table := NumbersTable{places: &column{absent: map[string]string{}}, published: []float64{1, 2, 3, 4}}
	for _, name := range []string{"a", "b", "c", "d"} {
		table.places.add(name, stats.Sample{1: 3, 2: 3, 3: 3})
	}
	if err := table.places.compute(0.1); err != nil {
		t.Fatal(err)
	}
	if table.order(0); !table.Tau.Has || table.Tau.Value != 0 {
		t.Errorf("%+v", table.Tau)
	}
	table.published = []float64{2, 2, 2, 2}
	if table.order(0); table.Tau.Has {
		t.Errorf("the published figures have no order, and this has: %+v", table.Tau)
	}
}
