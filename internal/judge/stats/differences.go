package stats

import (
	"fmt"
	"math"
)

// Mean estimates the arithmetic mean of values, which may be 0 or below, by
// Student's t.
func Mean(values []float64) (Estimate, error) {
	if len(values) == 0 {
		return Estimate{}, ErrEmpty
	}
	for i, v := range values {
		if _, err := finite(v); err != nil {
			return Estimate{}, fmt.Errorf("value %d: %w", i+1, err)
		}
	}
	mean, variance := meanVariance(values)
	e := Estimate{Value: mean, Low: mean, High: mean, N: len(values), Single: len(values) == 1}
	if !e.Single {
		half := tQuantile(1-(1-Level)/2, float64(e.N-1)) * math.Sqrt(variance/float64(e.N))
		e.Low, e.High = mean-half, mean+half
	}
	return e, nil
}

// Differences is Compare for figures that may be 0 or below, such as memory
// taken, which have no logarithm and no ratio: it compares candidates by the
// differences of their figures. The margin is a share of the largest mean, in
// absolute value; that is also the scale of the resolution.
func Differences(samples []Sample, margin float64) (Compared, error) {
	if err := checkMargin(margin); err != nil {
		return Compared{}, err
	}
	scale := 0.0
	for _, s := range samples {
		mean, _ := meanVariance(s.Values())
		if len(s) > 0 {
			scale = math.Max(scale, math.Abs(mean))
		}
	}
	if scale == 0 {
		scale = 1
	}
	g, err := gridOf(samples, func(v float64) (float64, error) {
		v, err := finite(v)
		return v / scale, err
	})
	if err != nil {
		return Compared{}, err
	}
	c, err := compare(g, nil, margin)
	if err != nil {
		return Compared{}, err
	}
	for k := range c.Pairs {
		p := &c.Pairs[k]
		p.Diff, p.DiffLow, p.DiffHigh = scale*p.log, scale*math.Log(p.Low), scale*math.Log(p.High)
		p.Ratio, p.Low, p.High, p.SimLow, p.SimHigh = math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN()
	}
	return c, nil
}

func finite(v float64) (float64, error) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return v, fmt.Errorf("%v is not a finite number", v)
	}
	return v, nil
}
