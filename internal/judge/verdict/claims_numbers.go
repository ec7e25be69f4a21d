package verdict

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"whichfs/internal/judge/stats"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
)

// checkNumbers compares our order with that of a published table of figures, as
// checkOrder does. The text also gives the ratios; they decide nothing, since
// this storage may be a different one of its kind.
func (f *figures) checkNumbers(out *Claim, k study.NumbersCheck) error {
	at := slices.IndexFunc(f.study.Numbers, func(t study.Numbers) bool { return t.Key == k.Table })
	if at < 0 {
		out.Figures = "the study has no table " + k.Table
		return nil
	}
	if on := f.study.Numbers[at].Storage; on != "" && on != f.storage {
		f.elsewhere(out, on)
		return nil
	}
	t, err := f.numbersTable(f.study.Numbers[at])
	if err != nil {
		return err
	}
	if t.NoOrder != "" {
		out.Figures = t.NoOrder
		return nil
	}
	if !t.Tau.Has {
		out.Figures = fmt.Sprintf("this run has figures for only %d of %s, too few to compare orders%s", t.Tau.N, units.Count(len(t.Cells), "published figure"), whyAbsent(t.Cells))
		return nil
	}
	out.Tau, out.HasTau = t.Tau.Value, true
	low, high, open := t.places.tauRange(t.places.names, t.published, t.Noise)
	out.Figures = fmt.Sprintf("tau-b %s over %s", tauNumber(t.Tau.Value), units.Count(t.Tau.N, "figure"))
	if open > 0 {
		out.Figures += fmt.Sprintf("; %s not settled, so between %s and %s", units.Count(open, "pair"), tauNumber(low), tauNumber(high))
	}
	out.Result = ordered(low, high)
	if t.OrderOnly {
		out.Figures += "; " + orderOnly
		return nil
	}
	out.Figures += fmt.Sprintf("; the median of ours over the published figures is %s, %d of %d within a factor of %g",
		units.Ratio(t.Median.Value), t.Within, t.Tau.N, Near)
	return nil
}

// whyAbsent says why cells have no figure of ours, each reason once.
func whyAbsent(cells []NumberCell) string {
	var names, whys []string
	for _, c := range cells {
		if c.Absent != "" {
			names, whys = append(names, result.Named(c.Candidate, c.Variant)), append(whys, c.Absent)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "; without one: " + sayTogether(names, whys)
}

// orderOnly explains why our figures are not divided by the published ones.
const orderOnly = "the data here differ in size from the published, so only the order is compared"

// ordered judges an order by the least and the greatest tau that it may have.
func ordered(low, high float64) string {
	switch {
	case low >= leastTau:
		return Agrees
	case high < leastTau:
		return Disagrees
	}
	return Undecided
}

func tauNumber(v float64) string { return strings.Replace(fmt.Sprintf("%.2f", v), "-", "−", 1) }

// elsewhere reports whether a claim is about storage other than this run's.
func (f *figures) elsewhere(out *Claim, on string) {
	out.Elsewhere = on
	if s, ok := f.study.Storage("", on); ok {
		out.Elsewhere = s.Label
	}
	out.Figures = "it is about " + out.Elsewhere
}

// checkEffect agrees if the interval of the pooled effect lies within the
// claimed limits, and disagrees if it lies wholly outside.
func (f *figures) checkEffect(out *Claim, k study.EffectCheck) error {
	def, known := f.study.Column(k.Column)
	factor, level := f.levelOf(k.Variant)
	if !known || level < 0 {
		out.Figures = "this run has nothing with " + k.Variant
		return nil
	}
	effects, err := f.effectsOn(factor, def, k.Candidates)
	if err != nil {
		return err
	}
	e := effects[level]
	if e.Absent != "" {
		out.Figures = k.Variant + ": " + e.Absent
		return nil
	}
	var over []string
	for _, c := range e.Candidates {
		if c.Absent == "" {
			over = append(over, c.Candidate)
		}
	}
	out.Result = within(e.Ratio, k.Low, k.High)
	out.Figures = fmt.Sprintf("with %s, %s is %s of that with %s, over %s", k.Variant, lowered(def.Name), ratioOf(e.Ratio), factor.Reference, units.List(over, 4))
	if e.Differs {
		out.Figures += "; the effect differs between candidates"
	}
	return nil
}

func ratioOf(iv Interval) string {
	if iv.Single {
		return units.Ratio(iv.Value)
	}
	return units.RatioInterval(iv.Value, iv.Low, iv.High)
}

// within judges an interval by limits; a high of 0 is no limit. A single figure
// decides nothing.
func within(iv Interval, low, high float64) string {
	if high == 0 {
		high = math.Inf(1)
	}
	switch {
	case iv.Single:
		return Undecided
	case iv.Low >= low && iv.High <= high:
		return Agrees
	case iv.High < low || iv.Low > high:
		return Disagrees
	}
	return Undecided
}

// allOf combines the results of several intervals: a claim agrees if all of
// them do, and disagrees if any does.
func allOf(results []string) string {
	switch {
	case slices.Contains(results, Disagrees):
		return Disagrees
	case slices.Contains(results, Undecided):
		return Undecided
	}
	return Agrees
}

// levelOf finds a level of a factor of the plan, by its name.
func (f *figures) levelOf(name string) (scenario.Factor, int) {
	for _, factor := range f.plan.Factors {
		for i, level := range factor.Levels {
			if level.Name == name {
				return factor, i
			}
		}
	}
	return scenario.Factor{}, -1
}

// checkValue agrees if the interval of the figure lies within the claimed
// limits, and disagrees if it lies wholly outside. A figure that repeats to the
// last digit has an interval of zero width, and decides.
func (f *figures) checkValue(out *Claim, k study.ValueCheck) {
	c := f.columns[k.Column]
	if c == nil || !c.has(k.Candidate) {
		out.Figures = f.lacking(c, k.Candidate)
		return
	}
	iv := c.value(k.Candidate)
	if s := c.samples[c.index(k.Candidate)]; exact(s) {
		v := s.Values()[0] // of which a mean of logarithms is not exact
		iv = Interval{Value: v, Low: v, High: v, N: len(s)}
	}
	out.Result = within(iv, k.Low, k.High)
	out.Figures = fmt.Sprintf("%s: %s %s", lowered(c.def.Name), k.Candidate, units.Interval(iv.Value, iv.Low, iv.High, c.def.Unit))
}

// exact reports whether several rounds all have the same figure.
func exact(s stats.Sample) bool {
	values := s.Values()
	return len(values) > 1 && slices.Min(values) == slices.Max(values)
}
