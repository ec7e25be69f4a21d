package stats

import "math"

// MostRounds is how far Needed looks ahead.
const MostRounds = 1000

// Needed estimates how many more rounds would settle an open pair, if its
// ratio is as estimated and the noise stays the same: until the difference is
// significant after correction for all pairs that are still open, or, if the
// difference is below the margin, until its interval lies within the margin.
// ok is false if the noise is unknown; a result of MostRounds means "that many
// or more".
//
// It is an estimate of an estimate: say "about".
func (c Compared) Needed(a, b int) (more int, ok bool) {
	p, found := c.Between(a, b)
	if !found || p.df == 0 {
		return 0, false
	}
	if p.Outcome != Open {
		return 0, true
	}
	open := 0
	for _, q := range c.Pairs {
		if q.Outcome == Open {
			open++
		}
	}
	d := math.Abs(p.log)
	settled := func(rounds int) bool {
		m := float64(rounds)
		// Degrees of freedom grow with the rounds.
		df := p.df * (m - 1) / float64(p.N-1)
		width := math.Sqrt(p.variance / m)
		if d <= c.margin {
			return d+tQuantile(1-(1-Level)/2, df)*width <= c.margin
		}
		return d/width > tQuantile(1-Alpha/2/float64(open), df)
	}
	// settled is monotonic in the rounds: bisect.
	low, high := p.N, p.N+MostRounds
	if !settled(high) {
		return MostRounds, true
	}
	for high-low > 1 {
		middle := (low + high) / 2
		if settled(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high - p.N, true
}
