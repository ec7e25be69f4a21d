package verdict

import (
	"slices"
	"testing"

	"whichfs/internal/result"
)

// The least stable candidate comes first, with its fastest and slowest round.
func TestRoundsLieApart(t *testing.T) {
	f := standard()
	f.change = func(tr *result.Trial) {
		for i := range tr.Measurements {
			if m := &tr.Measurements[i]; tr.Candidate == "xfs" && tr.Round == 2 && m.Phase == "write" && m.Metric == result.Wall {
				m.Value *= 4
			}
		}
	}
	v := compute(t, f)
	first, last := v.Rounds[0], v.Rounds[len(v.Rounds)-1]
	i := slices.IndexFunc(first.Ranges, func(r Range) bool { return r.Column == "write" })
	if first.Candidate != "xfs" || i < 0 || first.Ranges[i].High < 3.8*first.Ranges[i].Low || first.Ranges[i].High > 4.2*first.Ranges[i].Low {
		t.Errorf("%+v", first)
	}
	if s := first.Scatter; s.Value < 0.2 || s.Low >= s.Value || s.High <= s.Value {
		t.Errorf("%+v", s)
	}
	// A hundredth of noise, over the columns of times.
	if last.Scatter.Value > 0.02 || len(v.Rounds) != len(f.candidates) {
		t.Errorf("%d: %+v", len(v.Rounds), last)
	}
	for _, r := range v.Rounds {
		for _, x := range r.Ranges {
			if c := columnOf(t, v, x.Column); c.Unit != "s" || len(c.Uses) == 0 {
				t.Errorf("%s of %s does not count as a time", x.Column, r.Candidate)
			}
		}
	}
	f.rounds = 1
	if v := compute(t, f); v.Rounds != nil {
		t.Errorf("one round lies apart from itself: %+v", v.Rounds)
	}
}
