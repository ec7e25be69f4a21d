package stats

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// moderated is a candidate's noise variance after borrowing information from
// the others.
type moderated struct {
	variance float64
	df       float64
}

// moderate shrinks the candidates' own variances, which rest on one or two
// degrees of freedom less than there were rounds, towards what is typical of
// all of them. The strength follows from how much the variances differ beyond
// chance: similar candidates share their noise, dissimilar ones keep their own
// (Smyth 2004, "Linear models and empirical Bayes methods", section 6). A
// variance never shrinks below its own estimate: then it keeps its own few
// degrees of freedom, so that a noisy candidate among quiet ones does not look
// settled.
func moderate(b Blocks) []moderated {
	floor := resolution * resolution
	var logs []float64
	var dfs []int
	sum, weight := 0.0, 0.0
	for i, v := range b.Own {
		if b.OwnDF[i] == 0 {
			continue
		}
		v = math.Max(v, floor)
		logs = append(logs, math.Log(v))
		dfs = append(dfs, b.OwnDF[i])
		sum += v * float64(b.OwnDF[i])
		weight += float64(b.OwnDF[i])
	}
	out := make([]moderated, len(b.Own))
	if weight == 0 || b.DF == 0 {
		return out
	}
	prior, typical := spread(logs, dfs)
	if math.IsInf(prior, 1) {
		typical = sum / weight
	}
	for i, v := range b.Own {
		d := float64(b.OwnDF[i])
		v = math.Max(v, floor)
		m := moderated{variance: typical, df: float64(b.DF)}
		if !math.IsInf(prior, 1) {
			m.variance = (prior*typical + d*v) / (prior + d)
			m.df = math.Min(prior+d, float64(b.DF))
		}
		if d > 0 && v > m.variance {
			m = moderated{variance: v, df: d}
		}
		out[i] = m
	}
	return out
}

// spread fits a scaled inverse chi-square prior to variances with the given
// logarithms: its degrees of freedom (+Inf: they differ no more than by
// chance) and its scale. Moments of log variances: E = ln s₀² + ψ(d/2) -
// ln(d/2) - ψ(d₀/2) + ln(d₀/2), Var = ψ'(d/2) + ψ'(d₀/2).
func spread(logs []float64, dfs []int) (prior, scale float64) {
	if len(logs) < 3 {
		return math.Inf(1), math.NaN()
	}
	e := make([]float64, len(logs))
	chance := 0.0
	for i, z := range logs {
		half := float64(dfs[i]) / 2
		e[i] = z - mathext.Digamma(half) + math.Log(half)
		chance += trigamma(half)
	}
	mean, variance := meanVariance(e)
	beyond := variance - chance/float64(len(logs))
	if beyond <= 0 {
		return math.Inf(1), math.Exp(mean)
	}
	prior = 2 * trigammaInverse(beyond)
	return prior, math.Exp(mean + mathext.Digamma(prior/2) - math.Log(prior/2))
}

// trigamma is the second derivative of ln Γ, the Hurwitz zeta function ζ(2, x).
func trigamma(x float64) float64 { return mathext.Zeta(2, x) }

// trigammaInverse solves trigamma(y) = x by Newton's method on 1/trigamma,
// which is nearly linear (Smyth 2004, appendix).
func trigammaInverse(x float64) float64 {
	switch {
	case x > 1e7:
		return 1 / math.Sqrt(x)
	case x < 1e-6:
		return 1 / x
	}
	y := 0.5 + 1/x
	for range 60 {
		t := trigamma(y)
		tetra := -2 * mathext.Zeta(3, y)
		step := t * (1 - t/x) / tetra
		y += step
		if math.Abs(step) < 1e-12*y {
			break
		}
	}
	return y
}
