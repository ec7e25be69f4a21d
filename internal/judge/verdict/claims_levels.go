package verdict

import (
	"fmt"
	"slices"
	"strings"

	"whichfs/internal/judge/stats"
	"whichfs/internal/plan/study"
	"whichfs/internal/sys/units"
)

// checkLevels judges the ratio of two candidates at every point of an axis. The
// claimed points decide: it agrees if all of them do, and disagrees if any does.
// The text gives all points, and from which one on the claim holds.
func (f *figures) checkLevels(out *Claim, k study.LevelsCheck) error {
	factor, def, ok := f.along(out, k.Axis, k.Column)
	if !ok {
		return nil
	}
	points, err := f.ratiosAt(axisOf(factor), def, k)
	if err != nil {
		return err
	}
	judgeLevels(out, def, k, points, factor.Unit)
	return nil
}

// levelRatio is the ratio of two candidates at a point of an axis.
type levelRatio struct {
	value  float64 // on the axis
	ratio  Interval
	absent string
}

// ratiosAt estimates the ratios, with the noise of all points of both candidates
// together, since a level may be tried only once.
func (f *figures) ratiosAt(axis []axisPoint, def study.Column, k study.LevelsCheck) ([]levelRatio, error) {
	out := make([]levelRatio, len(axis))
	a, b := make([][]float64, len(axis)), make([][]float64, len(axis))
	var all [][]float64
	for i, p := range axis {
		out[i].value = p.value
		for _, side := range []struct {
			of   []([]float64)
			name string
		}{{a, k.A}, {b, k.B}} {
			figures, why := f.atPoint(side.name, p.level, def)
			if why == "" && slices.ContainsFunc(figures, func(v float64) bool { return v <= 0 }) {
				figures, why = nil, noRatios
			}
			if why != "" {
				out[i].absent = side.name + ": " + why
			}
			side.of[i] = figures
			all = append(all, figures)
		}
	}
	for i := range out {
		if out[i].absent != "" {
			continue
		}
		e, err := stats.PooledRatio(b[i], a[i], append(all[:2*i:2*i], all[2*i+2:]...)...)
		if err != nil {
			return nil, err
		}
		out[i].ratio = IntervalOf(e)
	}
	return out, nil
}

func judgeLevels(out *Claim, def study.Column, k study.LevelsCheck, points []levelRatio, unit string) {
	var results, texts, whys []string
	missing := map[string][]string{} // points, by why
	from := -1                       // the point from which on the claim holds
	for i, p := range points {
		at := AxisValue(p.value, unit)
		claimed := p.value >= k.From && (k.To == 0 || p.value <= k.To)
		if p.absent != "" {
			if claimed {
				if missing[p.absent] == nil {
					whys = append(whys, p.absent)
				}
				missing[p.absent] = append(missing[p.absent], at)
			}
			continue
		}
		r := within(p.ratio, k.Low, k.High)
		if claimed {
			results = append(results, r)
		}
		switch {
		case r != Agrees:
			from = -1
		case from < 0:
			from = i
		}
		texts = append(texts, fmt.Sprintf("%s at %s", ratioOf(p.ratio), at))
	}
	if len(results) > 0 {
		out.Result = allOf(results)
	} else if len(missing) == 0 {
		out.Figures = fmt.Sprintf("this run has no point from %s on of the %s", AxisValue(k.From, unit), k.Axis)
		return
	}
	switch {
	case len(texts) == 0:
		out.Figures = fmt.Sprintf("no ratio of %s to %s can be computed", k.A, k.B)
	default:
		out.Figures = fmt.Sprintf("%s: %s takes %s of %s", lowered(def.Name), k.A, strings.Join(texts, ", "), k.B)
		switch {
		case from == 0:
			out.Figures += "; it holds at every point measured"
		case from > 0:
			out.Figures += "; it holds from " + AxisValue(points[from].value, unit) + " on"
		default:
			out.Figures += "; it does not hold at the largest"
		}
	}
	for i, why := range whys {
		whys[i] = units.List(missing[why], 3) + " (" + why + ")"
	}
	if len(whys) > 0 {
		out.Figures += "; without a ratio: " + units.List(whys, 3)
	}
}
