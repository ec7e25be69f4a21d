package stats

import "math"

// noise is a fitted model with everything needed to judge differences.
type noise struct {
	grid   grid // of logarithms, adjusted by the covariate if one is used
	blocks Blocks
	own    []moderated
	// x is the covariate as subtracted, and its sum of squares beyond
	// candidates and rounds; nil if none is used.
	x       grid
	squares float64
}

// noiseOf fits the additive model to a grid.
func noiseOf(g grid) noise {
	residuals, rank := g.additive()
	n := noise{grid: g, blocks: blocksOf(residuals, rank)}
	n.own = moderate(n.blocks)
	return n
}

// difference of two candidates' means over their common rounds, with its
// variance by the noise pooled over all candidates and by their own. Without
// degrees of freedom the noise is unknown.
type difference struct {
	rounds           int
	log              float64
	pooled, pooledDF float64
	own, ownDF       float64
}

func (n noise) difference(i, j int) difference {
	var d difference
	dx := 0.0
	for k, v := range n.grid.cells[i] {
		w := n.grid.cells[j][k]
		if math.IsNaN(v) || math.IsNaN(w) {
			continue
		}
		d.log += v - w
		d.rounds++
		if n.x.cells != nil {
			dx += n.x.cells[i][k] - n.x.cells[j][k]
		}
	}
	if d.rounds == 0 {
		return d
	}
	m := float64(d.rounds)
	d.log /= m
	if d.rounds < 2 || n.blocks.DF == 0 {
		return d
	}
	floor := math.Max(n.blocks.Variance, resolution*resolution)
	slope := 0.0 // the uncertainty of the covariate's slope
	if n.x.cells != nil {
		slope = (dx / m) * (dx / m) * floor / n.squares
	}
	d.pooled, d.pooledDF = 2*floor/m+slope, float64(n.blocks.DF)
	vi, vj := n.own[i], n.own[j]
	v := vi.variance + vj.variance
	d.own = v/m + slope
	d.ownDF = math.Min(v*v/(vi.variance*vi.variance/vi.df+vj.variance*vj.variance/vj.df), d.pooledDF)
	return d
}

// figured lists the candidates with figures.
func (n noise) figured() []int {
	var out []int
	for i, row := range n.grid.cells {
		if m, _ := count(row); m > 0 {
			out = append(out, i)
		}
	}
	return out
}
