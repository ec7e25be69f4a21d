package stats

import (
	"fmt"
	"math"
)

// Outcome of comparing two candidates. The zero value is invalid.
type Outcome int

const (
	// Open: the figures show neither a relevant difference nor equality.
	Open Outcome = iota + 1
	// Lower: A's figure is lower than B's, by more than the margin as
	// estimated, and chance is excluded for the whole family of
	// comparisons.
	Lower
	// Higher: the reverse.
	Higher
	// Tied: the 95 % interval of the ratio lies within the margin, so that A
	// and B are equal for practical purposes, significant or not.
	Tied
)

// Pair compares candidates A and B (indexes, A < B) over their common rounds.
type Pair struct {
	A, B int
	N    int // common rounds
	// Ratio of A to B with its 95 % interval; [0, +Inf] if nothing is
	// known. This interval is about this pair alone; it decides ties.
	Ratio, Low, High float64
	// SimLow and SimHigh are 95 % limits that hold for all pairs at once:
	// use them to read several pairs from a table, or to pick the most
	// striking one. They decide nothing here; Adjusted does, which is
	// slightly more powerful for differences but gives no limits.
	SimLow, SimHigh float64
	// Diff is the difference A − B with its 95 % interval, of Differences alone,
	// whose pairs have no Ratio (NaN). Infinite limits: nothing is known.
	Diff, DiffLow, DiffHigh float64
	// P of no difference, raw and after Holm's correction over all pairs.
	P, Adjusted float64
	Outcome     Outcome

	log, variance, df float64 // of one round's difference; df 0: unknown
}

// Compared is the result of Compare.
type Compared struct {
	Pairs  []Pair
	Blocks Blocks
	// Drift says whether and how a sentinel adjusted the figures.
	Drift Drift

	n      int
	margin float64
	noise  noise
}

// Compare compares all candidates pairwise, paired by round, with margin as
// the smallest relevant difference (0.10 is a factor of 1.10).
//
// It judges the noise of a difference twice: by the variance pooled over all
// candidates, and by the two candidates' own variances (see moderate) with
// Satterthwaite's degrees of freedom; the larger p and the wider interval
// count. The pooled variance alone makes a noisy candidate among quiet ones
// look settled (familywise error 20 % instead of 5 in simulation); the own
// variance alone has so few degrees of freedom that three rounds settle
// nothing. Together they keep the error below 5 % for equal and for very
// unequal noise, as a test here shows by simulation.
//
// The simultaneous limits use the studentised range: Tukey's and Kramer's
// (Kramer 1956) for the pooled variance, Games' and Howell's (1976) for the
// candidates' own, whichever is wider. Bonferroni's or Šidák's would hold too,
// but they ignore that all pairs share the same few figures: with ten
// candidates and two degrees of freedom they are three times as wide.
func Compare(samples []Sample, margin float64) (Compared, error) {
	return CompareWith(samples, nil, margin)
}

// CompareWith is Compare with a covariate that explains drift: sentinel holds,
// by candidate and round, the logarithm of the sentinel's time just before
// that trial, larger if the storage was slower (so the logarithm of seconds,
// or of a rate with its sign reversed; the samples, too, must be times or
// otherwise larger if slower). A trial without a sentinel is not adjusted.
// nil: no sentinel was taken.
//
// The covariate is used only if it explains noise; see Drift.
func CompareWith(samples, sentinel []Sample, margin float64) (Compared, error) {
	if err := checkMargin(margin); err != nil {
		return Compared{}, err
	}
	g, err := logGrid(samples)
	if err != nil {
		return Compared{}, err
	}
	return compare(g, sentinel, math.Log1p(margin))
}

// compare compares the rows of a grid, with a margin on its scale.
func compare(g grid, sentinel []Sample, margin float64) (c Compared, err error) {
	c = Compared{n: len(g.cells), margin: margin}
	if c.noise, c.Drift, err = fit(g, sentinel); err != nil {
		return Compared{}, err
	}
	c.Blocks = c.noise.blocks
	pooled := math.NaN()
	if c.Blocks.DF > 0 {
		pooled = tQuantile(1-(1-Level)/2, float64(c.Blocks.DF))
	}
	all := span(max(2, len(c.noise.figured())))
	var ps []float64
	for i := range g.cells {
		for j := i + 1; j < len(g.cells); j++ {
			p := c.noise.pair(i, j, pooled, all)
			c.Pairs = append(c.Pairs, p)
			ps = append(ps, p.P)
		}
	}
	for k, q := range Holm(ps) {
		c.Pairs[k].Adjusted = q
		c.Pairs[k].Outcome = c.decide(c.Pairs[k])
	}
	return c, nil
}

