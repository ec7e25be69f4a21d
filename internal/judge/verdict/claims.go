package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"whichfs/internal/judge/stats"
	"whichfs/internal/plan/media"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
)

func (f *figures) claim(c study.Claim) (Claim, error) {
	out := Claim{ID: c.ID, Text: c.Text, Where: c.Where, Result: NotTested, Contradicted: c.Contradicted}
	if c.Storage != "" && c.Storage != f.storage && testable(c) {
		f.elsewhere(&out, c.Storage)
		return out, nil
	}
	err := f.check(&out, c)
	if why := f.distortion(c); why != "" && out.Result != NotTested && !f.beatenByAlike(out.Result, c) {
		out.Result = Undecided
		out.Figures += why
	}
	if out.Result != NotTested && f.run.ClockName() != result.ClockInstructions && f.compressors(c) {
		out.Figures += f.fewerProcessors()
	}
	if !out.Decided() {
		out.DecidedBy = f.study.DecidedBy(c, f.run.Scale)
	} else if on, bad := media.Parse(f.run.Storage); bad == nil && on.Kind == media.KindSim {
		out.Follows = c.Follows
	}
	return out, err
}

// testable reports whether the study says how to test a claim.
func testable(c study.Claim) bool {
	_, untested := c.Check.(study.Untested)
	return c.Check != nil && !untested
}

func (f *figures) check(out *Claim, c study.Claim) (err error) {
	switch k := c.Check.(type) {
	case study.Untested:
		out.Figures = string(k)
	case nil:
		out.Figures = "the study does not say how to test it"
	case study.OrderCheck:
		f.checkOrder(out, k)
	case study.BestCheck:
		err = f.checkBest(out, k)
	case study.RatioCheck:
		f.checkRatio(out, k)
	case study.FindingCheck:
		f.checkFinding(out, k)
	case study.NumbersCheck:
		err = f.checkNumbers(out, k)
	case study.EffectCheck:
		err = f.checkEffect(out, k)
	case study.ValueCheck:
		f.checkValue(out, k)
	case study.CurveCheck:
		err = f.checkCurve(out, k)
	case study.MediumCheck:
		f.checkMedium(out, k)
	case study.TrendCheck, study.AcrossCheck:
		out.Figures = trendText
	case study.SpreadCheck:
		f.checkSpread(out, k)
	case study.NoiseCheck:
		err = f.checkNoise(out, k)
	case study.ChoiceCheck:
		err = f.checkChoice(out, k)
	case study.SeveralCheck:
		f.checkSeveral(out, k)
	case study.KernelsCheck:
		err = f.checkKernels(out, k)
	case study.FaultBest:
		err = f.checkFaultBest(out, k)
	case study.FaultTime:
		f.checkFaultTime(out, k)
	case study.ColumnsCheck:
		err = f.checkColumns(out, k)
	case study.FaultCheck:
		f.checkFault(out, k)
	case study.EveryCheck:
		err = f.checkEvery(out, c, k)
	case study.PlaceCheck:
		err = f.checkPlace(out, k)
	case study.LevelsCheck:
		err = f.checkLevels(out, k)
	case study.SmallestCheck:
		f.checkSmallest(out, k)
	case study.FailureCheck:
		f.checkFailure(out, k)
	case study.PowerCheck:
		f.checkPower(out, k)
	case study.SweepCheck:
		f.checkSweep(out, k)
	case study.RoomCheck:
		f.checkRoom(out, k)
	default:
		err = fmt.Errorf("no verdict on a %T", k)
	}
	return err
}

