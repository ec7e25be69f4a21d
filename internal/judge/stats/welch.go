package stats

import (
	"fmt"
	"math"
)

// Welch is the comparison of two independent groups of values: they share no
// round, no order, and perhaps not even their noise.
type Welch struct {
	// Ratio of the second group's geometric mean to the first's with its
	// 95 % interval; [0, +Inf] if a group has only one value.
	Ratio, Low, High float64
	// P of no difference; 1 if nothing is known.
	P float64
	// Known is false if a group has only one value, which does not reveal
	// its noise.
	Known bool

	log, error, df float64
}

// Unpaired compares two groups on the log scale by Welch's test (1947), with
// Satterthwaite's degrees of freedom. Figures that repeat to the last digit
// count as known to one part in ten thousand.
func Unpaired(before, after []float64) (Welch, error) {
	w := Welch{Ratio: math.NaN(), High: math.Inf(1), P: 1}
	var means, variances, sizes [2]float64
	for g, values := range [][]float64{before, after} {
		if len(values) == 0 {
			return w, fmt.Errorf("group %d: %w", g+1, ErrEmpty)
		}
		logs := make([]float64, len(values))
		for i, v := range values {
			if err := positive(v); err != nil {
				return w, fmt.Errorf("group %d, value %d: %w", g+1, i+1, err)
			}
			logs[i] = math.Log(v)
		}
		means[g], variances[g] = meanVariance(logs)
		variances[g] = math.Max(variances[g], resolution*resolution)
		sizes[g] = float64(len(values))
	}
	w.log = means[1] - means[0]
	w.Ratio = math.Exp(w.log)
	if sizes[0] < 2 || sizes[1] < 2 {
		return w, nil
	}
	a, b := variances[0]/sizes[0], variances[1]/sizes[1]
	w.error = math.Sqrt(a + b)
	w.df = (a + b) * (a + b) / (a*a/(sizes[0]-1) + b*b/(sizes[1]-1))
	w.Known = true
	w.P = tTwoSided(w.log/w.error, w.df)
	w.Low, w.High = w.Limits(1)
	return w, nil
}

// Limits returns limits of the ratio that hold with 95 % for family
// comparisons at once (Bonferroni); family 1 is the interval of this one
// alone.
func (w Welch) Limits(family int) (low, high float64) {
	if !w.Known {
		return 0, math.Inf(1)
	}
	half := tQuantile(1-(1-Level)/2/float64(max(1, family)), w.df) * w.error
	return math.Exp(w.log - half), math.Exp(w.log + half)
}
