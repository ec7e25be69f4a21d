package workload

import "math"

// steadyWindows is how many consecutive windows must agree: the measurement window of SNIA's Solid
// State Storage Performance Test Specification (2.0.2, 2.2).
const steadyWindows = 5

// Bounds of a steady state, as shares of the mean of those windows. SNIA uses the same: a total
// range of 20 %, and 10 % for the fitted line.
const (
	steadyBand  = 0.10
	steadySlope = 0.10
)

// steady reports whether the speeds of the last windows agree: each is within the band around their
// mean, and the least-squares line through them is flat from end to end. mean is that of the last
// windows; 0 if there are too few.
func steady(speeds []float64) (is bool, mean float64) {
	if len(speeds) < steadyWindows {
		return false, 0
	}
	last := speeds[len(speeds)-steadyWindows:]
	for _, s := range last {
		mean += s / steadyWindows
	}
	if !(mean > 0) {
		return false, 0
	}
	const middle = (steadyWindows - 1) / 2.0
	var rise, spread float64
	for i, s := range last {
		if math.Abs(s-mean) > steadyBand*mean {
			return false, mean
		}
		x := float64(i) - middle
		rise += x * (s - mean)
		spread += x * x
	}
	return math.Abs(rise/spread)*(steadyWindows-1) <= steadySlope*mean, mean
}
