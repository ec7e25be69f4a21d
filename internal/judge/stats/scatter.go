package stats

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// Scatter is how much single figures differ from round to round: the standard
// deviation of their logarithms, pooled over several samples, on which its
// degrees of freedom depend. It assumes that logarithms are normally
// distributed.
type Scatter struct {
	Value float64
	DF    int // 0: no sample has two figures
}

// ScatterOf pools samples, each of figures above zero of the same thing.
func ScatterOf(samples ...Sample) Scatter {
	sum, df := 0.0, 0
	for _, s := range samples {
		values := s.Values()
		mean := 0.0
		for _, v := range values {
			mean += math.Log(v) / float64(len(values))
		}
		for _, v := range values {
			sum += (math.Log(v) - mean) * (math.Log(v) - mean)
		}
		df += max(0, len(values)-1)
	}
	if df == 0 {
		return Scatter{}
	}
	return Scatter{math.Sqrt(sum / float64(df)), df}
}

// Limits are the 95 % limits, from the distribution of chi-square.
func (s Scatter) Limits() (low, high float64) {
	df, tail := float64(s.DF), (1-Level)/2
	return s.Value * math.Sqrt(df/chiSquare(1-tail, df)), s.Value * math.Sqrt(df/chiSquare(tail, df))
}

// Over is the ratio to another scatter, which must be above zero, with its 95 %
// limits from the distribution of F.
func (s Scatter) Over(other Scatter) (ratio, low, high float64) {
	a, b, tail := float64(s.DF), float64(other.DF), (1-Level)/2
	ratio = s.Value / other.Value
	return ratio, ratio / math.Sqrt(fQuantile(1-tail, a, b)), ratio / math.Sqrt(fQuantile(tail, a, b))
}

func chiSquare(p, df float64) float64 { return 2 * mathext.GammaIncRegInv(df/2, p) }

// fQuantile follows from the quantile of the beta distribution.
func fQuantile(p, a, b float64) float64 {
	x := betaQuantile(a/2, b/2, p)
	return b * x / (a * (1 - x))
}
