package verdict

import (
	"fmt"
	"slices"
	"strings"

	"whichfs/internal/plan/scenario"
	"whichfs/internal/plan/study"
	"whichfs/internal/sys/units"
)

// checkCurve agrees if, for every candidate asked for, the interval of the
// growth lies within the claimed limits; it disagrees if any lies wholly
// outside.
func (f *figures) checkCurve(out *Claim, k study.CurveCheck) error {
	factor, def, ok := f.along(out, k.Axis, k.Column)
	if !ok {
		return nil
	}
	c, err := f.curve(factor, def)
	if err != nil {
		return err
	}
	f.judgeCurve(out, k, c)
	return nil
}

// along finds an axis of the run and a column; if there is none, the claim says so.
func (f *figures) along(out *Claim, axis, column string) (factor scenario.Factor, def study.Column, ok bool) {
	if def, ok = f.study.Column(column); !ok {
		out.Figures = "the study has no column " + column
		return factor, def, false
	}
	at := slices.IndexFunc(f.plan.Factors, func(one scenario.Factor) bool { return one.Axis == axis })
	if at < 0 {
		out.Figures = fmt.Sprintf("this run does not vary the %s", axis)
		return factor, def, false
	}
	return f.plan.Factors[at], def, true
}

func (f *figures) judgeCurve(out *Claim, k study.CurveCheck, c Curve) {
	var results, texts, missing []string
	for _, l := range c.Lines {
		switch g := l.Growth; {
		case k.Candidate != "" && l.Candidate != k.Candidate:
		case g.Absent != "":
			missing = append(missing, fmt.Sprintf("%s (%s)", l.Candidate, g.Absent))
		default:
			axis := 1.0
			if k.OfAxis {
				axis = g.To / g.From
			}
			results = append(results, within(g.Ratio, k.Low*axis, k.High*axis))
			texts = append(texts, fmt.Sprintf("of %s %s from %s to %s", l.Candidate, ratioOf(g.Ratio), AxisValue(g.From, c.AxisUnit), AxisValue(g.To, c.AxisUnit)))
		}
	}
	switch {
	case len(results) == 0 && len(missing) > 0:
		out.Figures = "no growth can be computed: " + units.List(missing, 3)
		return
	case len(results) == 0 && k.Candidate != "":
		out.Figures = fmt.Sprintf("this run does not vary the %s of %s", k.Axis, k.Candidate)
		return
	case len(results) == 0:
		out.Figures = fmt.Sprintf("this run varies the %s of no candidate", k.Axis)
		return
	}
	out.Result = allOf(results)
	out.Figures = fmt.Sprintf("%s %s", c.Label(), strings.Join(texts, ", "))
	if len(missing) > 0 && k.Candidate == "" {
		out.Figures += "; without a ratio: " + units.List(missing, 3)
	}
}

// Label names a curve's measure: "Read, for each MiB".
func (c Curve) Label() string {
	if c.Each == "" {
		return c.Name
	}
	return c.Name + ", for each " + c.Each
}

// AxisValue prints a place on an axis: a size exactly, a share in per cent.
func AxisValue(v float64, unit string) string {
	switch {
	case unit == "B":
		return units.Size(int64(v + 0.5))
	case unit == "1" && v >= 0 && v <= 1:
		return strings.Replace(units.Share(v), ".0 ", " ", 1)
	}
	return units.Value(v, unit)
}

// checkMedium decides by what became of the files under a fault, provided they
// are whole without it.
func (f *figures) checkMedium(out *Claim, k study.MediumCheck) {
	factor, level := f.levelOf(k.Level)
	if level < 0 || !factor.Medium {
		out.Figures = "this run has no medium with " + k.Level
		return
	}
	if f.byName[k.Candidate] == nil {
		out.Figures = "this run has no " + k.Candidate
		return
	}
	control, cell := f.mediumCell(k.Candidate, ""), f.mediumCell(k.Candidate, k.Level)
	switch {
	case cell.Absent != "":
		out.Figures = cell.Absent
		return
	case !control.Keeps():
		out.Figures = fmt.Sprintf("%s does not keep its files even without the fault: %s", k.Candidate, control.Summary())
		return
	case cell.Class == DataNotCompared:
		out.Figures = cell.Summary()
		return
	}
	out.Result = Disagrees
	if cell.Keeps() != k.Loses {
		out.Result = Agrees
	}
	out.Figures = fmt.Sprintf("%s with %s: %s", k.Candidate, k.Level, cell.Summary())
}