// rivals lists the candidates with which a claim compares its own: Among,
// without it the rows of published tables, without those all of the run.
// missing are those that could have had a figure and have none.
func (f *figures) rivals(k study.BestCheck) (others, missing []string) {
	among := k.Among
	if len(among) == 0 {
		for _, t := range f.study.Tables {
			for _, r := range t.Rows {
				among = append(among, r.Candidate)
			}
		}
	}
	if len(among) == 0 { // no published table has rows
		for _, s := range f.subjects {
			among = append(among, s.Name)
		}
	}
	c, times := f.columns[k.Column], f.columns[cmp.Or(k.Times, k.Column)]
	for _, n := range among {
		switch {
		case n == k.Candidate || c == nil || times == nil:
		case c.has(n) && times.has(n):
			others = append(others, n)
		case f.reallyMissing(n, c) && f.reallyMissing(n, times):
			missing = append(missing, n)
		}
	}
	return others, missing
}

// checkBest agrees if every other candidate is worse. It shares the place with
// those that are equal within the margin, if no other is better or undecided,
// and disagrees if any is better.
func (f *figures) checkBest(out *Claim, k study.BestCheck) error {
	c, err := f.claimed(k.Column, k.Times)
	if err != nil {
		return err
	}
	if c == nil || !c.has(k.Candidate) {
		out.Figures = f.lacking(c, k.Candidate)
		return nil
	}
	others, missing := f.rivals(k)
	if others = slices.DeleteFunc(others, func(n string) bool { return !c.has(n) }); len(others) == 0 {
		out.Figures = "this run has nothing to compare " + k.Candidate + " with"
		return nil
	}
	good, bad := stats.Lower, stats.Higher
	if k.Worst {
		good, bad = bad, good
	}
	by := map[stats.Outcome][]string{}
	for _, n := range others {
		o := c.pair(k.Candidate, n).Outcome
		by[o] = append(by[o], n)
	}
	beating, open, equal := by[bad], by[stats.Open], by[stats.Tied]
	switch {
	case len(beating) > 0:
		out.Result = Disagrees
	case len(open) > 0:
		out.Result = Undecided
	case len(equal) > 0:
		out.Result = Shares
	case len(by[good]) == len(others):
		out.Result = Agrees
	}
	out.Figures = f.bestFigures(c, k, others, beating, open, equal)
	f.without(out, missing)
	return nil
}

// without leaves a claim undecided that holds as far as this run goes, but has not
// been compared with all that it is about.
func (f *figures) without(out *Claim, missing []string) {
	if len(missing) == 0 {
		return
	}
	out.Figures += "; not in this run: " + units.List(missing, 3)
	if out.Result == Agrees || out.Result == Shares {
		out.Result = Undecided
	}
}

func (f *figures) bestFigures(c *column, k study.BestCheck, others, beating, open, equal []string) string {
	order := slices.DeleteFunc(c.order(), func(n string) bool { return n != k.Candidate && !slices.Contains(others, n) })
	if k.Worst {
		slices.Reverse(order)
	}
	rival := order[0]
	if rival == k.Candidate {
		rival = order[1]
	}
	text := fmt.Sprintf("%s; %s, %s", said(c, k.Candidate, k.Times), said(c, rival, k.Times), c.beside(rival, k.Candidate))
	place, word := "best", "better"
	if k.Worst {
		place, word = "worst", "worse"
	}
	switch {
	case len(beating) > 0:
		text += fmt.Sprintf("; %s shown to be %s", units.List(beating, 3), word)
	case len(open) > 0:
		text += "; not settled against " + units.List(open, 3) + ", " + f.whenSettled(c, k.Candidate, open)
	case len(equal) > 0:
		text += fmt.Sprintf("; shares the %s place with %s (equal within %s)", place, units.List(equal, 4), units.Share(f.margin))
	}
	return text
}

// said is a figure with its name; a product of two columns has no meaningful
// unit.
func said(c *column, name, times string) string {
	if times != "" {
		return name
	}
	return name + " " + figure(c, name)
}

func ratioText(p stats.Pair) string {
	if p.N == 0 {
		return "no round in common"
	}
	if math.IsInf(p.High, 1) || p.Low <= 0 {
		return units.Ratio(p.Ratio)
	}
	return units.RatioInterval(p.Ratio, p.Low, p.High)
}

