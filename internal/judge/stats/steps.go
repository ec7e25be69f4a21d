package stats

import (
	"fmt"
	"math"
)

// StepNoise is how much values that follow each other differ without a change of their level.
type StepNoise struct {
	sd, df float64
	Known  bool
}

// leastSteps is the least number of values that show their noise.
const leastSteps = 4

// NoiseOfSteps estimates the noise of values in their order, on the log scale, from the median of the
// differences between neighbours: changes of the level, if they are few, have no part in it. For normal
// noise that median is 0.6745·√2 standard deviations. A median is worth 0.37 of a mean square, and
// differences of neighbours two thirds of independent ones, so a quarter of them count as degrees of
// freedom.
func NoiseOfSteps(values []float64) (n StepNoise, err error) {
	var steps []float64
	for i, v := range values {
		if err := positive(v); err != nil {
			return n, fmt.Errorf("value %d: %w", i+1, err)
		}
		if i > 0 {
			steps = append(steps, math.Abs(math.Log(v/values[i-1])))
		}
	}
	if len(values) < leastSteps {
		return n, nil
	}
	middle, err := Median(steps)
	if err != nil {
		return n, err
	}
	return StepNoise{sd: math.Max(middle/(0.6745*math.Sqrt2), resolution), df: math.Max(1, float64(len(steps))/4), Known: true}, nil
}

// P is the probability that a value lies as far from the mean of others by noise alone, where ratio is
// that of the value to their geometric mean and count their number; 1 where the noise is unknown.
func (n StepNoise) P(ratio float64, count int) float64 {
	if !n.Known || count < 1 {
		return 1
	}
	return tTwoSided(math.Log(ratio)/(n.sd*math.Sqrt(1+1/float64(count))), n.df)
}
