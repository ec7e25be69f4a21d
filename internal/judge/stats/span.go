package stats

import (
	"math"
	"sync"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/stat/distuv"
)

// span is the distribution of the range, largest minus smallest, of a number
// of standard normal figures; divided by an estimate of their noise, Tukey's
// studentised range. It covers all pairs of candidates at once.
type span int

// Distributions are stored as tables with their slope and interpolated by
// cubics; with this step that is good to 1e-9. Beyond the end they are 1 to
// within 1e-12, for up to a thousand candidates.
const (
	spanStep  = 1.0 / 32
	spanEnd   = 12.5
	spanLeast = 1e-12
)

type spanTable struct{ value, slope []float64 }

// spanTables and spanQuantiles cache results: the functions are pure, and a
// report repeats the same few calls.
var (
	spanTables    sync.Map // span -> *spanTable
	spanQuantiles sync.Map // quantileKey -> float64
)

type quantileKey struct {
	span
	tail, df float64
}

func (n span) table() *spanTable {
	if t, ok := spanTables.Load(n); ok {
		return t.(*spanTable)
	}
	const points = 96
	largest, weight := make([]float64, points), make([]float64, points)
	quad.Legendre{}.FixedLocations(largest, weight, -8.5, 8.5)
	steps := int(spanEnd/spanStep) + 1
	t := &spanTable{value: make([]float64, steps), slope: make([]float64, steps)}
	m := float64(n)
	for k := range steps {
		at := float64(k) * spanStep
		for p, z := range largest {
			// All others between z-at and z.
			inside := normalCDF(z) - normalCDF(z-at)
			power := m * weight[p] * normal(z) * math.Pow(inside, m-2)
			t.value[k] += power * inside
			t.slope[k] += power * (m - 1) * normal(z-at)
		}
	}
	kept, _ := spanTables.LoadOrStore(n, t)
	return kept.(*spanTable)
}

func (t *spanTable) at(x float64) float64 {
	if x >= spanEnd-spanStep {
		return 1
	}
	k := int(x / spanStep)
	u := x/spanStep - float64(k)
	a, b := t.value[k], t.value[k+1]
	da, db := t.slope[k]*spanStep, t.slope[k+1]*spanStep
	return a + u*(da+u*(3*(b-a)-2*da-db+u*(2*(a-b)+da+db)))
}

// quantile is what the range, divided by an independent estimate of the noise
// with df degrees of freedom, exceeds with the probability tail. df is rounded
// down to an eighth (to a whole from 16 on): the error is a hundredth of the
// quantile at most, on the safe side, and figures need not be recomputed for
// every pair. tail is below one half; df is at least 1.
func (n span) quantile(tail, df float64) float64 {
	switch {
	case df >= 1000:
		df = 1000
	case df >= 16:
		df = math.Floor(df)
	default:
		df = math.Max(1, math.Floor(df*8)/8)
	}
	key := quantileKey{n, tail, df}
	if q, ok := spanQuantiles.Load(key); ok {
		return q.(float64)
	}
	q := n.solve(tail, df)
	spanQuantiles.Store(key, q)
	return q
}

// tail is the probability that the studentised range exceeds q: that of the
// range at q·s, over the distribution of s, where df·s² is chi-squared. The
// integral goes over ln s, in which that distribution has no corner at 0.
func (n span) tail(q, df float64) float64 {
	t := n.table()
	const points = 160
	low, high := scaleRange(df)
	step := (high - low) / points
	half := df / 2
	lg, _ := math.Lgamma(half)
	constant := math.Ln2 + half*math.Log(half) - lg
	sum := 0.0
	for k := range points {
		u := low + (float64(k)+0.5)*step
		density := math.Exp(constant + df*u - half*math.Exp(2*u))
		sum += density * (1 - t.at(q*math.Exp(u)))
	}
	return sum * step
}

// scaleRange contains all of ln s except for about 1e-13. For an analytic
// function that vanishes at both ends the midpoint rule converges faster than
// any power of the step.
func scaleRange(df float64) (low, high float64) {
	spread := 9 / math.Sqrt(2*df)
	return -math.Max(spread, 30/df), math.Min(spread, 2)
}

func (n span) solve(tail, df float64) float64 {
	// The logarithm of the tail is nearly linear in that of q: regula
	// falsi (Illinois) between ends that certainly enclose it.
	// Far out it is rounding, which may be negative.
	f := func(x float64) float64 { return math.Log(max(n.tail(math.Exp(x), df), spanLeast) / tail) }
	a, b := math.Log(0.05), math.Log(4)
	fa, fb := f(a), f(b)
	for fb > 0 && b < 40 {
		a, fa = b, fb
		b += 1
		fb = f(b)
	}
	for range 100 {
		c := (a*fb - b*fa) / (fb - fa)
		fc := f(c)
		if math.Abs(fc) < 1e-11 || math.Abs(b-a) < 1e-12 {
			return math.Exp(c)
		}
		if fc*fb < 0 {
			a, fa = b, fb
		} else {
			fa /= 2
		}
		b, fb = c, fc
	}
	return math.Exp(b)
}

func normal(x float64) float64    { return math.Exp(-x*x/2) / math.Sqrt(2*math.Pi) }
func normalCDF(x float64) float64 { return 0.5 * math.Erfc(-x/math.Sqrt2) }

// fTail is the probability of an F at least as large.
func fTail(f, df1, df2 float64) float64 {
	if math.IsInf(f, 1) {
		return 0
	}
	return distuv.F{D1: df1, D2: df2}.Survival(f)
}
