package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"whichfs/internal/judge/stats"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
)

// The most sentences of each kind that a verdict gives.
const (
	mostWins   = 3
	mostLosses = 3
	mostWhys   = 3
)

// weighted is a sentence with its ratio; larger ratios come first.
type weighted struct {
	text  string
	ratio float64
}

// reasons says where the first candidate of the order wins and loses, by how
// much, and which costs accompany the largest differences.
func (f *figures) reasons(order []string, used []*column) []string {
	first := order[0]
	var wins, losses, whys []weighted
	for _, c := range used {
		if w, ok := win(c, first, order); ok {
			wins = append(wins, w)
		}
		if w, ok := loss(c, first, order); ok {
			losses = append(losses, w)
		}
		if w, ok := f.why(c, first, order); ok {
			whys = append(whys, w)
		}
	}
	var out []string
	for _, group := range []struct {
		list []weighted
		most int
	}{{wins, mostWins}, {losses, mostLosses}, {whys, mostWhys}} {
		slices.SortStableFunc(group.list, func(a, b weighted) int { return cmp.Compare(b.ratio, a.ratio) })
		for _, w := range group.list[:min(len(group.list), group.most)] {
			out = append(out, w.text)
		}
	}
	if len(wins) == 0 {
		out = append([]string{fmt.Sprintf("%s clearly wins no single measure alone; the order comes from all of them together.", first)}, out...)
	}
	return out
}

// win applies if no other candidate is better or undecided in this column and
// at least one is worse.
func win(c *column, first string, order []string) (weighted, bool) {
	next, ratio := "", math.Inf(1)
	for _, n := range order {
		if n == first {
			continue
		}
		switch p := c.pair(n, first); p.Outcome {
		case stats.Higher:
			if p.Ratio < ratio {
				next, ratio = n, p.Ratio
			}
		case stats.Tied:
		default:
			return weighted{}, false
		}
	}
	if next == "" {
		return weighted{}, false
	}
	p := c.pair(next, first)
	equal := slices.DeleteFunc(c.tied(first), func(n string) bool { return !slices.Contains(order, n) })
	with := ""
	if len(equal) > 0 {
		with = ", together with " + units.List(equal, 3)
	}
	return weighted{fmt.Sprintf("%s: %s is best%s (%s); the next, %s, takes %s as %s.", c.def.Name, first, with, figure(c, first),
		next, units.RatioInterval(p.Ratio, p.Low, p.High), much(c.def.Unit)), p.Ratio}, true
}

// loss applies if any candidate is shown to be better, and names the best.
func loss(c *column, first string, order []string) (weighted, bool) {
	by, ratio := "", 1.0
	for _, n := range order {
		if n == first {
			continue
		}
		if p := c.pair(first, n); p.Outcome == stats.Higher && p.Ratio > ratio {
			by, ratio = n, p.Ratio
		}
	}
	if by == "" {
		return weighted{}, false
	}
	p := c.pair(first, by)
	return weighted{fmt.Sprintf("%s: %s is better (%s); %s takes %s as %s (%s).", c.def.Name, by, figure(c, by),
		first, units.RatioInterval(p.Ratio, p.Low, p.High), much(c.def.Unit), figure(c, first)), ratio}, true
}

func figure(c *column, name string) string {
	e := c.value(name)
	return units.Interval(e.Value, e.Low, e.High, c.def.Unit)
}

func much(unit string) string {
	if unit == "s" {
		return "long"
	}
	return "much"
}

// leastWhy is the smallest ratio that why explains.
const leastWhy = 1.25

// why takes the largest settled difference between the first candidate and
// another in a column of times, and looks for costs that accompany it. It
// reports counts and claims no cause.
func (f *figures) why(c *column, first string, order []string) (weighted, bool) {
	if c.def.Unit != "s" {
		return weighted{}, false
	}
	slow, fast, ratio := "", "", leastWhy
	for _, n := range order {
		if n == first {
			continue
		}
		switch p := c.pair(n, first); {
		case p.Outcome == stats.Higher && p.Ratio > ratio:
			slow, fast, ratio = n, first, p.Ratio
		case p.Outcome == stats.Lower && 1/p.Ratio > ratio:
			slow, fast, ratio = first, n, 1/p.Ratio
		}
	}
	if slow == "" {
		return weighted{}, false
	}
	costs := f.explain(c, slow, fast)
	if len(costs) == 0 {
		return weighted{}, false
	}
	return weighted{fmt.Sprintf("Why %s takes %s as long as %s at %s: %s.", slow, units.Ratio(ratio), fast, c.def.Name, strings.Join(costs, "; ")), ratio}, true
}

// explain compares the costs of two candidates over the phases of a column.
func (f *figures) explain(c *column, slow, fast string) []string {
	cost := func(candidate string, of func(*subject, string) (float64, bool)) (sum float64, any bool) {
		for _, t := range c.def.Terms {
			if x, ok := of(f.byName[candidate], t.Phase); ok {
				sum, any = sum+x, true
			}
		}
		return sum, any
	}
	each := func(of func(*subject, string) (float64, bool)) (s, q float64, ok bool) {
		s, okS := cost(slow, of)
		q, okQ := cost(fast, of)
		return s, q, okS && okQ
	}
	both := func(metrics ...string) (s, q float64, ok bool) {
		return each(func(x *subject, phase string) (float64, bool) { return x.sumOf(phase, metrics...) })
	}
	var out []string
	longer := c.value(slow).Value - c.value(fast).Value
	if s, q, ok := each((*subject).processorTime); ok && s-q >= 0.4*longer {
		out = append(out, fmt.Sprintf("it takes %s of processor time against %s", units.Value(s, "s"), units.Value(q, "s")))
		out = append(out, executes(both)...)
	}
	for _, b := range []struct{ metric, verb string }{{result.DeviceWritten, "writes"}, {result.DeviceRead, "reads"}} {
		if s, q, ok := both(b.metric); ok && s-q >= 1<<20 && s >= 1.25*q {
			out = append(out, fmt.Sprintf("the storage sees %s of %s against %s", units.Value(s, "B"), b.verb, units.Value(q, "B")))
		}
	}
	if s, q, ok := both(result.DeviceReads, result.DeviceWrites); ok && s-q >= 50 && s >= 1.5*q {
		out = append(out, fmt.Sprintf("it needs %s requests against %s", units.Value(math.Round(s), "1"), units.Value(math.Round(q), "1")))
	}
	if s, q, ok := both(result.DeviceFlushes); ok && s-q >= 3 && s >= 2*q {
		out = append(out, fmt.Sprintf("it flushes the storage %s times against %s", units.Value(math.Round(s), "1"), units.Value(math.Round(q), "1")))
	}
	return out
}

// executes names the kinds of code that account for at least a quarter of the instructions that the
// slower of two candidates executes more than the faster.
func executes(both func(...string) (slow, fast float64, ok bool)) []string {
	s, q, ok := both(result.Instructions)
	more := s - q
	if !ok || more <= 0 {
		return nil
	}
	var out []string
	for _, kind := range []struct{ metric, name string }{{result.InstructionsCompressing, "compressing"}, {result.InstructionsChecksums, "checksums"}} {
		if s, q, ok := both(kind.metric); ok && s-q >= more/4 {
			out = append(out, fmt.Sprintf("it executes %s of %s against %s", units.Value(s, instructionUnit), kind.name, units.Value(q, instructionUnit)))
		}
	}
	return out
}
