package stats

import (
	"math"
	"sort"
)

// Holm adjusts p values for multiple comparisons (Holm 1979): rejecting those
// below the familywise error keeps that error. It does not change its input;
// values that are not probabilities count as 1.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	clean := make([]float64, len(p))
	for i, v := range p {
		order[i] = i
		if math.IsNaN(v) || v < 0 || v > 1 {
			v = 1
		}
		clean[i] = v
	}
	sort.SliceStable(order, func(a, b int) bool { return clean[order[a]] < clean[order[b]] })
	out := make([]float64, len(p))
	highest := 0.0
	for k, i := range order {
		highest = math.Max(highest, math.Min(1, float64(len(p)-k)*clean[i]))
		out[i] = highest
	}
	return out
}
