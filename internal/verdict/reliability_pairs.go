package verdict

import (
	"fmt"

	"whichfs/internal/stats"
)

// pairs compares all candidates that were judged in the same cases.
func (r *Reliability) pairs() ([]FaultPair, error) {
	var out []FaultPair
	for _, class := range []string{PowerCuts, Corruption} {
		counts := func(name string) bool {
			if class == Corruption {
				return changesStored(name)
			}
			return ClassOf(name) == class
		}
		hits := func(c FaultCell) int {
			if class == Corruption {
				return c.Silent.Hits
			}
			return c.Lost.Hits
		}
		var family []FaultPair
		var ps []float64
		for i, a := range r.Rows {
			for _, b := range r.Rows[i+1:] {
				var tables []stats.Fourfold
				var sum stats.Fourfold
				for k, c := range r.Cases {
					x, y := a.Cells[k], b.Cells[k]
					if !counts(c.Name) || x.Tried == 0 || y.Tried == 0 {
						continue
					}
					t := stats.Fourfold{HitsA: hits(x), NA: x.Tried, HitsB: hits(y), NB: y.Tried}
					tables = append(tables, t)
					sum = stats.Fourfold{HitsA: sum.HitsA + t.HitsA, NA: sum.NA + t.NA, HitsB: sum.HitsB + t.HitsB, NB: sum.NB + t.NB}
				}
				if len(tables) == 0 {
					continue
				}
				p, err := stats.Exact(tables)
				if err != nil {
					return nil, fmt.Errorf("%s, %s against %s: %w", class, a.Candidate, b.Candidate, err)
				}
				family = append(family, FaultPair{Class: class, A: a.Candidate, B: b.Candidate, P: p,
					RateA: rateOf(sum.HitsA, sum.NA, false), RateB: rateOf(sum.HitsB, sum.NB, false)})
				ps = append(ps, p)
			}
		}
		for k, q := range stats.Holm(ps) {
			family[k].Adjusted, family[k].Settled = q, q < stats.Alpha
		}
		out = append(out, family...)
	}
	return out, nil
}
