package report

import (
	"fmt"
	"slices"
	"strings"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/report/doc"
	"whichfs/internal/sys/units"
)

// Curves: measures over the points of an axis.

// axis is one axis with its curves; candidates keep their number in all of
// them.
type axis struct {
	name   string
	names  []string // of candidates, by number
	curves []verdict.Curve
	extra  []verdict.Curve // measures without a column in the study
}

func axesOf(v verdict.Verdict) []axis {
	var out []axis
	for _, c := range v.Curves {
		at := slices.IndexFunc(out, func(a axis) bool { return a.name == c.Axis })
		if at < 0 {
			out = append(out, axis{name: c.Axis})
			at = len(out) - 1
		}
		a := &out[at]
		for _, l := range c.Lines {
			if !slices.Contains(a.names, l.Candidate) {
				a.names = append(a.names, l.Candidate)
			}
		}
		if c.Extra {
			a.extra = append(a.extra, c)
		} else {
			a.curves = append(a.curves, c)
		}
	}
	for i := range out {
		if len(out[i].curves) == 0 {
			out[i].curves, out[i].extra = out[i].extra, nil
		}
	}
	return out
}

// pointsOf are the places on a curve's axis where any line has a point.
func pointsOf(c verdict.Curve) []float64 {
	var out []float64
	for _, l := range c.Lines {
		for _, q := range l.Points {
			if !slices.Contains(out, q.Value) {
				out = append(out, q.Value)
			}
		}
	}
	slices.Sort(out)
	return out
}

func pointAt(l verdict.CurveLine, value float64) verdict.CurvePoint {
	for _, q := range l.Points {
		if q.Value == value {
			return q
		}
	}
	return verdict.CurvePoint{Value: value, Absent: "no trial of it"}
}

// plotted reports whether the line has a figure at any point.
func plotted(l verdict.CurveLine) bool {
	return slices.ContainsFunc(l.Points, func(q verdict.CurvePoint) bool { return q.Absent == "" })
}

// pointless groups the lines without any figure by the reason at the largest
// point, which usually is the unchanged candidate.
func pointless(c verdict.Curve) doc.Groups {
	var out doc.Groups
	for _, l := range c.Lines {
		if !plotted(l) && len(l.Points) > 0 {
			out.Add(l.Points[len(l.Points)-1].Absent, l.Candidate)
		}
	}
	return out
}

// oneEach is the word for a growth of unknown noise.
const oneEach = "one figure each"

// growthWord says how a line grows, as an outcome.
func growthWord(g verdict.Growth) string {
	switch {
	case g.Absent != "":
		return ""
	case g.Ratio.Single:
		return oneEach
	}
	return g.Outcome
}

// growthCell is how a line grows.
func growthCell(g verdict.Growth) doc.Cell {
	if g.Absent != "" {
		return doc.T("–")
	}
	cell := doc.Cell{Text: units.Ratio(g.Ratio.Value), Long: ratio(g.Ratio), Tail: growthWord(g), Tone: doc.Muted}
	switch g.Outcome {
	case verdict.Grows:
		cell.Tone = doc.Bad
	case verdict.Steady, verdict.Falls:
		cell.Tone = doc.Good
	}
	return cell
}

// power is the exponent of a growth along an axis.
func power(g verdict.Growth) string {
	if g.Absent != "" || g.Exponent == 0 {
		return "–"
	}
	text := fmt.Sprintf("%.2f", g.Exponent)
	if text == "-0.00" {
		return "0.00"
	}
	return strings.Replace(text, "-", "−", 1)
}

// span says over which range most lines' growth is computed.
func span(c verdict.Curve) string {
	if points := pointsOf(c); len(points) > 1 {
		return verdict.AxisValue(points[0], c.AxisUnit) + " to " + verdict.AxisValue(points[len(points)-1], c.AxisUnit)
	}
	return ""
}

// shorterSpan names the lines with growth over a shorter range.
func shorterSpan(c verdict.Curve) []string {
	points := pointsOf(c)
	var groups doc.Groups
	for _, l := range c.Lines {
		g := l.Growth
		if g.Absent != "" || len(points) < 2 || g.From == points[0] && g.To == points[len(points)-1] {
			continue
		}
		groups.Add(fmt.Sprintf("from %s to %s", verdict.AxisValue(g.From, c.AxisUnit), verdict.AxisValue(g.To, c.AxisUnit)), l.Candidate)
	}
	var out []string
	for _, r := range groups {
		out = append(out, r.Text+": "+strings.Join(r.Names, ", "))
	}
	return out
}

const aboutGrowth = "Growth is the figure at the largest point over that at the smallest. A line grows or falls if the interval of this ratio lies beyond the margin of interest, and does not grow if it lies within."

// axisSections has a chart and a table for each measure of an axis.
func axisSections(v verdict.Verdict) ([]doc.Section, error) {
	var out []doc.Section
	for i, a := range axesOf(v) {
		id := fmt.Sprintf("axis-%d", i+1)
		s := doc.Section{ID: id, Title: "By " + a.name, Body: []doc.Block{
			doc.Para{In: doc.Page, Text: "Each candidate has one line, with the same number in every chart; the numbers are at the ends of the lines."}}}
		if i == 0 {
			s.Body = append(s.Body, doc.Para{Text: aboutGrowth})
		}
		charts, err := curveParts(a.curves, a.names, id+"-chart")
		if err != nil {
			return nil, err
		}
		further, err := curveParts(a.extra, a.names, id+"-further")
		if err != nil {
			return nil, err
		}
		s.Body = append(s.Body, charts, doc.Footnotes{})
		if names := labels(a.extra); len(names) > 0 {
			s.Body = append(s.Body,
				doc.Items{In: doc.Full, List: []doc.Item{{Mark: "–", Muted: true, Text: "the page (--html) and --json also have: " + strings.Join(names, ", ")}}},
				doc.Fold{In: doc.Page, Summary: units.Count(len(names), "further measure"), Small: strings.Join(names, ", "), Body: []doc.Block{further, doc.Footnotes{}}})
		}
		out = append(out, s)
	}
	return out, nil
}

