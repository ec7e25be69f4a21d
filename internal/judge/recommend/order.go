package recommend

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"whichfs/internal/judge/stats"
	"whichfs/internal/judge/verdict"
)

// draws makes the standard error of a probability at most 0.0025.
const draws = 40_000

// orders answers the question for each use that it allows.
func (d *data) orders(q Question) ([]Order, error) {
	needs := func(name string) bool {
		return slices.ContainsFunc(q.Needs, func(n Need) bool { return n.Name == name })
	}
	var out []Order
	type part struct{ use, only string }
	parts := []part{{"read-write", "read-write"}, {"read-only", "read-only"}}
	switch {
	case needs("read-write"):
		parts = []part{{"read-write", ""}}
	case needs("read-only"):
		parts = []part{{"read-only", ""}}
	case len(q.Weights) > 0 || len(d.pools) == 0:
		parts = []part{{"", ""}}
	}
	for _, p := range parts {
		o, err := d.order(q, p.use, p.only)
		if err != nil {
			return nil, err
		}
		if p.only == "" || len(o.Places)+len(o.Without)+len(o.Excluded) > 0 {
			out = append(out, o)
		}
	}
	return out, nil
}

// order answers for one use; only restricts the candidates to those of a use.
func (d *data) order(q Question, use, only string) (Order, error) {
	o := Order{Use: use, Measured: len(d.pools) > 0, Places: []Place{}}
	list, missing, err := d.weigh(q.Weights)
	if err != nil {
		return o, err
	}
	if len(q.Weights) == 0 {
		list, missing = d.byDefault(use)
	}
	limits, unmeasured, err := d.limits(q.Needs)
	if err != nil {
		return o, err
	}
	o.Missing = append(append(missing, unmeasured...), d.unproven(q.Needs)...)
	s := d.sieve(q.Needs, limits, only)
	o.Excluded = s.excluded
	if len(list) > 0 {
		o.Counted = public(list)
	}
	d.uneven(list)
	sc, err := d.score(s.left, list)
	if err != nil {
		return o, err
	}
	for _, c := range s.left {
		if why, without := sc.without[c.name]; without {
			o.Without = append(o.Without, Absent{Candidate: c.name, Reason: why, Doubt: s.doubts[c.name]})
		}
	}
	if len(sc.names) == 0 {
		o.Answer, o.Settled = d.unordered(o), false
		return o, nil
	}
	if err := sc.settle(d.margin); err != nil {
		return o, err
	}
	if len(sc.names) > 1 {
		// Unknown with one round, or where no round has all candidates.
		if best, err := sc.compared.ProbabilityBest(draws, q.Seed); err == nil {
			sc.best = best
		}
	}
	for _, i := range sc.order {
		o.Places = append(o.Places, sc.place(i, s))
	}
	o.Answer, o.Settled = sc.answer(d, o)
	if !o.Settled {
		o.Further = d.further(sc)
	}
	if o.Changes, err = d.changes(q, use, sc, s); err != nil {
		return o, err
	}
	return o, nil
}

// uneven warns where rounds of one study have no counterpart in another.
func (d *data) uneven(list []counted) {
	least, most := extremes(list)
	if least != nil && least.blocks < most.blocks {
		d.warn(fmt.Sprintf("%s has %d rounds and %s has %d: only the first %d rounds of the former count in the score.",
			most.study.Name, most.blocks, least.study.Name, least.blocks, least.blocks))
	}
}

// extremes finds the pools with the fewest and the most rounds among those that
// count.
func extremes(list []counted) (least, most *pool) {
	for _, m := range list {
		if least == nil || m.pool.blocks < least.blocks {
			least = m.pool
		}
		if most == nil || m.pool.blocks > most.blocks {
			most = m.pool
		}
	}
	return least, most
}

// unordered says why there is no order.
func (d *data) unordered(o Order) string {
	left := len(o.Without)
	switch {
	case left == 0 && len(o.Excluded) > 0:
		return "No candidate meets all needs."
	case left == 0:
		return "There is no candidate."
	case !o.Measured && len(d.faults) > 0:
		return fmt.Sprintf("No speed was measured, so nothing is ordered: according to the facts and the runs of faults, %d %s the needs.", left, verb(left, "candidate meets", "candidates meet"))
	case !o.Measured:
		return fmt.Sprintf("Nothing was measured, so nothing is ordered: according to the facts alone, %d %s the needs.", left, verb(left, "candidate meets", "candidates meet"))
	case len(o.Counted) == 0:
		return fmt.Sprintf("These runs measure nothing that counts, so nothing is ordered: according to the facts alone, %d %s the needs.",
			left, verb(left, "candidate meets", "candidates meet"))
	}
	return "No candidate that meets the needs has all the figures that count."
}

// score holds the candidates that can be ordered, with their figures.
type score struct {
	list    []counted
	total   float64 // of the weights
	names   []string
	samples []stats.Sample
	without map[string]string
	// logs are the mean logarithms of each candidate's figures by measure, over
	// the rounds of its score.
	logs [][]float64

	estimates []stats.Estimate
	compared  stats.Compared
	columns   []stats.Compared // of each measure, over names
	order     []int            // indexes of names, best first
	best      []float64        // probability of each; nil: unknown
}

