package verdict

import (
	"fmt"
	"math"
	"slices"

	"whichfs/internal/judge/stats"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
)

// Curve is one measure over the points of an axis, a line for each candidate.
type Curve struct {
	Axis     string `json:"axis"`      // "partition size"
	AxisUnit string `json:"axis_unit"` // "B", or "1": a share
	// Column is the measure that the points are figures of.
	Column string `json:"column"` // key
	Name   string `json:"name"`
	Unit   string `json:"unit"`
	About  string `json:"about,omitempty"`
	// Each, if not empty, is the unit of work that the figures are per ("MiB",
	// "file", "operation"), because the points do different amounts of work.
	Each string `json:"each,omitempty"`
	// Extra columns are ours: the study's own table lacks them.
	Extra bool        `json:"extra,omitempty"`
	Lines []CurveLine `json:"lines"` // in plan order
}

// CurveLine is one candidate's points, smallest first, and their growth.
type CurveLine struct {
	Candidate string       `json:"candidate"`
	Points    []CurvePoint `json:"points"`
	Growth    Growth       `json:"growth"`
}

// CurvePoint is a figure at a point of the axis, or the reason why there is none.
type CurvePoint struct {
	Value    float64  `json:"value"` // on the axis
	Level    string   `json:"level"` // of the factor; empty: its reference
	Estimate Interval `json:"estimate"`
	Absent   string   `json:"absent,omitempty"`
}

// Growth compares the largest point that a line has with the smallest.
type Growth struct {
	From float64 `json:"from"` // on the axis
	To   float64 `json:"to"`
	// Ratio of the figures, with the noise of all points of the line; Single: the
	// noise is unknown, and nothing is decided.
	Ratio Interval `json:"ratio"`
	// Exponent of the power law with this ratio: 1 is proportional to the axis. 0
	// where the axis has no ratio.
	Exponent float64 `json:"exponent"`
	Outcome  string  `json:"outcome,omitempty"`
	Absent   string  `json:"absent,omitempty"`
}

// Outcomes of a growth: the interval of the ratio lies above the margin of
// interest, below it, within it, or across its limits.
const (
	Grows      = "grows"
	Falls      = "falls"
	Steady     = "does not grow"
	GrowthOpen = "not settled"
)

// curves are those of every factor with an axis, for the factor's columns that
// have at least one line of two points.
func (f *figures) curves() ([]Curve, error) {
	var out []Curve
	for _, factor := range f.plan.Factors {
		if factor.Axis == "" {
			continue
		}
		for _, def := range f.study.Columns {
			if len(factor.Keys) > 0 && !slices.Contains(factor.Keys, def.Key) {
				continue
			}
			c, err := f.curve(factor, def)
			if err != nil {
				return nil, fmt.Errorf("%s over %s: %w", def.Key, factor.Axis, err)
			}
			if slices.ContainsFunc(c.Lines, func(l CurveLine) bool { return l.Growth.Absent == "" }) {
				out = append(out, c)
			}
		}
	}
	return out, nil
}

// axisPoint is a point of a factor's axis.
type axisPoint struct {
	value float64
	level string
}

// axisOf returns the points of a factor's axis, smallest first, without a
// reference whose place on an axis of sizes is unknown.
func axisOf(factor scenario.Factor) []axisPoint {
	var out []axisPoint
	if factor.Value > 0 || factor.Unit != "B" {
		out = append(out, axisPoint{factor.Value, ""})
	}
	for _, l := range factor.Levels {
		out = append(out, axisPoint{l.Value, l.Name})
	}
	slices.SortStableFunc(out, func(a, b axisPoint) int {
		switch {
		case a.value < b.value:
			return -1
		case a.value > b.value:
			return 1
		}
		return 0
	})
	return out
}

