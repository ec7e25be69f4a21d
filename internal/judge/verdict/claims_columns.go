package verdict

import (
	"fmt"
	"math"
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
	names := k.Candidates
	if len(names) == 0 {
		names = f.run.Candidates
	}
	var results, texts, missing []string
	for _, name := range names {
		x, y, why := f.between(name, a, b)
		if why != "" {
			missing = append(missing, fmt.Sprintf("%s (%s)", name, why))
			continue
		}
		ratios := stats.Sample{}
		for r, v := range x {
			if y[r] > 0 && v > 0 {
				ratios[r] = v / y[r]
			}
		}
		if len(ratios) < len(x) {
			results = append(results, linear(x, y, k.Low, k.High))
			texts = append(texts, fmt.Sprintf("%s %s", name, units.Ratio(mean(x)/mean(y))))
			continue
		}
		e, err := stats.GeoMean(ratios.Values())
		if err != nil {
			return fmt.Errorf("claim %s, %s: %w", out.ID, name, err)
		}
		iv := IntervalOf(e)
		iv.Single = iv.Single || math.IsInf(e.High, 1) || e.Low <= 0
		results = append(results, within(iv, k.Low, k.High))
		texts = append(texts, name+" "+ratioOf(iv))
	}
	if len(results) == 0 {
		out.Figures = "no candidate has both figures: " + units.List(missing, 3)
		return nil
	}
	out.Result = allOf(results)
	out.Figures = fmt.Sprintf("%s over %s: %s", a.Name, b.Name, strings.Join(texts, ", "))
	if len(missing) > 0 {
		out.Figures += "; without a ratio: " + units.List(missing, 3)
	}
	return nil
}

// between are a candidate's figures of two columns over their common rounds,
// for the same amount of work where both columns count theirs.
func (f *figures) between(name string, a, b study.Column) (x, y stats.Sample, why string) {
	s := f.byName[name]
	if s == nil {
		return nil, nil, "not in this run"
	}
	all, why := s.sums(a)
	if why != "" {
		return nil, nil, why
	}
	over, why := s.sums(b)
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

func mean(s stats.Sample) float64 {
	sum := 0.0
	for _, v := range s.Values() {
		sum += v
	}
	return sum / float64(len(s))
}
