package stats

import (
	"fmt"
	"math"
)

// Cell is one figure of a factorial experiment: a candidate at a level of a
// factor in a round. Level 0 is the reference.
type Cell struct {
	Candidate, Level, Round int
	Value                   float64
}

// Effect is the effect of a level relative to the reference.
type Effect struct {
	// Candidate is -1 for the effect pooled over all candidates.
	Candidate, Level int
	// N counts the rounds of candidates that have both the level and the
	// reference.
	N int
	// Ratio of the level to the reference with its 95 % interval, which is
	// about this effect alone and decides ties; [0, +Inf] if nothing is
	// known.
	Ratio, Low, High float64
	// SimLow and SimHigh hold for the whole family at once with 95 %: the
	// pooled effects are one family, the candidates' own effects another.
	SimLow, SimHigh float64
	// P of no effect, raw and after Holm's correction over the family.
	P, Adjusted float64
	Outcome     Outcome
	// Reason is why there is no figure; then Ratio is NaN.
	Reason string
}

// Interaction tests whether the effects of the levels differ between
// candidates. If they do, a pooled effect is an average that need not hold for
// any of them: read the candidates' own.
type Interaction struct {
	// Tested is false if a single candidate, or a single round, leaves
	// nothing to test; Reason says which.
	Tested   bool
	Reason   string
	F        float64
	DF1, DF2 int
	// P of effects that are the same for all: the larger of the plain F
	// test and one with degrees of freedom for unequal noise of the
	// candidates (Box 1954). With noise that differs fifteenfold between
	// candidates it is below 5 % by chance in 7 % of experiments.
	P float64
	// Differs: P is below 5 %.
	Differs bool
}

// Factorial is the result of Effects.
type Factorial struct {
	Pooled []Effect // by level, from 1
	Own    []Effect // by candidate, then level
	Interaction
	// Variance of the noise of logarithms: of the model with one effect for
	// all candidates, and of the one with an effect for each.
	PooledVariance, OwnVariance float64
	PooledDF, OwnDF             int
}

// Effects estimates the effects of one factor's levels, on the log scale,
// paired by candidate and round: the differences between candidates and
// between rounds cancel, and so does a candidate's performance in a round.
// Cells may be missing. Candidates and levels range from 0 to the largest that
// occurs; if one has no figures its effects say so.
//
// The model of the pooled effects is log value = candidate·round + level +
// noise, that of the candidates' own log value = candidate·round +
// candidate·level + noise. As in Compare the noise is judged twice, and the
// wider interval counts: for a candidate's own effect by the noise pooled over
// all candidates and by its own, moderated; for a pooled effect by that noise
// and by the spread of the level's differences themselves, which includes how
// candidates differ. The simultaneous limits are Šidák's (1967): effects share
// their reference, unevenly if cells are missing, and his inequality holds
// whatever the correlation.
func Effects(cells []Cell, margin float64) (Factorial, error) {
	if err := checkMargin(margin); err != nil {
		return Factorial{}, err
	}
	f, err := newFactor(cells)
	if err != nil {
		return Factorial{}, err
	}
	var out Factorial
	f.fit(&out)
	for l := 1; l < f.levels; l++ {
		out.Pooled = append(out.Pooled, f.pooled(l, out))
	}
	for i := range f.own {
		for l := 1; l < f.levels; l++ {
			out.Own = append(out.Own, f.single(i, l, out))
		}
	}
	for _, family := range [][]Effect{out.Pooled, out.Own} {
		settle(family, math.Log1p(margin))
	}
	return out, nil
}

// factor is a factorial experiment in grids whose rows are levels and whose
// columns are rounds: one grid per candidate, and one with all of them side by
// side.
type factor struct {
	levels int
	own    []grid
	all    grid
	// blocks is the noise of the model with own effects, by candidate, and
	// noise the same, moderated.
	blocks Blocks
	noise  []moderated
}

