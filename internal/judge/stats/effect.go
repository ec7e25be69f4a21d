package stats

import "math"

// contrast returns the difference of row l from row 0 in the additive model,
// and its variance in units of the noise's; ok is false if no chain of columns
// connects the two.
func (g grid) contrast(l int) (log, factor float64, ok bool) {
	a, b, _ := g.reduced()
	n := len(b)
	kept := append([]float64(nil), a...)
	effects, _ := semidefinite(a, b)
	c := make([]float64, n)
	c[l], c[0] = 1, -1
	z, _ := semidefinite(append([]float64(nil), kept...), c)
	for i := range n {
		sum := 0.0
		for j := range n {
			sum += kept[i*n+j] * z[j]
		}
		if math.Abs(sum-c[i]) > 1e-6 {
			return 0, 0, false
		}
	}
	return effects[l] - effects[0], z[l] - z[0], true
}

// paired counts the columns that have rows l and 0.
func (g grid) paired(l int) int {
	n := 0
	for k, v := range g.cells[0] {
		if !math.IsNaN(v) && !math.IsNaN(g.cells[l][k]) {
			n++
		}
	}
	return n
}

// absent says why a grid does not determine the effect of l; empty if it does.
func (g grid) absent(l int) string {
	reference, _ := count(g.cells[0])
	level, _ := count(g.cells[l])
	switch {
	case reference == 0:
		return "no figures at the reference"
	case level == 0:
		return "no figures at this level"
	case g.paired(l) == 0:
		return "no round has both this level and the reference"
	}
	return ""
}

func effectOf(g grid, candidate, l int) (e Effect, log, factor float64) {
	e = Effect{Candidate: candidate, Level: l, N: g.paired(l), Ratio: math.NaN(), High: math.Inf(1), SimHigh: math.Inf(1), P: 1}
	if e.Reason = g.absent(l); e.Reason != "" {
		return e, 0, 0
	}
	log, factor, _ = g.contrast(l) // a column with both connects them
	e.Ratio = math.Exp(log)
	return e, log, factor
}

// pooled is the effect of level l over all candidates.
func (f *factor) pooled(l int, out Factorial) Effect {
	e, log, factor := effectOf(f.all, -1, l)
	if e.Reason != "" || out.OwnDF == 0 || e.N < 2 {
		return e
	}
	_, df := f.residual()
	var differences []float64
	for k, v := range f.all.cells[0] {
		if d := f.all.cells[l][k] - v; !math.IsNaN(d) {
			differences = append(differences, d)
		}
	}
	_, spread := meanVariance(differences)
	e.limits(log, known(f.all, f.levels),
		deviation{math.Sqrt(math.Max(out.OwnVariance, resolution*resolution) * factor), df},
		deviation{math.Sqrt(math.Max(spread, resolution*resolution) / float64(e.N)), float64(e.N - 1)})
	return e
}

// single is the effect of level l on candidate i.
func (f *factor) single(i, l int, out Factorial) Effect {
	e, log, factor := effectOf(f.own[i], i, l)
	if e.Reason != "" || out.OwnDF == 0 || e.N < 2 {
		return e // one round does not reveal this candidate's noise
	}
	family := 0
	for _, g := range f.own {
		family += known(g, f.levels)
	}
	pooled := math.Max(out.OwnVariance, resolution*resolution) * factor
	own := f.noise[i].variance * factor
	e.limits(log, family, deviation{math.Sqrt(pooled), float64(out.OwnDF)}, deviation{math.Sqrt(own), f.noise[i].df})
	return e
}

// known counts the levels whose effect a grid determines.
func known(g grid, levels int) int {
	n := 0
	for l := 1; l < levels; l++ {
		if g.absent(l) == "" {
			n++
		}
	}
	return n
}

// deviation is a standard error with its degrees of freedom.
type deviation struct{ se, df float64 }

// limits sets p and both intervals by the least favourable deviation; family
// is how many effects the simultaneous interval must cover.
func (e *Effect) limits(log float64, family int, ds ...deviation) {
	e.P = 0
	alone, together := 0.0, 0.0
	for _, d := range ds {
		e.P = math.Max(e.P, tTwoSided(log/d.se, d.df))
		alone = math.Max(alone, tQuantile(1-(1-Level)/2, d.df)*d.se)
		together = math.Max(together, tQuantile(1-sidak(1-Level, family)/2, d.df)*d.se)
	}
	e.Low, e.High = math.Exp(log-alone), math.Exp(log+alone)
	e.SimLow, e.SimHigh = math.Exp(log-together), math.Exp(log+together)
}

// sidak is the error of each of m statements that together keep the error
// alpha.
func sidak(alpha float64, m int) float64 { return -math.Expm1(math.Log1p(-alpha) / float64(m)) }

// settle corrects the p of a family and decides the outcomes.
func settle(family []Effect, margin float64) {
	var ps []float64
	var at []int
	for k := range family {
		family[k].Adjusted, family[k].Outcome = 1, Open
		if !math.IsInf(family[k].High, 1) {
			ps, at = append(ps, family[k].P), append(at, k)
		}
	}
	for k, q := range Holm(ps) {
		e := &family[at[k]]
		e.Adjusted = q
		e.Outcome = outcome(math.Log(e.Ratio), e.Low, e.High, q, margin)
	}
}