// claimed is the column of a claim, or the product of two.
func (f *figures) claimed(key, times string) (*column, error) {
	c := f.columns[key]
	if times == "" || c == nil {
		return c, nil
	}
	other := f.columns[times]
	if other == nil {
		return nil, nil
	}
	product := &column{def: study.Column{Key: key + " x " + times, Unit: "1"}, absent: map[string]string{}}
	for i, n := range c.names {
		if !other.has(n) {
			continue
		}
		s := stats.Sample{}
		for r, v := range c.samples[i] {
			if w, ok := other.samples[other.index(n)][r]; ok {
				s[r] = v * w
			}
		}
		if len(s) > 0 {
			product.add(n, s)
			product.doubted(n, productDoubts([]*column{c, other}, n, 1))
		}
	}
	return product, product.compute(f.margin)
}

// checkRatio agrees if every interval lies within the claimed limits, and
// disagrees if any lies wholly outside.
func (f *figures) checkRatio(out *Claim, k study.RatioCheck) {
	c := f.columns[k.Column]
	if c == nil || !c.has(k.A) {
		out.Figures = f.lacking(c, k.A)
		return
	}
	var results, texts, missing []string
	for _, b := range k.B {
		if !c.has(b) {
			missing = append(missing, b)
			continue
		}
		if c.additive {
			results = append(results, linear(c.samples[c.index(k.A)], c.samples[c.index(b)], k.Low, k.High))
			texts = append(texts, fmt.Sprintf("%s (%s %s)", figure(c, k.A), b, figure(c, b)))
			continue
		}
		p := c.pair(k.A, b)
		known := p.N > 0 && !math.IsInf(p.High, 1) && p.Low > 0
		results = append(results, within(Interval{Value: p.Ratio, Low: p.Low, High: p.High, Single: !known}, k.Low, k.High))
		texts = append(texts, fmt.Sprintf("%s of %s", ratioText(p), b))
	}
	if len(results) == 0 {
		out.Figures = f.lacking(c, k.B[0])
		return
	}
	out.Result = allOf(results)
	out.Figures = fmt.Sprintf("%s takes %s", k.A, strings.Join(texts, ", "))
	f.without(out, missing)
}

// linear judges whether a lies between low and high times b, by the intervals
// of a − low·b and a − high·b over common rounds: that needs no ratio, which
// figures of 0 and below have not. A high of 0 is no limit.
func linear(a, b stats.Sample, low, high float64) string {
	beyond := func(limit float64) stats.Estimate {
		var d []float64
		for r, v := range a {
			if w, ok := b[r]; ok {
				d = append(d, v-limit*w)
			}
		}
		e, err := stats.Mean(d)
		if err != nil {
			e.Single = true
		}
		return e
	}
	results := []string{Agrees}
	if low > 0 {
		e := beyond(low)
		results = append(results, within(Interval{Low: e.Low, High: e.High, Single: e.Single}, 0, math.Inf(1)))
	}
	if high > 0 {
		e := beyond(high)
		results = append(results, within(Interval{Low: -e.High, High: -e.Low, Single: e.Single}, 0, math.Inf(1)))
	}
	return allOf(results)
}

// lacking says why a candidate has no figure.
func (f *figures) lacking(c *column, name string) string {
	if _, planned := f.byName[name]; !planned || c == nil {
		return "this run has no " + name
	}
	if why := c.absent[name]; why != "" {
		return name + ": " + why
	}
	return "no figure for " + name
}

// reallyMissing reports whether a row could have had a figure in this column (a
// read-only filesystem is not missing where only writing is measured).
func (f *figures) reallyMissing(name string, c *column) bool {
	s := f.byName[name]
	if s == nil {
		return true
	}
	for _, t := range c.def.Terms {
		if s.lacks(t.Phase) && !slices.Contains(c.def.Optional, t.Phase) {
			return false
		}
	}
	return true
}