func labels(list []verdict.Curve) []string {
	var out []string
	for _, c := range list {
		out = append(out, c.Name)
	}
	return out
}

func curveParts(curves []verdict.Curve, names []string, id string) (doc.Parts, error) {
	var out doc.Parts
	for k, c := range curves {
		drawing, err := linesSVG(c, names, "candidate")
		if err != nil {
			return out, err
		}
		legend, err := curveLegend(c, names)
		if err != nil {
			return out, err
		}
		out.List = append(out.List, doc.Part{ID: fmt.Sprintf("%s-%d", id, k+1), Title: c.Label(), Body: []doc.Block{
			doc.Para{Role: doc.Small, Text: c.About, In: doc.Page}, doc.Chart{SVG: drawing}, legend,
			doc.Fold{Summary: "Figures", Small: units.Count(len(legend.Rows), "candidate"), Body: []doc.Block{curveTable(c)}}}})
	}
	return out, nil
}

// curveLegend names the lines of a chart.
func curveLegend(c verdict.Curve, names []string) (doc.Table, error) {
	t := doc.Table{Style: doc.Legend, In: doc.Page, Columns: []doc.Column{{Head: "Line"}, {Head: "No."}, {Head: "Candidate", Kind: doc.Names}, {Head: first(span(c), "Growth")}, {Head: "Power", Kind: doc.Ratios}}}
	for _, l := range c.Lines {
		if !plotted(l) {
			continue
		}
		number := slices.Index(names, l.Candidate)
		sample, err := lineSample(number)
		if err != nil {
			return t, err
		}
		growth := growthCell(l.Growth)
		growth.Tone = doc.Plain
		t.Rows = append(t.Rows, doc.Row{Cells: []doc.Cell{{Sample: sample}, doc.T(fmt.Sprint(number + 1)), doc.T(l.Candidate), growth, doc.T(power(l.Growth))}})
	}
	return t, nil
}

// curveTable has the figures at each point.
func curveTable(c verdict.Curve) doc.Table {
	points := pointsOf(c)
	t := doc.Table{Style: doc.Scroll, Name: c.Label() + " by " + c.Axis, Columns: []doc.Column{{Head: "Candidate"}}}
	for _, x := range points {
		t.Columns = append(t.Columns, doc.Column{Head: verdict.AxisValue(x, c.AxisUnit), Kind: doc.Figures})
	}
	t.Columns = append(t.Columns, doc.Column{Head: "Growth", Flex: true})
	for _, l := range c.Lines {
		if !plotted(l) {
			continue
		}
		row := doc.Texts(l.Candidate)
		for _, x := range points {
			q := pointAt(l, x)
			row.Cells = append(row.Cells, doc.Cell{Absent: q.Absent, Text: units.Value(q.Estimate.Value, c.Unit), Long: estimate(q.Estimate, c.Unit)})
		}
		row.Cells = append(row.Cells, growthCell(l.Growth))
		t.Rows = append(t.Rows, row)
	}
	if shorter := shorterSpan(c); len(shorter) > 0 {
		t.Below = append(t.Below, doc.Item{Mark: "–", Muted: true, Text: "growth " + strings.Join(shorter, "; ")})
	}
	t.Below = append(t.Below, noFigure(pointless(c))...)
	return t
}

// growthLines says in one sentence for each axis how the mount time grows, or
// the first measure if there is none; by name and sentence.
func growthLines(v verdict.Verdict) [][2]string {
	var out [][2]string
	for _, a := range axesOf(v) {
		c := a.curves[0]
		for _, one := range a.curves {
			if one.Column == "mount" {
				c = one
			}
		}
		if parts := grown(c); len(parts) > 0 {
			out = append(out, [2]string{c.Label() + " by " + a.name, fmt.Sprintf("from %s %s.", span(c), strings.Join(parts, "; "))})
		}
	}
	return out
}

// mostGrown is the largest number of candidates of one outcome that a sentence
// names.
const mostGrown = 6

// grown names the candidates of a curve by outcome, with those that grow first.
func grown(c verdict.Curve) []string {
	names := map[string][]string{}
	points := pointsOf(c)
	for _, l := range c.Lines {
		g := l.Growth
		if g.Absent != "" {
			continue
		}
		times := units.Ratio(g.Ratio.Value)
		if len(points) > 0 && g.From != points[0] {
			times += " from " + verdict.AxisValue(g.From, c.AxisUnit)
		}
		word := growthWord(g)
		names[word] = append(names[word], l.Candidate+" ("+times+")")
	}
	var out []string
	for _, o := range []struct{ word, one, many, after string }{
		{verdict.Grows, "grows", "grow", ""}, {verdict.Steady, "does not grow", "do not grow", ""}, {verdict.Falls, "falls", "fall", ""},
		{verdict.GrowthOpen, "is not settled", "are not settled", ""}, {oneEach, "has", "have", " one figure each"},
	} {
		if list := names[o.word]; len(list) > 0 {
			verb := o.many
			if len(list) == 1 {
				verb = o.one
			}
			out = append(out, units.List(list, mostGrown)+" "+verb+o.after)
		}
	}
	return out
}
