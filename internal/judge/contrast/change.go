package contrast

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"whichfs/internal/judge/stats"
	"whichfs/internal/judge/verdict"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
)

// columns compares every figure that both runs have.
func (c *Contrast) columns(a, b verdict.Judged, common []string) error {
	var main, further []*welched
	lacks := lackedBy
	if c.Prediction != nil {
		lacks = foundOnly
	}
	// By the virtual clock the shortest phase is exact.
	exact := c.Prediction != nil || a.Verdict.Run.Virtual()
	for _, x := range a.Columns {
		i := slices.IndexFunc(b.Columns, func(s verdict.Sampled) bool { return s.Key == x.Key })
		if x.Level || i < 0 {
			continue
		}
		col, list, err := column(x, b.Columns[i], common, lacks, exact)
		if err != nil {
			return fmt.Errorf("%s: %w", x.Name, err)
		}
		if len(list) == 0 {
			continue
		}
		if c.Prediction != nil {
			if err := errors.Join(col.order(), col.apart(b.Columns[i])); err != nil {
				return fmt.Errorf("%s: %w", x.Name, err)
			}
		}
		if x.Extra {
			c.Extra, further = append(c.Extra, col), append(further, list...)
		} else {
			c.Columns, main = append(c.Columns, col), append(main, list...)
		}
	}
	c.Family, c.Further = decide(c.Columns, main, c.Margin), decide(c.Extra, further, c.Margin)
	return nil
}

// welched is a comparison of a family and the place for its result.
type welched struct {
	stats.Welch
	candidate, key string
}

// shortest is what a phase must take in one of two runs to be compared, in seconds: below it, the
// scheduler and the interrupts of the machine are a large part of what is timed.
const shortest = 1e-3

// tooShort reports whether all figures of a phase are below that.
func tooShort(unit string, figures ...[]float64) bool {
	return unit == "s" && !slices.ContainsFunc(slices.Concat(figures...), func(x float64) bool { return x >= shortest })
}

func column(a, b verdict.Sampled, common []string, lacks [2]string, exact bool) (Column, []*welched, error) {
	col := Column{Key: a.Key, Name: a.Name, Unit: a.Unit, About: a.About}
	var family []*welched
	var both []string
	for _, name := range common {
		ch := Change{Candidate: name}
		switch {
		case len(a.Of[name]) == 0 && len(b.Of[name]) == 0:
			ch.Absent = a.Absent[name]
		case len(a.Of[name]) == 0:
			ch.Absent = lacks[0] + a.Absent[name]
		case len(b.Of[name]) == 0:
			ch.Absent = lacks[1] + b.Absent[name]
		case !exact && tooShort(a.Unit, a.Of[name].Values(), b.Of[name].Values()):
			ch.Absent = "less than 1 ms in both runs, which is too short to compare"
		default:
			w, err := compared(&ch, a.Of[name].Values(), b.Of[name].Values())
			if err != nil {
				return col, nil, fmt.Errorf("%s: %w", name, err)
			}
			family = append(family, &welched{w, name, a.Key})
			both = append(both, name)
		}
		col.Rows = append(col.Rows, ch)
	}
	if len(both) > 1 {
		x, y := together(a, both), together(b, both)
		if len(x) == 0 || len(y) == 0 {
			col.All.Absent = "no round has a figure for every candidate"
			return col, family, nil
		}
		w, err := compared(&col.All, x, y)
		if err != nil {
			return col, nil, err
		}
		family = append(family, &welched{w, "", a.Key})
	} else if len(both) == 1 {
		col.All.Absent = "there is only one candidate"
	}
	return col, family, nil
}

// compared fills in a change.
func compared(ch *Change, a, b []float64) (stats.Welch, error) {
	x, err := stats.GeoMean(a)
	if err != nil {
		return stats.Welch{}, err
	}
	y, err := stats.GeoMean(b)
	if err != nil {
		return stats.Welch{}, err
	}
	w, err := stats.Unpaired(a, b)
	if err != nil {
		return w, err
	}
	ch.A, ch.B = verdict.IntervalOf(x), verdict.IntervalOf(y)
	ch.Ratio = verdict.Interval{Value: w.Ratio, Low: w.Ratio, High: w.Ratio, N: min(x.N, y.N), Single: true}
	if w.Known {
		ch.Ratio = verdict.Interval{Value: w.Ratio, Low: w.Low, High: w.High, N: min(x.N, y.N)}.Finite()
	}
	return w, nil
}

// together is the geometric mean of all candidates, for each round that has
// them all.
func together(s verdict.Sampled, names []string) []float64 {
	var rounds []int
	for r := range s.Of[names[0]] {
		rounds = append(rounds, r)
	}
	slices.Sort(rounds)
	var out []float64
next:
	for _, r := range rounds {
		sum := 0.0
		for _, n := range names {
			v, ok := s.Of[n][r]
			if !ok {
				continue next
			}
			sum += math.Log(v)
		}
		out = append(out, math.Exp(sum/float64(len(names))))
	}
	return out
}

