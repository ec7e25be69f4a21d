package verdict

import (
	"cmp"
	"slices"

	"whichfs/internal/judge/stats"
)

// Rounds is how far the rounds of a candidate lie apart in the times that count.
type Rounds struct {
	Candidate string `json:"candidate"`
	// Scatter is the standard deviation of a single figure, as a share of it, over all columns, with
	// its 95 % limits.
	Scatter Interval `json:"scatter"`
	Ranges  []Range  `json:"ranges"` // in the columns' order; those without two figures are left out
}

// Range is a column's fastest and slowest round.
type Range struct {
	Column string  `json:"column"` // key
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// apart are the rounds of all candidates with two figures of one thing, the least stable first.
func (f *figures) apart() []Rounds {
	var out []Rounds
	for _, s := range f.subjects {
		one := Rounds{Candidate: s.Name}
		var samples []stats.Sample
		for _, def := range f.study.Columns {
			c := f.columns[def.Key]
			if c == nil || def.Unit != "s" || len(def.Uses) == 0 || c.additive || !c.has(s.Name) {
				continue
			}
			sample := c.samples[c.index(s.Name)]
			if v := sample.Values(); len(v) > 1 {
				samples = append(samples, sample)
				one.Ranges = append(one.Ranges, Range{def.Key, slices.Min(v), slices.Max(v)})
			}
		}
		if len(samples) == 0 {
			continue
		}
		scatter := stats.ScatterOf(samples...)
		one.Scatter = Interval{Value: scatter.Value, N: scatter.DF + 1}
		one.Scatter.Low, one.Scatter.High = scatter.Limits()
		out = append(out, one)
	}
	slices.SortStableFunc(out, func(a, b Rounds) int { return cmp.Compare(b.Scatter.Value, a.Scatter.Value) })
	return out
}
