package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"whichfs/internal/judge/stats"
	"whichfs/internal/plan/study"
	"whichfs/internal/sys/units"
)

// column is one measure with its statistics, over the candidates that have it.
type column struct {
	def      study.Column
	names    []string // candidates with figures, in plan order
	samples  []stats.Sample
	estimate []stats.Estimate
	compared stats.Compared
	// additive: a figure is 0 or below, so that candidates are compared by the
	// differences of their figures, which have no ratios.
	additive bool
	sentinel string // metric of the raw work it may be adjusted for
	absent   map[string]string
	doubts   map[string]stats.Sample // by candidate and round; see subject.doubts
}

func (f *figures) column(def study.Column) (*column, error) {
	c := f.sampled(def)
	c.sentinel = f.sentinel(c)
	if err := c.compute(f.margin, f.sentinels(c.names, c.sentinel)...); err != nil {
		return nil, fmt.Errorf("column %s: %w", def.Key, err)
	}
	return c, nil
}

// sampled is a column before anything is computed from it.
func (f *figures) sampled(def study.Column) *column {
	c := &column{def: def, absent: map[string]string{}}
	for _, s := range f.subjects {
		sample, why := s.sums(def)
		if why != "" {
			c.absent[s.Name] = why
			continue
		}
		c.add(s.Name, sample)
		c.doubted(s.Name, s.doubts(def))
	}
	return c
}

func (c *column) add(name string, s stats.Sample) {
	c.names, c.samples = append(c.names, name), append(c.samples, s)
	for _, v := range s {
		c.additive = c.additive || v <= 0
	}
}

// compute fills in everything that follows from the samples; sentinels, if any,
// are of the candidates, in their order.
func (c *column) compute(margin float64, sentinels ...stats.Sample) (err error) {
	if err := c.estimates(); err != nil {
		return err
	}
	if c.additive {
		c.compared, err = stats.Differences(c.samples, margin)
	} else {
		c.compared, err = stats.CompareWith(c.samples, sentinels, margin)
	}
	if err != nil {
		return err
	}
	c.widen()
	return nil
}

// estimates fills in everything that a column has before its candidates are
// compared.
func (c *column) estimates() error {
	c.estimate = nil
	mean := stats.GeoMean
	if c.additive {
		mean = stats.Mean
	}
	for i, s := range c.samples {
		e, err := mean(s.Values())
		if err != nil {
			return fmt.Errorf("%s: %w", c.names[i], err)
		}
		if !e.Single {
			e.Low *= math.Exp(-c.doubt(c.names[i]))
		}
		c.estimate = append(c.estimate, e)
	}
	return nil
}

func (c *column) index(name string) int { return slices.Index(c.names, name) }

func (c *column) has(name string) bool { return c.index(name) >= 0 }

// value is the estimate of a candidate, which must be in the column.
func (c *column) value(name string) Interval { return c.interval(c.index(name)) }

func (c *column) interval(i int) Interval {
	if e := c.estimate[i]; c.additive {
		return Interval{Value: e.Value, Low: e.Low, High: e.High, N: e.N, Single: e.Single}
	}
	return IntervalOf(c.estimate[i])
}

// pair compares two candidates, seen from a.
func (c *column) pair(a, b string) stats.Pair {
	p, ok := c.compared.Between(c.index(a), c.index(b))
	if !ok {
		return stats.Pair{Ratio: 1, Low: 0, High: math.Inf(1), Outcome: stats.Open}
	}
	return p
}

// needed is how many more rounds would settle two candidates.
func (c *column) needed(a, b string) (int, bool) {
	return c.compared.Needed(c.index(a), c.index(b))
}

// order lists the candidates, lowest estimate first.
func (c *column) order() []string {
	names := slices.Clone(c.names)
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Compare(c.estimate[c.index(a)].Value, c.estimate[c.index(b)].Value)
	})
	return names
}

func (c *column) tied(name string) []string {
	var out []string
	for _, other := range c.order() {
		if other != name && c.pair(name, other).Outcome == stats.Tied {
			out = append(out, other)
		}
	}
	return out
}

