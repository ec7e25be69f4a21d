package verdict

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"whichfs/internal/judge/stats"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
)

// use computes the overall order of the candidates of one use. there is false
// where the run has no candidate for it.
func (f *figures) use(name string) (u Use, there bool, err error) {
	u = Use{Name: name}
	var names []string
	planned := 0
	for _, s := range f.subjects {
		if s.Imaged != (name == "read-only") {
			continue
		}
		planned++
		if s.Done > 0 {
			names = append(names, s.Name)
		}
	}
	if planned == 0 {
		return u, false, nil
	}
	if len(names) == 0 {
		u.Answer = fmt.Sprintf("No answer for %s work: no trial of any of its %s counts.", name, units.Count(planned, "candidate"))
		return u, true, nil
	}
	score, used, rule := f.score(name, names)
	u.Rule = rule
	if len(used) == 0 {
		u.Answer = fmt.Sprintf("No answer for %s work: no measure has a figure for all of its candidates.", name)
		return u, true, nil
	}
	if err := f.compareScore(score); err != nil {
		return u, true, err
	}
	f.scores = append(f.scores, score)
	ranks := score.compared.Ranks()
	for _, n := range score.order() {
		i := score.index(n)
		u.Ranks = append(u.Ranks, Place{
			Candidate: n, Score: IntervalOf(score.estimate[i]),
			RankLow: ranks[i].Low, RankHigh: ranks[i].High, TiedWith: score.tied(n),
		})
	}
	f.answer(&u, score)
	f.stopped(&u, score)
	if len(score.names) > 1 {
		u.Reasons = f.reasons(score.order(), used)
		if text := f.fragile(score.order(), ranks, score); text != "" {
			if f.run.Counts() {
				text = strings.Replace(text, "Speed", "Processor cost", 1)
			}
			u.Reasons = append(u.Reasons, text)
		}
		if f.run.Emulated && f.run.ClockName() == result.ClockWall && name == "read-only" {
			u.Reasons = append(u.Reasons, "Emulation makes decompression several times too slow, by a factor that differs between methods: the order on hardware may differ.")
		}
	}
	return u, true, nil
}

// compareScore compares an overall order, adjusted for both kinds of raw work
// before each trial, because the order includes both.
func (f *figures) compareScore(score *column) (err error) {
	if err := score.estimates(); err != nil {
		return err
	}
	read, write := f.sentinels(score.names, result.SentinelRead), f.sentinels(score.names, result.SentinelWrite)
	var both []stats.Sample
	for i := range min(len(read), len(write)) {
		sample := stats.Sample{}
		for r, v := range write[i] {
			if w, ok := read[i][r]; ok {
				sample[r] = (v + w) / 2
			}
		}
		both = append(both, sample)
	}
	if score.compared, err = stats.CompareWith(score.samples, both, f.margin); err != nil {
		return err
	}
	score.widen()
	return nil
}

// fragile names the candidates that could be first and keep neither a journal
// nor old copies of overwritten data: the order covers only speed and space.
func (f *figures) fragile(order []string, ranks []stats.Range, score *column) string {
	var names []string
	for _, n := range order {
		c := f.byName[n].Parsed
		if ranks[score.index(n)].Low > 1 {
			continue
		}
		if c.Filesystem().Facts.Design == "plain" || strings.Contains(strings.Join(c.Make(), " "), "^has_journal") {
			names = append(names, n)
		}
	}
	if len(names) == 0 {
		return ""
	}
	keep, need := "keeps", "needs"
	if len(names) > 1 {
		keep, need = "keep", "need"
	}
	return fmt.Sprintf("Only speed and space are compared here: %s %s no journal, %s a full check after a power loss, and may lose more than the last writes.",
		units.List(names, 4), keep, need)
}

// noRatios is why a column has no part in an order of ratios.
const noRatios = "figures of 0 and below have no ratio"

// score gives each candidate, round by round, the geometric mean of its ratios
// to the best candidate's estimate, over the columns that all candidates have.
// Dividing by the best is for the reader: the divisor is the same for all
// candidates of a column and cancels in every comparison.
func (f *figures) score(use string, names []string) (score *column, used []*column, rule string) {
	var left []string
	for _, def := range f.study.Columns {
		if !slices.Contains(def.Uses, use) {
			continue
		}
		c := f.columns[def.Key]
		if c.additive {
			left = append(left, fmt.Sprintf("%s (%s)", def.Name, noRatios))
			continue
		}
		var without []string
		for _, n := range names {
			if !c.has(n) {
				without = append(without, n)
			}
		}
		if len(without) > 0 {
			left = append(left, fmt.Sprintf("%s (no figure for %s)", def.Name, units.List(without, 3)))
			continue
		}
		used = append(used, c)
	}
	var titles []string
	for _, c := range used {
		titles = append(titles, c.def.Name)
	}
	if len(used) > 0 {
		rule = fmt.Sprintf("Ordered by the geometric mean of the ratios to the best %s candidate over %s; all have equal weight, "+
			"and candidates are compared round by round.", use, units.List(titles, len(titles)))
	}
	if len(left) > 0 {
		rule = strings.TrimSpace(rule + " Not counted: " + strings.Join(left, "; ") + ".")
	}
	return f.product(used, names), used, rule
}

