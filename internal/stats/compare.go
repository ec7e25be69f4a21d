package stats

import (
	"fmt"
	"math"
)

// Outcome of comparing two candidates. The zero value is invalid.
type Outcome int

const (
	// Open: neither a difference that matters nor equality is shown.
	Open Outcome = iota + 1
	// Lower: A's figure is lower than B's, by more than the margin as
	// estimated, and chance is ruled out for the whole family of comparisons.
	Lower
	// Higher: the same the other way round.
	Higher
	// Tied: the 95 % interval of the ratio lies within the margin, so that A
	// and B are equal for practical purposes, significant or not.
	Tied
)

// Pair compares candidates A and B (indexes, A < B) over the rounds that both
// have.
type Pair struct {
	A, B int
	N    int // rounds that both have
	// Ratio of A to B with its 95 % interval; [0, +Inf] where nothing can be
	// said.
	Ratio, Low, High float64
	// P of no difference, and after Holm's correction over all pairs.
	P, Adjusted float64
	Outcome     Outcome

	log, variance, df float64 // of one round's difference; df 0: unknown
}

// Compared is the result of Compare.
type Compared struct {
	Pairs  []Pair
	Blocks Blocks
	n      int
	margin float64
}

// Compare compares all candidates pairwise, paired by round, with margin as
// the smallest difference of interest (0.10 is a factor of 1.10).
//
// The noise of a difference is judged twice. Once by the variance pooled over
// all candidates, and once by the two candidates' own variances (see moderate)
// with Satterthwaite's degrees of freedom; the larger p and the wider interval
// count. Pooled alone lets a noisy candidate among quiet ones look settled
// (familywise error 20 % instead of 5 in simulation); the own variance alone
// has so few degrees of freedom that three rounds settle nothing. Together
// they keep the error below 5 % for equal and for very unequal noise, as a
// test here shows by simulation.
func Compare(samples []Sample, margin float64) (Compared, error) {
	if math.IsNaN(margin) || margin < 0 || margin > 10 {
		return Compared{}, fmt.Errorf("margin %v is not between 0 and 10", margin)
	}
	b, err := FitBlocks(samples)
	if err != nil {
		return Compared{}, err
	}
	c := Compared{Blocks: b, n: len(samples), margin: math.Log1p(margin)}
	own := moderate(b)
	pooled := math.NaN()
	if b.DF > 0 {
		pooled = tQuantile(1-(1-Level)/2, float64(b.DF))
	}
	var ps []float64
	for i := range samples {
		for j := i + 1; j < len(samples); j++ {
			p := pair(samples, i, j, b, own, pooled)
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

func pair(samples []Sample, i, j int, b Blocks, own []moderated, pooledQuantile float64) Pair {
	p := Pair{A: i, B: j, P: 1, Ratio: math.NaN(), Low: 0, High: math.Inf(1)}
	sum := 0.0
	for _, r := range sortedKeys(samples[i]) {
		if v, ok := samples[j][r]; ok {
			sum += math.Log(samples[i][r]) - math.Log(v)
			p.N++
		}
	}
	if p.N == 0 {
		return p
	}
	p.log = sum / float64(p.N)
	p.Ratio = math.Exp(p.log)
	if p.N < 2 || b.DF == 0 {
		return p
	}
	m := float64(p.N)
	pooled, pooledDF := 2*math.Max(b.Variance, resolution*resolution), float64(b.DF)
	vi, vj := own[i], own[j]
	v := vi.variance + vj.variance
	df := v * v / (vi.variance*vi.variance/vi.df + vj.variance*vj.variance/vj.df)
	df = math.Min(df, pooledDF)
	pp := tTwoSided(p.log/math.Sqrt(pooled/m), pooledDF)
	po := tTwoSided(p.log/math.Sqrt(v/m), df)
	p.P = math.Max(pp, po)
	wp := pooledQuantile * math.Sqrt(pooled/m)
	wo := tQuantile(1-(1-Level)/2, df) * math.Sqrt(v/m)
	half := math.Max(wp, wo)
	p.Low, p.High = math.Exp(p.log-half), math.Exp(p.log+half)
	p.variance, p.df = pooled, pooledDF
	if wo > wp {
		p.variance, p.df = v, df
	}
	return p
}

func (c Compared) decide(p Pair) Outcome {
	if p.df == 0 {
		return Open
	}
	switch {
	case math.Log(p.Low) >= -c.margin && math.Log(p.High) <= c.margin:
		return Tied
	case p.Adjusted >= Alpha || math.Abs(p.log) <= c.margin:
		return Open
	case p.log < 0:
		return Lower
	default:
		return Higher
	}
}

// Between returns the comparison of a with b seen from a.
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

// Ranks gives each candidate its range: those shown to be better stand before
// it, those shown to be worse behind it, all others could be on either side.
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