// decide corrects a family for its size and fills in the outcomes. It returns
// the number of comparisons.
func decide(columns []Column, family []*welched, margin float64) int {
	ps := make([]float64, len(family))
	for i, w := range family {
		ps[i] = w.P
	}
	m := math.Log1p(margin)
	for i, q := range stats.Holm(ps) {
		w := family[i]
		at := slices.IndexFunc(columns, func(c Column) bool { return c.Key == w.key })
		ch := &columns[at].All
		if w.candidate != "" {
			k := slices.IndexFunc(columns[at].Rows, func(c Change) bool { return c.Candidate == w.candidate })
			ch = &columns[at].Rows[k]
		}
		ch.P, ch.Adjusted, ch.Outcome = w.P, q, Open
		if !w.Known {
			continue
		}
		if low, high := w.Limits(len(family)); low > 0 && !math.IsInf(high, 1) {
			ch.SimLow, ch.SimHigh = low, high
		}
		log := math.Log(w.Ratio)
		switch {
		case math.Log(w.Low) >= -m && math.Log(w.High) <= m:
			ch.Outcome = Same
		case q >= stats.Alpha || math.Abs(log) <= m:
		case log < 0:
			ch.Outcome = Lower
		default:
			ch.Outcome = Higher
		}
	}
	return len(family)
}

// orders compares the answers of both runs.
func (c *Contrast) orders(a, b verdict.Verdict) {
	for _, u := range a.Uses {
		i := slices.IndexFunc(b.Uses, func(o verdict.Use) bool { return o.Name == u.Name })
		if i < 0 || len(u.Ranks) == 0 || len(b.Uses[i].Ranks) == 0 {
			continue
		}
		v := b.Uses[i]
		c.Orders = append(c.Orders, Order{Use: u.Name, A: first(u), B: first(v), Same: u.Ranks[0].Candidate == v.Ranks[0].Candidate, Settled: u.Settled && v.Settled})
	}
}

func first(u verdict.Use) string {
	text := u.Ranks[0].Candidate
	if tied := u.Ranks[0].TiedWith; len(tied) > 0 {
		text += ", equal to " + strings.Join(tied, ", ")
	}
	if !u.Settled {
		text += " (not settled)"
	}
	return text
}

// warn adds the caveats.
func (c *Contrast) warn(a, b verdict.Judged) {
	say := func(format string, args ...any) { c.Warnings = append(c.Warnings, fmt.Sprintf(format, args...)) }
	if len(c.About) > 1 {
		say("%s differ: no change can be attributed to one of them alone.", capital(units.List(c.About, len(c.About))))
	}
	for _, s := range []verdict.Judged{a, b} {
		r := s.Verdict.Run
		if r.State != result.Finished {
			say("Run %s is not finished.", r.ID)
		}
		if s.Verdict.Trials.Done > 0 && most(s) < 2 {
			say("Run %s has only one round, which does not show its noise: comparisons with it settle nothing.", r.ID)
		}
	}
	if len(c.About) == 0 {
		say("No condition that matters is known to differ, except the time of the runs: any change is noise, drift, or something that is not recorded.")
	}
}

// most is the largest number of rounds of any candidate.
func most(s verdict.Judged) int {
	n := 0
	for _, c := range s.Columns {
		for _, sample := range c.Of {
			n = max(n, len(sample))
		}
	}
	return n
}

// answer summarises the study's columns.
func (c *Contrast) answer() {
	count := map[Outcome]int{}
	var largest *Change
	var where Column
	for _, col := range c.Columns {
		for i, ch := range col.Rows {
			if ch.Absent != "" {
				continue
			}
			count[ch.Outcome]++
			if changed(ch) && (largest == nil || math.Abs(math.Log(ch.Ratio.Value)) > math.Abs(math.Log(largest.Ratio.Value))) {
				largest, where = &col.Rows[i], col
			}
		}
	}
	total := count[Higher] + count[Lower] + count[Same] + count[Open]
	with := "Of"
	if len(c.About) > 0 {
		with = "With a different " + units.List(c.About, len(c.About)) + ", of"
	}
	moved := fmt.Sprintf("%d higher and %d lower", count[Higher], count[Lower])
	if count[Higher]+count[Lower] == 0 {
		moved = "none higher or lower"
	}
	c.Answer = append(c.Answer, fmt.Sprintf("%s %d figures: %s beyond chance and by more than %s, %d shown to be the same within that, %d open.",
		with, total, moved, units.Share(c.Margin), count[Same], count[Open]))
	if largest != nil {
		c.Answer = append(c.Answer, fmt.Sprintf("The largest change: %s of %s, from %s to %s, %s.", where.Name, largest.Candidate,
			units.Interval(largest.A.Value, largest.A.Low, largest.A.High, where.Unit), units.Interval(largest.B.Value, largest.B.Low, largest.B.High, where.Unit), ratioText(largest.Ratio)))
	}
	var whole []string
	for _, col := range c.Columns {
		if changed(col.All) {
			whole = append(whole, fmt.Sprintf("%s %s", col.Name, ratioText(col.All.Ratio)))
		}
	}
	if len(whole) > 0 {
		c.Answer = append(c.Answer, "All candidates together: "+units.List(whole, len(whole))+".")
	}
	for _, o := range c.Orders {
		if !o.Same && o.Settled {
			c.Answer = append(c.Answer, fmt.Sprintf("For %s work a different candidate is first: %s before, %s after.", o.Use, o.A, o.B))
		}
	}
}

func changed(c Change) bool { return c.Outcome == Higher || c.Outcome == Lower }

func ratioText(v verdict.Interval) string {
	if v.Single {
		return units.Ratio(v.Value)
	}
	return units.RatioInterval(v.Value, v.Low, v.High)
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
