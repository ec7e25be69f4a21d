package workload

import "math"

// steadyWindows is how many windows in a row must agree: the measurement window
// of SNIA's Solid State Storage Performance Test Specification (2.0.2, 2.2).
const steadyWindows = 5

// Bounds of a steady state, as shares of the mean of those windows. SNIA has
// the same: a range of 20 % in all, and 10 % for the line fitted through them.
const (
	steadyBand  = 0.10
	steadySlope = 0.10
)

// steady reports whether the last windows' speeds agree: each within the band
// around their mean, and the least-squares line through them, from its one end
// to the other, flat. mean is that of the last windows; 0 without enough.
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