func checkMargin(margin float64) error {
	if math.IsNaN(margin) || margin < 0 || margin > 10 {
		return fmt.Errorf("margin %v is not between 0 and 10", margin)
	}
	return nil
}

// pair compares i with j, with the quantile of Student's t for the pooled
// noise and the range of all candidates; the outcome is decided later.
func (n noise) pair(i, j int, quantile float64, all span) Pair {
	d := n.difference(i, j)
	p := Pair{A: i, B: j, N: d.rounds, P: 1, Ratio: math.NaN(), High: math.Inf(1), SimHigh: math.Inf(1)}
	if d.rounds == 0 {
		return p
	}
	p.log, p.Ratio = d.log, math.Exp(d.log)
	if d.pooledDF == 0 {
		return p
	}
	pooled, own := math.Sqrt(d.pooled), math.Sqrt(d.own)
	p.P = math.Max(tTwoSided(d.log/pooled, d.pooledDF), tTwoSided(d.log/own, d.ownDF))
	wp := quantile * pooled
	wo := tQuantile(1-(1-Level)/2, d.ownDF) * own
	half := math.Max(wp, wo)
	p.Low, p.High = math.Exp(p.log-half), math.Exp(p.log+half)
	p.variance, p.df = d.pooled*float64(d.rounds), d.pooledDF
	if wo > wp {
		p.variance, p.df = d.own*float64(d.rounds), d.ownDF
	}
	wide := math.Max(all.quantile(1-Level, d.pooledDF)*pooled, all.quantile(1-Level, d.ownDF)*own) / math.Sqrt2
	// Except for the rounding of degrees of freedom, two candidates are
	// one pair.
	wide = math.Max(wide, half)
	p.SimLow, p.SimHigh = math.Exp(p.log-wide), math.Exp(p.log+wide)
	return p
}

func (c Compared) decide(p Pair) Outcome {
	if p.df == 0 {
		return Open
	}
	return outcome(p.log, p.Low, p.High, p.Adjusted, c.margin)
}

// outcome of a difference of logarithms with the 95 % limits of its ratio, its
// p adjusted for the family, and the logarithm of the margin.
func outcome(log, low, high, adjusted, margin float64) Outcome {
	switch {
	case math.Log(low) >= -margin && math.Log(high) <= margin:
		return Tied
	case adjusted >= Alpha || math.Abs(log) <= margin:
		return Open
	case log < 0:
		return Lower
	default:
		return Higher
	}
}

// Between returns the comparison of a with b from a's side.
func (c Compared) Between(a, b int) (Pair, bool) {
	for _, p := range c.Pairs {
		switch {
		case p.A == a && p.B == b:
			return p, true
		case p.A == b && p.B == a:
			return p.turned(), true
		}
	}
	return Pair{}, false
}

func (p Pair) turned() Pair {
	t := p
	t.A, t.B, t.log = p.B, p.A, -p.log
	t.Ratio, t.Low, t.High = 1/p.Ratio, 1/p.High, 1/p.Low
	t.SimLow, t.SimHigh = 1/p.SimHigh, 1/p.SimLow
	t.Diff, t.DiffLow, t.DiffHigh = -p.Diff, -p.DiffHigh, -p.DiffLow
	switch p.Outcome {
	case Lower:
		t.Outcome = Higher
	case Higher:
		t.Outcome = Lower
	}
	return t
}

// Range is the ranks that a candidate could have, 1 the lowest figure.
type Range struct{ Low, High int }

// Ranks gives each candidate its range: candidates shown to be better precede
// it, those shown to be worse follow it, all others could be on either side.
func (c Compared) Ranks() []Range {
	out := make([]Range, c.n)
	for i := range out {
		out[i] = Range{1, c.n}
	}
	for _, p := range c.Pairs {
		switch p.Outcome {
		case Lower:
			out[p.A].High--
			out[p.B].Low++
		case Higher:
			out[p.B].High--
			out[p.A].Low++
		}
	}
	return out
}