// geometric is one candidate's geometric mean over columns, for each round that
// has all of them, with each column divided by the best estimate of names.
func geometric(columns []*column, names []string, name string) stats.Sample {
	sum, have := map[int]float64{}, map[int]int{}
	for _, c := range columns {
		best := math.Inf(1)
		for _, other := range names {
			best = math.Min(best, c.value(other).Value)
		}
		for r, v := range c.samples[c.index(name)] {
			sum[r] += math.Log(v / best)
			have[r]++
		}
	}
	s := stats.Sample{}
	for r, total := range sum {
		if have[r] == len(columns) {
			s[r] = math.Exp(total / float64(len(columns)))
		}
	}
	return s
}

// answer writes the recommendation, and claims only what is settled.
func (f *figures) answer(u *Use, score *column) {
	order := score.order()
	if len(order) == 0 {
		u.Answer = fmt.Sprintf("No answer for %s work: no round has all the figures.", u.Name)
		return
	}
	first := order[0]
	if len(order) == 1 {
		u.Answer = fmt.Sprintf("%s is the only %s candidate with figures: there is nothing to compare it with.", first, u.Name)
		return
	}
	var equal, open, behind []string
	for _, n := range order[1:] {
		switch score.pair(first, n).Outcome {
		case stats.Tied:
			equal = append(equal, n)
		case stats.Lower:
			behind = append(behind, n)
		default:
			open = append(open, n)
			u.Unsettled = append(u.Unsettled, f.open(score, first, n))
		}
	}
	within := units.Share(f.margin)
	at := func(n string) string { return units.Ratio(score.value(n).Value) }
	switch {
	case len(open) > 0:
		u.Needed, _ = needed(score, first, open)
		u.Answer = fmt.Sprintf("Not settled for %s work between %s: %s is ahead as measured, its figures averaging %s the best; %s follows with %s; %s.",
			u.Name, units.List(append([]string{first}, open...), 4), first, at(first), open[0], at(open[0]), f.whenSettled(score, first, open))
	case len(behind) == 0:
		u.Settled = true
		u.Answer = fmt.Sprintf("For %s work there is no difference that matters here: %s are equal within %s.",
			u.Name, units.List(order, 6), within)
	case len(equal) > 0:
		u.Settled = true
		u.Answer = fmt.Sprintf("%s is best for %s work here, together with %s (equal within %s): its figures average %s the best; %s follows with %s.",
			first, u.Name, units.List(equal, 4), within, at(first), behind[0], at(behind[0]))
	default:
		u.Settled = true
		u.Answer = fmt.Sprintf("%s is best for %s work here: its figures average %s the best; %s follows with %s.",
			first, u.Name, at(first), behind[0], at(behind[0]))
	}
}

// stopped writes the answer of a run that stopped because its questions were
// settled: the looks after every round decide, and share one error.
func (f *figures) stopped(u *Use, score *column) {
	if f.settling == nil {
		return
	}
	at := slices.IndexFunc(f.settling.Questions, func(q Question) bool { return q.Name == u.Name })
	if at < 0 || !f.settling.Questions[at].Settled || len(score.names) < 2 {
		return
	}
	q := f.settling.Questions[at]
	u.Settled, u.Unsettled, u.Needed = true, nil, 0
	together := ""
	if len(q.Tied) > 0 {
		together = ", together with " + units.List(q.Tied, 4)
	}
	u.Answer = fmt.Sprintf("%s is best for %s work here%s: %s, shown after %d of at most %s.",
		q.Best, u.Name, together, q.Reason, f.settling.Look, units.Count(f.settling.Most, "round"))
	for _, n := range score.order() {
		if n != q.Best && !slices.Contains(q.Tied, n) {
			u.Answer += fmt.Sprintf(" %s follows, averaging %s the best, against %s.", n, units.Ratio(score.value(n).Value), units.Ratio(score.value(q.Best).Value))
			return
		}
	}
}

// open says what is not settled between two candidates.
func (f *figures) open(c *column, first, other string) string {
	p := c.pair(other, first)
	text := fmt.Sprintf("%s against %s: ", first, other)
	if p.N == 0 {
		return text + "no round has both."
	}
	if math.IsInf(p.High, 1) || p.Low <= 0 {
		rounds := "one round shows no noise"
		if max(len(c.samples[c.index(first)]), len(c.samples[c.index(other)])) > 1 {
			rounds = "only one round has both, which shows no noise"
		}
		return text + fmt.Sprintf("%s measured %s of %s, and %s; run at least two more rounds.", other, units.Ratio(p.Ratio), first, rounds)
	}
	return text + fmt.Sprintf("%s is at %s of %s; %s.", other, units.RatioInterval(p.Ratio, p.Low, p.High), first, f.whenSettled(c, first, []string{other}))
}

// whenSettled says how many more rounds would settle first against all others.
func (f *figures) whenSettled(c *column, first string, others []string) string {
	switch n, known := needed(c, first, others); {
	case !known:
		return "at least two more rounds are needed to measure the noise"
	case n == 0:
		return "no reasonable number of rounds would settle it with this much noise"
	case n == 1:
		return "about one more round would settle it"
	default:
		return fmt.Sprintf("about %d more rounds would settle it", n)
	}
}

// needed is how many more rounds would settle first against all others; 0: no reasonable number. Where the noise
// is not known, it is the least that shows it.
func needed(c *column, first string, others []string) (rounds int, known bool) {
	for _, o := range others {
		n, ok := c.needed(first, o)
		if !ok {
			return 2, false
		}
		rounds = max(rounds, n)
	}
	if rounds > 100 {
		return 0, true
	}
	return rounds, true
}