func newFactor(cells []Cell) (*factor, error) {
	f := &factor{levels: 1}
	candidates := 0
	for _, c := range cells {
		if c.Candidate < 0 || c.Level < 0 {
			return nil, fmt.Errorf("candidate %d, level %d: numbers start at 0", c.Candidate, c.Level)
		}
		if c.Candidate >= mostNumbers || c.Level >= mostNumbers {
			return nil, fmt.Errorf("candidate %d, level %d: numbers go up to %d", c.Candidate, c.Level, mostNumbers-1)
		}
		if err := positive(c.Value); err != nil {
			return nil, fmt.Errorf("candidate %d, level %d, round %d: %w", c.Candidate, c.Level, c.Round, err)
		}
		candidates, f.levels = max(candidates, c.Candidate+1), max(f.levels, c.Level+1)
	}
	samples := make([][]Sample, candidates) // candidate, level
	for i := range samples {
		samples[i] = make([]Sample, f.levels)
		for l := range samples[i] {
			samples[i][l] = Sample{}
		}
	}
	for _, c := range cells {
		s := samples[c.Candidate][c.Level]
		if _, twice := s[c.Round]; twice {
			return nil, fmt.Errorf("candidate %d, level %d, round %d: two figures", c.Candidate, c.Level, c.Round)
		}
		s[c.Round] = c.Value
	}
	f.all.cells = make([][]float64, f.levels)
	for i := range samples {
		g, err := logGrid(samples[i])
		if err != nil {
			return nil, err
		}
		f.own = append(f.own, g)
		f.all.rounds = append(f.all.rounds, g.rounds...)
		for l := range g.cells {
			f.all.cells[l] = append(f.all.cells[l], g.cells[l]...)
		}
	}
	return f, nil
}

// mostNumbers limits the numbers of candidates and levels: a wrong one must
// not exhaust memory.
const mostNumbers = 1000

// fit fits both models and tests the interaction.
func (f *factor) fit(out *Factorial) {
	residuals, rank := f.all.additive()
	rest, cells := squares(residuals)
	out.PooledDF = cells - rank
	if out.PooledDF > 0 {
		out.PooledVariance = rest / float64(out.PooledDF)
	}
	total := 0.0
	for _, g := range f.own {
		residuals, rank := g.additive()
		rest, cells := squares(residuals)
		df, v := cells-rank, 0.0
		if df > 0 {
			v = rest / float64(df)
		}
		f.blocks.Own, f.blocks.OwnDF = append(f.blocks.Own, v), append(f.blocks.OwnDF, df)
		f.blocks.DF += df
		total += rest
	}
	if f.blocks.DF > 0 {
		f.blocks.Variance = total / float64(f.blocks.DF)
	}
	f.noise = moderate(f.blocks)
	out.OwnVariance, out.OwnDF = f.blocks.Variance, f.blocks.DF
	out.Interaction = f.interaction(rest-total, out.PooledDF-f.blocks.DF)
}

// squares sums the squares of the figures and counts them.
func squares(rows [][]float64) (sum float64, cells int) {
	for _, row := range rows {
		m, s := count(row)
		sum, cells = sum+s, cells+m
	}
	return sum, cells
}

// interaction tests the sum of squares that the candidates' own effects
// explain beyond common ones.
func (f *factor) interaction(explained float64, df int) Interaction {
	own := f.blocks
	t := Interaction{P: 1, DF1: df, DF2: own.DF, F: math.NaN()}
	switch {
	case df == 0:
		t.Reason = "fewer than two candidates have figures at a level and the reference"
		return t
	case own.DF == 0:
		t.Reason = "the noise is unknown: two rounds are needed"
		return t
	}
	t.Tested = true
	t.F = math.Max(0, explained) / float64(df) / math.Max(own.Variance, resolution*resolution)
	t.P = fTail(t.F, float64(df), float64(own.DF))
	// Box (1954): with variances vᵢ both mean squares are sums of
	// differently scaled chi-squares; each is treated as one chi-square of
	// the same mean and variance. The candidates' effects are assumed to
	// be equally well known.
	var sum, sum2, n float64
	for i, v := range own.Own {
		if own.OwnDF[i] > 0 {
			v = math.Max(v, resolution*resolution)
			n, sum, sum2 = n+1, sum+v, sum2+v*v
		}
	}
	if n >= 2 {
		trace := (1 - 1/n) * sum
		trace2 := (1-2/n)*sum2 + sum*sum/(n*n)
		df1 := float64(df) / (n - 1) * trace * trace / trace2
		mean, df2 := f.residual()
		t.P = math.Max(t.P, fTail(t.F*mean/(trace/(n-1)), df1, df2))
	}
	t.Differs = t.P < Alpha
	return t
}

// residual is the mean variance of the residuals of the model with own
// effects, and its degrees of freedom after Satterthwaite, which candidates
// that are much noisier than the others dominate.
func (f *factor) residual() (mean, df float64) {
	var sum, sum2 float64
	for i, v := range f.blocks.Own {
		v = math.Max(v, resolution*resolution)
		d := float64(f.blocks.OwnDF[i])
		sum, sum2 = sum+d*v, sum2+d*v*v
	}
	return sum / float64(f.blocks.DF), sum * sum / sum2
}
