package stats

import (
	"fmt"
	"math"
)

// race is one question on its way through the looks.
type race struct {
	rule    Sequential
	grid    grid
	dropped []bool
	result  Settled
}

func newRace(s Sequential, g grid) *race {
	return &race{
		rule: s, grid: g, dropped: make([]bool, len(g.cells)),
		result: Settled{Best: -1, Rounds: len(g.rounds), Reason: fmt.Sprintf("the first look is after %d rounds", s.First)},
	}
}

// look examines the first n rounds; true: settled.
func (r *race) look(n int) bool {
	looks := r.result.Looks + 1
	g := grid{rounds: r.grid.rounds[:n], cells: make([][]float64, len(r.grid.cells))}
	for i, row := range r.grid.cells {
		g.cells[i] = row[:n]
	}
	fitted := noiseOf(g)
	r.result = Settled{Best: -1, Rounds: n, Looks: looks, AlphaSpent: r.rule.Alpha * spending(looks)}
	all := fitted.figured()
	if len(all) < 2 {
		r.result.Reason = "there are no two candidates with figures to compare"
		return false
	}
	j := newJudge(fitted, boundaryOf(r.rule.First, r.rule.Alpha/float64(len(all)-1)).look(looks))
	r.drop(j, all)
	margin := math.Log1p(r.rule.Margin)
	left := r.left(all)
	var safe []int
	for _, i := range left {
		if j.safe(i, left, margin) {
			safe = append(safe, i)
		}
	}
	r.conclude(j, left, safe)
	return r.result.Settled
}

// left returns those of all that were not dropped.
func (r *race) left(all []int) []int {
	var out []int
	for _, i := range all {
		if !r.dropped[i] {
			out = append(out, i)
		}
	}
	return out
}

// drop drops those shown to be worse than one that is left.
func (r *race) drop(j judge, all []int) {
	for _, i := range r.left(all) {
		for _, other := range r.left(all) {
			if other != i && j.below(other, i, 0) {
				r.dropped[i] = true
				break
			}
		}
	}
}

// conclude records the answer of a look.
func (r *race) conclude(j judge, left, safe []int) {
	s := &r.result
	for i, gone := range r.dropped {
		if gone {
			s.Dropped = append(s.Dropped, i)
		}
	}
	s.Best = j.lowest(left)
	switch {
	case len(safe) > 0:
		s.Settled = true
		s.Best = j.lowest(safe)
		for _, i := range safe {
			if i != s.Best {
				s.Tied = append(s.Tied, i)
			}
		}
		s.Reason = fmt.Sprintf("no other is better by more than %g %%", 100*r.rule.Margin)
	case j.blocks.DF == 0:
		s.Reason = "the noise is unknown: no two candidates have two rounds in common"
	default:
		s.Reason = fmt.Sprintf("%d candidates could still be the best, and none is shown to be within %g %% of it", len(left), 100*r.rule.Margin)
	}
}

// judge makes the comparisons of one look, each with the same one-sided error.
type judge struct {
	noise
	error float64
	limit float64 // of Student's t for the pooled noise
}

func newJudge(n noise, err float64) judge {
	j := judge{noise: n, error: err, limit: math.Inf(1)}
	if n.blocks.DF > 0 {
		j.limit = tQuantile(1-err, float64(n.blocks.DF))
	}
	return j
}

// below reports that i's mean less j's is shown to be below bound, by the
// pooled noise and by the candidates' own.
func (l judge) below(i, j int, bound float64) bool {
	d := l.difference(i, j)
	if d.pooledDF == 0 || bound-d.log <= l.limit*math.Sqrt(d.pooled) {
		return false
	}
	return tTwoSided((bound-d.log)/math.Sqrt(d.own), d.ownDF)/2 < l.error
}

// safe reports that i is shown not to be worse than any of the others by
// margin.
func (l judge) safe(i int, others []int, margin float64) bool {
	for _, j := range others {
		if i != j && !l.below(i, j, margin) {
			return false
		}
	}
	return true
}

// lowest is the candidate with the lowest mean, by pairs over their common
// rounds.
func (l judge) lowest(of []int) int {
	best, least := -1, math.Inf(1)
	for _, i := range of {
		sum := 0.0
		for _, j := range of {
			sum += l.difference(i, j).log
		}
		if sum < least {
			best, least = i, sum
		}
	}
	return best
}
