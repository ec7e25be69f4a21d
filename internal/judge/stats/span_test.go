package stats

import (
	"math"
	"testing"
)

// However many candidates there are and however little noise, the quantile has its tail: from 50
// candidates on, the end of the search is where the tail is nothing but rounding.
func TestSpanQuantile(t *testing.T) {
	for _, df := range []float64{8, 88, 176, 1000} {
		last := 0.0
		for _, n := range []span{2, 10, 45, 49, 50, 53, 64, 200} {
			q := n.quantile(0.05, df)
			if tail := n.tail(q, df); math.Abs(tail-0.05) > 1e-9 || q <= last {
				t.Errorf("%d candidates, %g degrees of freedom: %g exceeds it with probability %g", n, df, q, tail)
			}
			last = q
		}
	}
}
