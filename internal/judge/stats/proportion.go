package stats

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mathext"
)

// Proportion is how often something happened in independent trials, with exact
// limits of how often it would happen in the long run.
type Proportion struct {
	Hits, N   int
	Value     float64 // Hits / N
	Low, High float64
}

// Binomial returns hits of n with the limits of Clopper and Pearson (1934),
// which are exact. Between the ends it is the two-sided 95 % interval. For
// none of n only the upper limit can err, and for n of n only the lower one,
// so there it is the one-sided 95 % limit: 1 − 0.05^(1/n), which is 13.9 % for
// none of 20. Each limit by itself is wrong in 5 % of runs at most; both
// together in 7.5 % at most, and in less than 5 % unless the share is so near
// 0 or 1 that none or all is a likely result.
func Binomial(hits, n int) (Proportion, error) {
	if n <= 0 {
		return Proportion{}, ErrEmpty
	}
	if hits < 0 || hits > n {
		return Proportion{}, fmt.Errorf("%d of %d is not a proportion", hits, n)
	}
	p := Proportion{Hits: hits, N: n, Value: float64(hits) / float64(n), High: 1}
	k, m := float64(hits), float64(n)
	switch tail := (1 - Level) / 2; hits {
	case 0:
		p.High = -math.Expm1(math.Log(1-Level) / m)
	case n:
		p.Low = math.Exp(math.Log(1-Level) / m)
	default:
		// P(X ≥ k) is the incomplete beta function of (k, n−k+1) at the share.
		p.Low = betaQuantile(k, m-k+1, tail)
		p.High = betaQuantile(k+1, m-k, 1-tail)
	}
	return p, nil
}

// betaQuantile inverts the regularised incomplete beta function, which grows
// from 0 to 1, by bisection: sixty steps reach the last digit of a double, and
// convergence is certain.
func betaQuantile(a, b, p float64) float64 {
	low, high := 0.0, 1.0
	for range 64 {
		mid := (low + high) / 2
		if mathext.RegIncBeta(a, b, mid) < p {
			low = mid
		} else {
			high = mid
		}
	}
	return (low + high) / 2
}

// Fourfold is one table of two candidates: hits and trials of each.
type Fourfold struct{ HitsA, NA, HitsB, NB int }

// Exact is the p of no difference between A and B over all tables, two-sided:
// Fisher's exact test for one of them; for several its conditional form (Cox
// 1970), which compares A with B only within a table, so that tables with
// other shares, or with other numbers of trials, do not mislead. Tables
// without trials of both carry no information; if none remain p is 1.
func Exact(tables []Fourfold) (float64, error) {
	logs, observed := []float64{0}, 0
	for _, t := range tables {
		if t.HitsA < 0 || t.HitsB < 0 || t.HitsA > t.NA || t.HitsB > t.NB {
			return 0, fmt.Errorf("%d of %d against %d of %d is not a table", t.HitsA, t.NA, t.HitsB, t.NB)
		}
		if t.NA == 0 || t.NB == 0 {
			continue
		}
		own, low := hypergeometric(t)
		logs = convolve(logs, own)
		observed += t.HitsA - low
	}
	// Two-sided: everything that is no likelier than the observation; the
	// small addition forgives rounding between equals.
	p, limit := 0.0, logs[observed]+1e-7
	for _, l := range logs {
		if l <= limit {
			p += math.Exp(l)
		}
	}
	return math.Min(1, p), nil
}

// hypergeometric is the logarithm of the probability of each number of A's
// hits, given all hits of the table, from the least, low, on.
func hypergeometric(t Fourfold) (logs []float64, low int) {
	hits := t.HitsA + t.HitsB
	low = max(0, hits-t.NB)
	for k := low; k <= min(hits, t.NA); k++ {
		logs = append(logs, choose(t.NA, k)+choose(t.NB, hits-k)-choose(t.NA+t.NB, hits))
	}
	return logs, low
}

// choose is the logarithm of a binomial coefficient.
func choose(n, k int) float64 {
	gamma := func(x int) float64 {
		l, _ := math.Lgamma(float64(x) + 1)
		return l
	}
	return gamma(n) - gamma(k) - gamma(n-k)
}

// convolve returns the logarithms of the distribution of a sum.
func convolve(a, b []float64) []float64 {
	out := make([]float64, len(a)+len(b)-1)
	for i := range out {
		top := math.Inf(-1)
		for j := max(0, i-len(b)+1); j <= min(i, len(a)-1); j++ {
			top = math.Max(top, a[j]+b[i-j])
		}
		sum := 0.0
		for j := max(0, i-len(b)+1); j <= min(i, len(a)-1); j++ {
			sum += math.Exp(a[j] + b[i-j] - top)
		}
		out[i] = top + math.Log(sum)
	}
	return out
}
