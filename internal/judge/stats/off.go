package stats

import (
	"fmt"
	"math"
)

// Off says how far ratios are from 1: the median of |ratio-1|, and the share of ratios with at most
// each of the limits.
func Off(ratios []float64, limits ...float64) (median float64, within []float64, err error) {
	if len(ratios) == 0 {
		return 0, nil, ErrEmpty
	}
	distances := make([]float64, len(ratios))
	within = make([]float64, len(limits))
	for i, r := range ratios {
		if err := positive(r); err != nil {
			return 0, nil, fmt.Errorf("ratio %d: %w", i+1, err)
		}
		distances[i] = math.Abs(r - 1)
		for k, limit := range limits {
			// A ratio at the limit is within it, however it is rounded.
			if distances[i] <= limit+1e-12 {
				within[k]++
			}
		}
	}
	for k := range within {
		within[k] /= float64(len(ratios))
	}
	median, err = Median(distances)
	return median, within, err
}
