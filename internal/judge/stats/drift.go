package stats

import (
	"fmt"
	"math"
)

// Drift is what a sentinel, a fixed piece of raw work before every trial,
// reveals about the storage's speed during the run. Pairing by round removes
// changes from round to round; the sentinel can remove changes within one. The
// model becomes
//
//	log value = candidate + round + Slope·(log sentinel − mean of the round) + noise
//
// (analysis of covariance in blocks; Fisher 1932). It is used only if it
// clearly explains noise: by an F test at 1 %, with a slope above 0 (a slower
// sentinel accompanies a slower trial; the reverse is chance), and with enough
// degrees of freedom left to estimate the noise. A sentinel that is pure noise
// passes in one run of two hundred, and even then changes little: the
// familywise error remains the same, as a test here shows by simulation.
type Drift struct {
	// Used: the figures of Compared are adjusted.
	Used bool
	// Reason is why the covariate is not used; empty if it is.
	Reason string
	// Slope with its 95 % interval, and P of none; a slope of 1 means that
	// the trial slows down as much as the sentinel. Known if Tested.
	Slope, Low, High, P float64
	Tested              bool
	// Variance of the noise, of logarithms, without and with the
	// covariate.
	VarianceBefore, VarianceAfter float64
}

const (
	// driftAlpha is the error at which a covariate enters the model.
	driftAlpha = 0.01
	// driftDF is the minimum of degrees of freedom that must remain to
	// estimate the noise.
	driftDF = 4
)

// fit fits the model, with the covariate if that explains noise.
func fit(g grid, sentinel []Sample) (noise, Drift, error) {
	plain := noiseOf(g)
	d := Drift{P: 1, VarianceBefore: plain.blocks.Variance, VarianceAfter: plain.blocks.Variance}
	if sentinel == nil {
		d.Reason = "no sentinel was taken"
		return plain, d, nil
	}
	x, err := g.covariate(sentinel)
	if err != nil {
		return noise{}, Drift{}, err
	}
	if plain.blocks.DF-1 < driftDF {
		d.Reason = "too few trials to distinguish drift from noise"
		return plain, d, nil
	}
	if plain.blocks.Variance < resolution*resolution {
		d.Reason = "there is no noise to explain"
		return plain, d, nil
	}
	ry, _ := g.additive()
	rx, rank := x.additive()
	xx, xy, yy := products(rx, ry)
	if !(xx > 1e-20) {
		d.Reason = "the sentinel did not vary within rounds"
		return plain, d, nil
	}
	df := float64(plain.blocks.DF - 1)
	d.Tested = true
	d.Slope = xy / xx
	rest := math.Max(0, yy-xy*xy/xx)
	d.VarianceAfter = rest / df
	d.P = fTail(xy*xy/xx/d.VarianceAfter, 1, df)
	half := tQuantile(1-(1-Level)/2, df) * math.Sqrt(d.VarianceAfter/xx)
	d.Low, d.High = d.Slope-half, d.Slope+half
	switch {
	case !(d.P < driftAlpha):
		d.Reason = "the sentinel does not explain the noise"
		return plain, d, nil
	case d.Slope <= 0:
		d.Reason = "trials were faster where the sentinel was slower, which is no drift"
		return plain, d, nil
	}
	d.Used = true
	adjusted := noise{grid: g.minus(x, d.Slope), x: x, squares: xx}
	residuals, _ := adjusted.grid.additive()
	adjusted.blocks = blocksOf(residuals, rank+1)
	adjusted.own = moderate(adjusted.blocks)
	return adjusted, d, nil
}

// covariate arranges sentinels like g, as deviations from the mean of their
// round. The deviation of a missing sentinel is 0.
func (g grid) covariate(sentinel []Sample) (grid, error) {
	if len(sentinel) != len(g.cells) {
		return grid{}, fmt.Errorf("sentinels of %d candidates for %d candidates", len(sentinel), len(g.cells))
	}
	x := grid{rounds: g.rounds, cells: make([][]float64, len(g.cells))}
	for i := range x.cells {
		x.cells[i] = make([]float64, len(g.rounds))
	}
	for k, round := range g.rounds {
		sum, m := 0.0, 0.0
		for i, s := range sentinel {
			v, ok := s[round]
			if ok && (math.IsNaN(v) || math.IsInf(v, 0)) {
				return grid{}, fmt.Errorf("sentinel of candidate %d, round %d: %v is not a finite logarithm", i+1, round, v)
			}
			if ok && !math.IsNaN(g.cells[i][k]) {
				sum += v
				m++
			}
		}
		for i, s := range sentinel {
			v, ok := s[round]
			switch {
			case math.IsNaN(g.cells[i][k]):
				x.cells[i][k] = math.NaN()
			case ok:
				x.cells[i][k] = v - sum/m
			}
		}
	}
	return x, nil
}

// minus returns g - slope·x.
func (g grid) minus(x grid, slope float64) grid {
	out := grid{rounds: g.rounds, cells: make([][]float64, len(g.cells))}
	for i, row := range g.cells {
		out.cells[i] = make([]float64, len(row))
		for k, v := range row {
			out.cells[i][k] = v - slope*x.cells[i][k]
		}
	}
	return out
}

// products sums x², x·y and y² over the cells.
func products(x, y [][]float64) (xx, xy, yy float64) {
	for i, row := range x {
		for k, v := range row {
			if w := y[i][k]; !math.IsNaN(v) && !math.IsNaN(w) {
				xx, xy, yy = xx+v*v, xy+v*w, yy+w*w
			}
		}
	}
	return xx, xy, yy
}
