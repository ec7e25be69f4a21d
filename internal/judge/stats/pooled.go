package stats

import (
	"fmt"
	"math"
)

// PooledRatio estimates the ratio of the geometric means of b over a, with the
// noise of all groups together: a and b may have one value each if other
// groups, taken in the same way, have more. It assumes that the logarithms of
// all groups scatter alike. Single: no group has two values, so the noise is
// unknown.
func PooledRatio(a, b []float64, others ...[]float64) (Estimate, error) {
	ea, err := GeoMean(a)
	if err != nil {
		return Estimate{}, fmt.Errorf("first group: %w", err)
	}
	eb, err := GeoMean(b)
	if err != nil {
		return Estimate{}, fmt.Errorf("second group: %w", err)
	}
	squares, df := 0.0, 0
	for _, group := range append([][]float64{a, b}, others...) {
		if len(group) < 2 {
			continue
		}
		logs := make([]float64, len(group))
		for i, v := range group {
			if err := positive(v); err != nil {
				return Estimate{}, err
			}
			logs[i] = math.Log(v)
		}
		_, variance := meanVariance(logs)
		squares, df = squares+variance*float64(len(group)-1), df+len(group)-1
	}
	e := Estimate{Value: eb.Value / ea.Value, N: min(len(a), len(b))}
	e.Low, e.High, e.Single = e.Value, e.Value, true
	if df == 0 {
		return e, nil
	}
	half := tQuantile(1-(1-Level)/2, float64(df)) * math.Sqrt(squares/float64(df)*(1/float64(len(a))+1/float64(len(b))))
	e.Low, e.High, e.Single = e.Value*math.Exp(-half), e.Value*math.Exp(half), false
	return e, nil
}