// public is the column as reports show it.
func (c *column) public(subjects []*subject) Column {
	out := Column{Key: c.def.Key, Name: c.def.Name, Unit: c.def.Unit, About: c.def.About, Uses: c.def.Uses, Additive: c.additive}
	bySubject := map[string]*subject{}
	for _, s := range subjects {
		bySubject[s.Name] = s
	}
	order := c.order()
	ranks := c.compared.Ranks()
	for _, name := range order {
		i := c.index(name)
		cell := Cell{
			Candidate: name,
			Estimate:  c.interval(i),
			RankLow:   ranks[i].Low,
			RankHigh:  ranks[i].High,
			TiedWith:  c.tied(name),
		}
		for _, d := range c.doubts[name] {
			cell.Waited = math.Max(cell.Waited, 1-math.Exp(-d))
		}
		if c.additive {
			d := c.difference(name, order[0])
			cell.Difference = &d
			out.Cells = append(out.Cells, cell)
			continue
		}
		cell.Ratio = c.ratio(name, order[0])
		if s := bySubject[name]; s != nil {
			cell.Rate = s.rate(c.def, cell.Estimate)
		}
		if cell.Rate != nil {
			out.RateUnit, out.Per = rateUnit(c.def.Per), c.def.Per
		}
		worst := c.estimate[c.index(order[len(order)-1])].Value / c.estimate[c.index(order[0])].Value
		cell.Grade = grade(cell.Estimate.Value/c.estimate[c.index(order[0])].Value, worst, c.def.Key == "boot")
		out.Cells = append(out.Cells, cell)
	}
	for _, s := range subjects {
		if why, ok := c.absent[s.Name]; ok {
			out.Cells = append(out.Cells, Cell{Candidate: s.Name, Absent: why})
		}
	}
	return out
}

// ratio to the best, with an interval where there is one.
func (c *column) ratio(name, best string) Interval {
	if name == best {
		return Interval{Value: 1, Low: 1, High: 1, N: len(c.samples[c.index(name)])}
	}
	p := c.pair(name, best)
	if p.N == 0 {
		v := c.value(name).Value / c.value(best).Value
		return Interval{Value: v, Low: v, High: v, Single: true}
	}
	if math.IsInf(p.High, 1) || p.Low == 0 {
		return Interval{Value: p.Ratio, Low: p.Ratio, High: p.Ratio, N: p.N, Single: true}
	}
	return Interval{Value: p.Ratio, Low: p.Low, High: p.High, N: p.N}
}

// difference from another candidate, with an interval where there is one.
func (c *column) difference(name, from string) Interval {
	if name == from {
		return Interval{N: len(c.samples[c.index(name)])}
	}
	p := c.pair(name, from)
	if p.N == 0 {
		v := c.value(name).Value - c.value(from).Value
		return Interval{Value: v, Low: v, High: v, Single: true}
	}
	if math.IsInf(p.DiffHigh, 1) || math.IsInf(p.DiffLow, -1) {
		return Interval{Value: p.Diff, Low: p.Diff, High: p.Diff, N: p.N, Single: true}
	}
	return Interval{Value: p.Diff, Low: p.DiffLow, High: p.DiffHigh, N: p.N}
}

// beside says how a candidate's figure compares with another's, which is named
// in the text before.
func (c *column) beside(name, other string) string {
	if c.additive {
		d := c.difference(name, other)
		return "which differs by " + units.Interval(d.Value, d.Low, d.High, c.def.Unit)
	}
	return "which is " + ratioText(c.pair(name, other)) + " of it"
}

// IntervalOf is an estimate with its interval. An estimate with an infinite
// interval, from two figures far apart, becomes a single figure.
func IntervalOf(e stats.Estimate) Interval {
	return Interval{Value: e.Value, Low: e.Low, High: e.High, N: e.N, Single: e.Single}.Finite()
}

// Finite is the interval, or a single figure where the interval is infinite.
func (v Interval) Finite() Interval {
	if math.IsInf(v.High, 1) || !(v.Low > 0) {
		return Interval{Value: v.Value, Low: v.Value, High: v.Value, N: v.N, Single: true}
	}
	return v
}

// grade presents a ratio to the best. The range from the best to the worst of
// the column, on a logarithmic scale, is divided into equal parts; where the
// worst is less than twice the best, twice the best replaces it, so that a
// column without large differences has no "worst". Anything within 2 % of the
// best is also "best". "Excellent" is used for boot time only, up to a quarter
// above the best.
func grade(ratio, worst float64, boot bool) Grade {
	place := math.Log(ratio) / math.Log(math.Max(worst, 2))
	switch {
	case ratio <= 1.02:
		return Best
	case boot && ratio <= 1.25:
		return Excellent
	case place <= 0.20:
		return VeryGood
	case place <= 0.40:
		return Good
	case place <= 0.60:
		return Average
	case place <= 0.80:
		return Fair
	case place < 0.999:
		return Bad
	default:
		return Worst
	}
}
