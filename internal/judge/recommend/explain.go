package recommend

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"whichfs/internal/judge/stats"
	"whichfs/internal/judge/verdict"
	"whichfs/internal/sys/units"
)

// answer names the best candidate, and claims only what is settled.
func (sc *score) answer(d *data, o Order) (text string, settled bool) {
	first := sc.order[0]
	name := sc.names[first]
	doubt := doubted(o.Places[0])
	if len(sc.order) == 1 {
		why := "no other candidate meets the needs"
		if len(o.Without) > 0 {
			why = "no other candidate that meets the needs has all the figures that count"
		} else if len(o.Excluded) == 0 {
			why = "there is nothing to compare it with"
		}
		return fmt.Sprintf("%s is the only candidate left: %s.%s", name, why, doubt), len(o.Excluded) > 0 && len(o.Without) == 0
	}
	r := sc.rivals(first)
	at := func(name string) string {
		return units.Ratio(sc.estimates[slices.Index(sc.names, name)].Value) + " the best on the weighted average"
	}
	within := units.Share(d.margin)
	if len(r.open) > 0 {
		text = fmt.Sprintf("Not settled between %s: %s is ahead as measured, with %s; %s follows with %s.",
			units.List(append([]string{name}, r.open...), 4), name, at(name), r.open[0], units.Ratio(sc.estimates[slices.Index(sc.names, r.open[0])].Value))
		if len(r.open) == r.beyond {
			text = fmt.Sprintf("%s is ahead of %s beyond chance, with %s, but perhaps by less than the %s that matters.", name, units.List(r.open, 3), at(name), within)
		}
		if len(r.equal) > 0 {
			text += fmt.Sprintf(" %s %s equal to it within %s.", units.List(r.equal, 4), verb(len(r.equal), "is", "are"), within)
		}
		if sc.best != nil {
			text += fmt.Sprintf(" %s is best with a probability of %s.", name, Probability(sc.best[first]))
		}
		return text + doubt, false
	}
	follows := ""
	if len(r.behind) > 0 {
		follows = fmt.Sprintf("%s; %s follows with %s.", at(name), r.behind[0], units.Ratio(sc.estimates[slices.Index(sc.names, r.behind[0])].Value))
	}
	switch {
	case len(r.behind) == 0:
		text = fmt.Sprintf("There is no difference that matters: %s are equal within %s.", units.List(append([]string{name}, r.equal...), 6), within)
	case len(r.equal) > 1:
		text = fmt.Sprintf("Take %s, or one of %s, which are equal to it within %s: %s", name, units.List(r.equal, 4), within, follows)
	case len(r.equal) == 1:
		text = fmt.Sprintf("Take %s, or %s, which is equal to it within %s: %s", name, r.equal[0], within, follows)
	default:
		text = fmt.Sprintf("Take %s: %s", name, follows)
	}
	return text + doubt, true
}

// rivals groups the other candidates by how they compare with one.
type rivals struct {
	equal, open, behind []string
	beyond              int // those of open with chance ruled out, but no difference that matters shown
}

func (sc *score) rivals(first int) (r rivals) {
	for _, j := range sc.order[1:] {
		p, _ := sc.compared.Between(first, j)
		switch sc.outcome(first, j) {
		case stats.Tied:
			r.equal = append(r.equal, sc.names[j])
		case stats.Lower:
			r.behind = append(r.behind, sc.names[j])
		default:
			r.open = append(r.open, sc.names[j])
			if p.N > 1 && p.Adjusted < stats.Alpha {
				r.beyond++
			}
		}
	}
	return r
}

// doubted lists the limits that the first candidate is not shown to keep.
func doubted(p Place) string {
	if len(p.Doubt) == 0 {
		return ""
	}
	var needs []string
	for _, one := range p.Doubt {
		needs = append(needs, one.Need)
	}
	return fmt.Sprintf(" %s is not shown to keep %s.", p.Candidate, units.List(needs, 3))
}

// Probability prints a probability with no more certainty than the draws can
// give.
func Probability(p float64) string {
	switch {
	case p > 0.995:
		return "more than 99 %"
	case p < 0.005:
		return "less than 1 %"
	}
	return fmt.Sprintf("%.0f %%", 100*p)
}

// smallPart is the smallest ratio worth mentioning.
const smallPart = 0.02

// gain is a measure with its effect between two candidates.
type gain struct {
	k      int
	weight float64 // of the logarithm of the score
}

// gains returns the measures that put a ahead of b and those that put it
// behind, the strongest first.
func (sc *score) gains(a, b int) (ahead, behind []gain) {
	for k, m := range sc.list {
		diff := sc.logs[b][k] - sc.logs[a][k]
		g := gain{k, math.Abs(diff) * m.weight / sc.total}
		switch {
		case diff > math.Log1p(smallPart):
			ahead = append(ahead, g)
		case diff < -math.Log1p(smallPart):
			behind = append(behind, g)
		}
	}
	for _, l := range [][]gain{ahead, behind} {
		slices.SortStableFunc(l, func(x, y gain) int { return cmp.Compare(y.weight, x.weight) })
	}
	return ahead, behind
}

// why explains a candidate's place: for the first against the next, for the
// others against the first.
func (sc *score) why(i int) string {
	if len(sc.order) < 2 {
		return ""
	}
	other := sc.order[0]
	if i == other {
		other = sc.order[1]
	}
	ahead, behind := sc.gains(i, other)
	say := func(gains []gain, most int) string {
		var texts []string
		for _, g := range gains[:min(most, len(gains))] {
			texts = append(texts, fmt.Sprintf("%s (%s)", sc.list[g.k].name(), ratioText(sc.ratio(g.k, i, other))))
		}
		return units.List(texts, most)
	}
	name := sc.names[other]
	switch {
	case len(ahead)+len(behind) == 0:
		return fmt.Sprintf("No measure differs from %s by more than %s.", name, units.Share(smallPart))
	case i == sc.order[0] && len(behind) == 0:
		return fmt.Sprintf("Ahead of %s at %s; behind it at nothing.", name, say(ahead, 3))
	case i == sc.order[0]:
		return fmt.Sprintf("Ahead of %s at %s; behind it at %s.", name, say(ahead, 3), say(behind, 2))
	case len(behind) == 0:
		return fmt.Sprintf("Ahead of %s at %s, as measured.", name, say(ahead, 2))
	case len(ahead) == 0:
		return fmt.Sprintf("Behind %s at %s; ahead of it at nothing.", name, say(behind, 3))
	}
	return fmt.Sprintf("Behind %s at %s; ahead of it at %s.", name, say(behind, 3), say(ahead, 2))
}

func ratioText(v verdict.Interval) string {
	if v.Single {
		return units.Ratio(v.Value)
	}
	return units.RatioInterval(v.Value, v.Low, v.High)
}