func (f *figures) curve(factor scenario.Factor, def study.Column) (Curve, error) {
	c := Curve{Axis: factor.Axis, AxisUnit: factor.Unit, Column: def.Key, Name: def.Name, Unit: def.Unit, About: def.About, Extra: def.Extra && !slices.Contains(factor.Keys, def.Key)}
	points := axisOf(factor)
	each := 0.0
	if each, c.Each = f.eachOf(factor, def, points); c.Each == "" {
		def.Per = "" // all points do the same amount
	}
	for _, s := range f.subjects {
		if !varied(factor, s) {
			continue
		}
		line := CurveLine{Candidate: s.Name}
		samples := make([][]float64, len(points))
		for i, p := range points {
			point := CurvePoint{Value: p.value, Level: p.level}
			if samples[i], point.Absent = f.atPoint(s.Name, p.level, def); point.Absent == "" {
				for k := range samples[i] {
					samples[i][k] *= each
				}
				point.Estimate = plainInterval(samples[i])
			}
			line.Points = append(line.Points, point)
		}
		var err error
		if line.Growth, err = growth(line.Points, samples, f.margin); err != nil {
			return c, fmt.Errorf("%s: %w", s.Name, err)
		}
		c.Lines = append(c.Lines, line)
	}
	return c, nil
}

// atPoint are the figures of a candidate at a point of an axis.
func (f *figures) atPoint(name, level string, def study.Column) ([]float64, string) {
	s := f.known(name, level)
	switch {
	case s == nil:
		return nil, "no trial of it"
	case s.Done == 0: // the outcome is the figure's reason
		return nil, s.Reason
	case def.Level:
		figures, why := s.sums(def)
		return figures.Values(), why
	}
	sample, why := s.perUnit(def)
	return sample.Values(), why
}

// sameAmount is how far amounts of work may differ and still be compared as
// they are.
const sameAmount = 1.01

// eachOf returns the unit of work that a column's figures must be divided by
// where the points do different amounts of work, and its size in base units.
func (f *figures) eachOf(factor scenario.Factor, def study.Column, points []axisPoint) (size float64, each string) {
	if def.Per == "" || def.Level {
		return 1, ""
	}
	apart := false
	for _, s := range f.subjects {
		least, most := math.Inf(1), 0.0
		for _, p := range points {
			one := f.known(s.Name, p.level)
			if one == nil || !varied(factor, s) {
				continue
			}
			if n, why := one.amount(def, rateBase(def.Per)); why == "" {
				least, most = min(least, n), max(most, n)
			}
		}
		apart = apart || most > least*sameAmount
	}
	switch {
	case !apart:
		return 1, ""
	case def.Per == result.DataBytes:
		return 1 << 20, "MiB"
	case def.Per == result.DataFiles:
		return 1, "file"
	}
	return 1, "operation"
}

// growth of a line, from the smallest to the largest point with figures.
func growth(points []CurvePoint, samples [][]float64, margin float64) (Growth, error) {
	first, last := -1, -1
	for i, p := range points {
		if p.Absent == "" && p.Estimate.Value > 0 {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	if first == last {
		return Growth{Absent: "fewer than two points have figures"}, nil
	}
	for _, s := range samples {
		if slices.ContainsFunc(s, func(v float64) bool { return v <= 0 }) {
			return Growth{Absent: "a figure of 0 has no ratio"}, nil
		}
	}
	e, err := stats.PooledRatio(samples[first], samples[last], slices.Concat(samples[:first], samples[first+1:last], samples[last+1:])...)
	if err != nil {
		return Growth{}, err
	}
	g := Growth{From: points[first].Value, To: points[last].Value, Ratio: IntervalOf(e), Outcome: GrowthOpen}
	if g.From > 0 && g.To > g.From {
		g.Exponent = math.Log(g.Ratio.Value) / math.Log(g.To/g.From)
	}
	switch top := 1 + margin; {
	case g.Ratio.Single:
	case g.Ratio.Low > top:
		g.Outcome = Grows
	case g.Ratio.High < 1/top:
		g.Outcome = Falls
	case g.Ratio.Low >= 1/top && g.Ratio.High <= top:
		g.Outcome = Steady
	}
	return g, nil
}
