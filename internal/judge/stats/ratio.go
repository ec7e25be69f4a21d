package stats

import (
	"fmt"
	"math"
)

// NearFactor is the factor within which RatioSummary calls figures near.
const NearFactor = 1.5

// RatioSummary compares figures with published ones of the same things: the
// median of the ratios ours/published, on the log scale, and the share of
// ratios within a factor of NearFactor, in either direction.
func RatioSummary(ours, published []float64) (median, near float64, err error) {
	if len(ours) != len(published) {
		return 0, 0, fmt.Errorf("%d figures of ours and %d published", len(ours), len(published))
	}
	logs := make([]float64, len(ours))
	for i := range ours {
		for _, v := range []float64{ours[i], published[i]} {
			if err := positive(v); err != nil {
				return 0, 0, fmt.Errorf("figure %d: %w", i+1, err)
			}
		}
		logs[i] = math.Log(ours[i]) - math.Log(published[i])
		// A ratio of exactly 1.5 is near, however its logarithm is
		// rounded.
		if math.Abs(logs[i]) <= math.Log(NearFactor)*(1+1e-12) {
			near++
		}
	}
	middle, err := Median(logs)
	if err != nil {
		return 0, 0, err
	}
	return math.Exp(middle), near / float64(len(logs)), nil
}