// score gives each candidate, round by round, the weighted geometric mean of
// its figures. The divisor (the best of each measure) is for the reader and
// cancels in every comparison.
//
// Measures of one pool are paired by round. Where several pools count, the
// first rounds of each are combined, then the second ones, and so on. The
// pairing does not matter, because rounds of different runs are independent,
// and each sum is another draw of the same quantity.
func (d *data) score(left []candidate, list []counted) (*score, error) {
	sc := &score{list: list, without: map[string]string{}}
	for _, c := range list {
		sc.total += c.weight
	}
	for _, c := range left {
		if why := sc.lacking(c.name, d); why != "" {
			sc.without[c.name] = why
			continue
		}
		sample, logs := stats.Sample{}, make([]float64, len(list))
		rounds := common(c.name, list)
		for _, r := range rounds {
			sum := 0.0
			for k, m := range list {
				v := math.Log(m.column.Of[c.name][r])
				sum += m.weight * v
				logs[k] += v / float64(len(rounds))
			}
			sample[r] = sum / sc.total
		}
		if len(rounds) == 0 {
			sc.without[c.name] = "no round has all the figures that count"
			continue
		}
		sc.names, sc.samples, sc.logs = append(sc.names, c.name), append(sc.samples, sample), append(sc.logs, logs)
	}
	least := 0.0
	for k, m := range list {
		best := math.Inf(1)
		for i := range sc.names {
			best = math.Min(best, sc.logs[i][k])
		}
		if len(sc.names) > 0 {
			least += m.weight * best / sc.total
		}
	}
	for _, s := range sc.samples {
		for r, v := range s {
			s[r] = math.Exp(v - least)
		}
	}
	return sc, nil
}

// common are the rounds in which a candidate has a figure for every measure.
func common(name string, list []counted) []int {
	var out []int
	for r := range list[0].column.Of[name] {
		if !slices.ContainsFunc(list[1:], func(m counted) bool { _, ok := m.column.Of[name][r]; return !ok }) {
			out = append(out, r)
		}
	}
	slices.Sort(out)
	return out
}

// lacking says why a candidate cannot be ordered.
func (sc *score) lacking(name string, d *data) string {
	if len(d.pools) == 0 {
		return "not measured"
	}
	if len(sc.list) == 0 {
		return "nothing that counts is measured"
	}
	for _, m := range sc.list {
		if len(m.column.Of[name]) > 0 {
			continue
		}
		why := m.column.Absent[name]
		if why == "" {
			why = m.pool.study.Name + " was not run with it"
		}
		return m.name() + ": " + why
	}
	return ""
}

// settle compares the candidates.
func (sc *score) settle(margin float64) error {
	var err error
	for i, s := range sc.samples {
		e, err := stats.GeoMean(s.Values())
		if err != nil {
			return fmt.Errorf("%s: %w", sc.names[i], err)
		}
		sc.estimates = append(sc.estimates, e)
		sc.order = append(sc.order, i)
	}
	slices.SortStableFunc(sc.order, func(a, b int) int { return cmp.Compare(sc.estimates[a].Value, sc.estimates[b].Value) })
	if sc.compared, err = stats.Compare(sc.samples, margin); err != nil {
		return err
	}
	for _, m := range sc.list {
		var samples []stats.Sample
		for _, name := range sc.names {
			samples = append(samples, m.column.Of[name])
		}
		c, err := stats.Compare(samples, margin)
		if err != nil {
			return fmt.Errorf("%s: %w", m.key, err)
		}
		sc.columns = append(sc.columns, c)
	}
	return nil
}

// place is what reports say about a candidate.
func (sc *score) place(i int, s sieve) Place {
	name := sc.names[i]
	ranks := sc.compared.Ranks()
	p := Place{Candidate: name, Score: finite(verdict.IntervalOf(sc.estimates[i])), RankLow: ranks[i].Low, RankHigh: ranks[i].High,
		Doubt: s.doubts[name], Notes: s.notes[name]}
	if sc.best != nil {
		p.Best, p.HasBest = sc.best[i], true
	}
	for _, j := range sc.order {
		if j != i && sc.outcome(i, j) == stats.Tied {
			p.TiedWith = append(p.TiedWith, sc.names[j])
		}
	}
	all := 0.0
	for k, m := range sc.list {
		best := sc.bestOf(k)
		part := Part{Key: m.key, Ratio: sc.ratio(k, i, best), Share: m.weight * (sc.logs[i][k] - sc.logs[best][k])}
		if e, err := stats.GeoMean(m.column.Of[name].Values()); err == nil {
			part.Estimate = finite(verdict.IntervalOf(e))
		}
		all += part.Share
		p.Parts = append(p.Parts, part)
	}
	for k := range p.Parts {
		if all > 0 {
			p.Parts[k].Share /= all
		}
	}
	p.Why = sc.why(i)
	return p
}

// bestOf is the candidate with the lowest figure of a measure.
func (sc *score) bestOf(k int) int {
	best := 0
	for i := range sc.names {
		if sc.logs[i][k] < sc.logs[best][k] {
			best = i
		}
	}
	return best
}

// ratio of a to b in a measure.
func (sc *score) ratio(k, a, b int) verdict.Interval {
	if a == b {
		return verdict.Interval{Value: 1, Low: 1, High: 1, N: len(sc.list[k].column.Of[sc.names[a]])}
	}
	p, ok := sc.columns[k].Between(a, b)
	if !ok || p.N == 0 {
		v := math.Exp(sc.logs[a][k] - sc.logs[b][k])
		return verdict.Interval{Value: v, Low: v, High: v, Single: true}
	}
	return finite(verdict.Interval{Value: p.Ratio, Low: p.Low, High: p.High, N: p.N})
}

// finite turns an infinite interval into a single figure.
func finite(v verdict.Interval) verdict.Interval {
	if math.IsInf(v.High, 1) || !(v.Low > 0) {
		return verdict.Interval{Value: v.Value, Low: v.Value, High: v.Value, N: v.N, Single: true}
	}
	return v
}

func (sc *score) outcome(a, b int) stats.Outcome {
	p, ok := sc.compared.Between(a, b)
	if !ok {
		return stats.Open
	}
	return p.Outcome
}
