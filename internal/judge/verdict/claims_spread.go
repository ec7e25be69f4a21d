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

// checkSpread judges the largest figure over the smallest. Every pair of
// candidates gives a lower bound for it, and the widest of all pairs the upper
// one.
func (f *figures) checkSpread(out *Claim, k study.SpreadCheck) {
	c := f.columns[k.Column]
	names := f.named(k.Candidates)
	var have, missing []string
	for _, n := range names {
		if c != nil && c.has(n) {
			have = append(have, n)
		} else {
			missing = append(missing, fmt.Sprintf("%s (%s)", n, f.lacking(c, n)))
		}
	}
	if len(have) < 2 {
		out.Figures = "fewer than two candidates have a figure; without one: " + units.List(missing, 3)
		return
	}
	if c.additive {
		byValue := func(a, b string) int { return cmp.Compare(c.value(a).Value, c.value(b).Value) }
		least, most := slices.MinFunc(have, byValue), slices.MaxFunc(have, byValue)
		if s := c.samples[c.index(least)]; exact(s) && s.Values()[0] == 0 && c.value(most).Low > 0 {
			out.Result = within(Interval{Low: math.Inf(1), High: math.Inf(1)}, k.Low, k.High)
			out.Figures = fmt.Sprintf("from %s %s in every round to %s %s, over %s", least, figure(c, least), most, figure(c, most), units.Count(len(have), "candidate"))
			return
		}
		out.Figures = lowered(c.def.Name) + ": " + noRatios
		return
	}
	spread, most, least := Interval{Value: 1, Low: 1, High: 1}, have[0], have[0]
	for _, a := range have {
		for _, b := range have {
			if a == b {
				continue
			}
			iv := c.ratio(a, b)
			if iv.Value > spread.Value {
				spread.Value, most, least = iv.Value, a, b
			}
			spread.Low, spread.High = math.Max(spread.Low, iv.Low), math.Max(spread.High, iv.High)
			spread.Single = spread.Single || iv.Single
		}
	}
	out.Result = within(spread, k.Low, k.High)
	out.Figures = fmt.Sprintf("from %s %s to %s %s, %s, over %s", least, figure(c, least), most, figure(c, most), ratioOf(spread), units.Count(len(have), "candidate"))
	if len(missing) > 0 {
		out.Figures += "; without a figure: " + units.List(missing, 3)
	}
}

// checkSeveral agrees if enough columns are shown to satisfy the limit, and
// disagrees if too few can.
func (f *figures) checkSeveral(out *Claim, k study.SeveralCheck) {
	agree, open := 0, 0
	text := ""
	for _, key := range k.Of {
		if c := f.columns[key]; c != nil && c.additive {
			out.Figures = lowered(c.def.Name) + ": " + noRatios
			return
		}
		one := Claim{Result: NotTested}
		f.checkRatio(&one, study.RatioCheck{Column: key, A: k.A, B: []string{k.B}, High: k.High})
		switch one.Result {
		case Agrees:
			agree++
		case Undecided:
			open++
		case NotTested:
			out.Figures = one.Figures
			return
		}
		if text != "" {
			text += ", "
		}
		text += fmt.Sprintf("%s %s", lowered(f.columns[key].def.Name), ratioText(f.columns[key].pair(k.A, k.B)))
	}
	switch {
	case agree >= k.Least:
		out.Result = Agrees
	case agree+open < k.Least:
		out.Result = Disagrees
	default:
		out.Result = Undecided
	}
	out.Figures = fmt.Sprintf("%s of %s: %s", k.A, k.B, text)
}

// checkChoice judges the product of several columns as one.
func (f *figures) checkChoice(out *Claim, k study.ChoiceCheck) error {
	score, err := f.together(out, k.Of, k.Candidate, k.Among)
	if score == nil || err != nil {
		return err
	}
	const product = "choice"
	f.columns[product] = score
	defer delete(f.columns, product)
	return f.checkBest(out, study.BestCheck{Column: product, Candidate: k.Candidate, Among: k.Among, Worst: k.Worst})
}

// checkNoise judges by the limits of a standard deviation, or of the ratio of
// two.
func (f *figures) checkNoise(out *Claim, k study.NoiseCheck) error {
	scatter := func(names []string) stats.Scatter {
		var samples []stats.Sample
		for _, key := range k.Of {
			c := f.columns[key]
			for _, n := range names {
				if c != nil && c.has(n) && !c.additive {
					samples = append(samples, c.samples[c.index(n)])
				}
			}
		}
		return stats.ScatterOf(samples...)
	}
	names := f.named(k.Candidates)
	ours := scatter(names)
	if ours.DF == 0 {
		out.Figures = "no candidate of the claim has figures of two rounds"
		return nil
	}
	if len(k.Than) == 0 {
		iv := Interval{Value: ours.Value, N: ours.DF + 1}
		iv.Low, iv.High = ours.Limits()
		out.Result = within(iv, k.Low, k.High)
		out.Figures = fmt.Sprintf("single figures differ from round to round by %s (%s to %s)", units.Share(iv.Value), units.Share(iv.Low), units.Share(iv.High))
		return nil
	}
	others := scatter(k.Than)
	switch {
	case others.DF == 0:
		out.Figures = "none of " + units.List(k.Than, 3) + " has figures of two rounds"
		return nil
	case others.Value == 0:
		out.Result = Undecided
		out.Figures = "the figures of " + units.List(k.Than, 3) + " do not differ from round to round"
		return nil
	}
	iv := Interval{}
	iv.Value, iv.Low, iv.High = ours.Over(others)
	out.Result = within(iv, k.Low, k.High)
	out.Figures = fmt.Sprintf("from round to round, figures of %s differ by %s and those of %s by %s, %s", units.List(names, 3), units.Share(ours.Value),
		units.List(k.Than, 3), units.Share(others.Value), ratioOf(iv))
	return nil
}
