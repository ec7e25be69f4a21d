package verdict

import (
	"fmt"
	"strings"

	"whichfs/internal/judge/stats"
	"whichfs/internal/plan/study"
	"whichfs/internal/sys/units"
)

// checkColumns agrees if, for every candidate, the interval of the ratio of the
// two columns lies within the claimed limits; it disagrees if any interval lies
// wholly outside.
func (f *figures) checkColumns(out *Claim, k study.ColumnsCheck) error {
	a, knownA := f.study.Column(k.Column)
	b, knownB := f.study.Column(k.Over)
	if !knownA || !knownB {
		out.Figures = fmt.Sprintf("the study has no columns %s and %s", k.Column, k.Over)
		return nil
	}
	names := f.named(k.Candidates)
	found := limited{low: k.Low, high: k.High}
	for _, name := range names {
		x, y, why := f.between(name, a, b)
		if why != "" {
			found.without(name, why)
			continue
		}
		ratios, why := divided(x, y)
		if why != "" { // a figure of 0 or below
			over, err := meanRatio(x, y)
			if err != nil {
				return fmt.Errorf("claim %s, %s: %w", out.ID, name, err)
			}
			found.add(name+" "+units.Ratio(over), linear(x, y, k.Low, k.High))
			continue
		}
		if err := found.ratio(name, ratios); err != nil {
			return fmt.Errorf("claim %s, %s: %w", out.ID, name, err)
		}
	}
	found.conclude(out, a.Name+" over "+b.Name)
	return nil
}

// limited are the ratios of several candidates, judged by the same limits.
type limited struct {
	low, high               float64
	results, texts, missing []string
}

func (l *limited) add(text, found string) {
	l.texts, l.results = append(l.texts, text), append(l.results, found)
}

func (l *limited) without(name, why string) {
	l.missing = append(l.missing, fmt.Sprintf("%s (%s)", name, why))
}

// ratio judges a candidate by its ratios of all rounds.
func (l *limited) ratio(name string, ratios stats.Sample) error {
	e, err := stats.GeoMean(ratios.Values())
	if err != nil {
		return err
	}
	iv := IntervalOf(e)
	l.add(name+" "+ratioOf(iv), within(iv, l.low, l.high))
	return nil
}

// conclude gives the claim its result and figures; what says of which ratios.
func (l *limited) conclude(out *Claim, what string) {
	if len(l.results) == 0 {
		out.Figures = "no candidate has both figures: " + units.List(l.missing, 3)
		return
	}
	out.Result = allOf(l.results)
	out.Figures = what + ": " + strings.Join(l.texts, ", ")
	if len(l.missing) > 0 {
		out.Figures += "; without a ratio: " + units.List(l.missing, 3)
	}
}

// divided is the ratio of two samples, round by round.
func divided(a, b stats.Sample) (stats.Sample, string) {
	out := stats.Sample{}
	for r, v := range a {
		w, ok := b[r]
		switch {
		case ok && (v <= 0 || w <= 0):
			return nil, noRatios
		case ok:
			out[r] = v / w
		}
	}
	if len(out) == 0 {
		return nil, "no round in common"
	}
	return out, ""
}

// meanRatio is the ratio of two means.
func meanRatio(a, b stats.Sample) (float64, error) {
	x, err := stats.Mean(a.Values())
	if err != nil {
		return 0, err
	}
	y, err := stats.Mean(b.Values())
	return x.Value / y.Value, err
}

// between are a candidate's figures of two columns over their common rounds,
// for the same amount of work where both columns count theirs.
func (f *figures) between(name string, a, b study.Column) (x, y stats.Sample, why string) {
	s := f.byName[name]
	if s == nil {
		return nil, nil, "not in this run"
	}
	all, why := s.quiet(a, s.sums)
	if why != "" {
		return nil, nil, why
	}
	over, why := s.quiet(b, s.sums)
	if why != "" {
		return nil, nil, why
	}
	scale := 1.0
	if a.Per != "" && b.Per != "" {
		ours, why := s.amount(a, rateBase(a.Per))
		if why != "" {
			return nil, nil, why
		}
		theirs, why := s.amount(b, rateBase(b.Per))
		if why != "" {
			return nil, nil, why
		}
		scale = theirs / ours
	}
	x, y = stats.Sample{}, stats.Sample{}
	for r, v := range all {
		if w, ok := over[r]; ok {
			x[r], y[r] = scale*v, w
		}
	}
	if len(x) == 0 {
		return nil, nil, "no round in common"
	}
	return x, y, ""
}
