package report

import (
	"fmt"
	"html/template"
	"slices"
	"strings"

	"whichfs/internal/units"
	"whichfs/internal/verdict"
)

// Curves: measures over the points of an axis.

// axis is one axis with its curves; candidates keep their number over all of
// them.
type axis struct {
	name   string
	names  []string // of candidates, by number
	curves []verdict.Curve
	extra  []verdict.Curve // those that the study has no column for
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

// pointsOf are the places on a curve's axis that any line has a point at.
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

// plotted: the line has a figure at some point.
func plotted(l verdict.CurveLine) bool {
	return slices.ContainsFunc(l.Points, func(q verdict.CurvePoint) bool { return q.Absent == "" })
}

// pointless gathers the lines without any figure by the reason of the largest
// point, which is the candidate as it is more often than not.
func pointless(c verdict.Curve) []reason {
	var out []reason
	for _, l := range c.Lines {
		if plotted(l) || len(l.Points) == 0 {
			continue
		}
		text := l.Points[len(l.Points)-1].Absent
		at := slices.IndexFunc(out, func(r reason) bool { return r.Text == text })
		if at < 0 {
			out = append(out, reason{Text: text})
			at = len(out) - 1
		}
		out[at].Names = append(out[at].Names, l.Candidate)
	}
	return out
}

// oneEach is the word for a growth without any noise known.
const oneEach = "one figure each"

// growthWord says how a line grows, in the words of an outcome.
func growthWord(g verdict.Growth) string {
	switch {
	case g.Absent != "":
		return ""
	case g.Ratio.Single:
		return oneEach
	}
	return g.Outcome
}

// growthFigure is the ratio with its interval.
func growthFigure(g verdict.Growth) string {
	if g.Absent != "" {
		return "–"
	}
	return ratio(g.Ratio)
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

// span says what the growth of most lines is over.
func span(c verdict.Curve) string {
	if points := pointsOf(c); len(points) > 1 {
		return verdict.AxisValue(points[0], c.AxisUnit) + " to " + verdict.AxisValue(points[len(points)-1], c.AxisUnit)
	}
	return ""
}

// shorterSpan names the lines whose growth is over less than that.
func shorterSpan(c verdict.Curve) []string {
	points := pointsOf(c)
	var groups []reason
	for _, l := range c.Lines {
		g := l.Growth
		if g.Absent != "" || len(points) < 2 || g.From == points[0] && g.To == points[len(points)-1] {
			continue
		}
		text := fmt.Sprintf("from %s to %s", verdict.AxisValue(g.From, c.AxisUnit), verdict.AxisValue(g.To, c.AxisUnit))
		at := slices.IndexFunc(groups, func(r reason) bool { return r.Text == text })
		if at < 0 {
			groups = append(groups, reason{Text: text})
			at = len(groups) - 1
		}
		groups[at].Names = append(groups[at].Names, l.Candidate)
	}
	var out []string
	for _, r := range groups {
		out = append(out, r.Text+": "+strings.Join(r.Names, ", "))
	}
	return out
}

const aboutGrowth = "Growth is the figure at the largest point over that at the smallest. It grows, falls or does not grow where the interval of the ratio says so beyond, or within, the margin of interest."

// axes prints a table for each measure.
func (p *printer) axes(v verdict.Verdict) {
	for i, a := range axesOf(v) {
		p.head("By " + a.name)
		if i == 0 {
			p.para(0, "", aboutGrowth, nil)
		}
		n := &notes{}
		for _, c := range a.curves {
			p.line("")
			p.para(0, "", c.Label(), p.bold)
			p.curveTable(c, n)
		}
		for i, text := range n.texts {
			p.para(0, "("+letter(i)+")", text, p.faint)
		}
		if names := labels(a.extra); len(names) > 0 {
			p.para(0, "–", "the page (--html) and --json have also: "+strings.Join(names, ", "), p.faint)
		}
	}
}

func labels(list []verdict.Curve) []string {
	var out []string
	for _, c := range list {
		out = append(out, c.Name)
	}
	return out
}

func (p *printer) curveTable(c verdict.Curve, n *notes) {
	points := pointsOf(c)
	t := Table{Columns: []TableColumn{{Head: "", Flex: true}}}
	for _, x := range points {
		t.Columns = append(t.Columns, TableColumn{Head: verdict.AxisValue(x, c.AxisUnit), Right: true})
	}
	t.Columns = append(t.Columns, TableColumn{Head: "Growth", Flex: true})
	var growths []verdict.Growth
	for _, l := range c.Lines {
		if !plotted(l) {
			continue
		}
		row := []string{l.Candidate}
		for _, x := range points {
			if q := pointAt(l, x); q.Absent != "" {
				row = append(row, "("+n.mark(q.Absent)+")")
			} else {
				row = append(row, units.Value(q.Estimate.Value, c.Unit))
			}
		}
		growth := "–"
		if l.Growth.Absent == "" {
			growth = units.Ratio(l.Growth.Ratio.Value) + ", " + growthWord(l.Growth)
		}
		t.Rows = append(t.Rows, append(row, growth))
		growths = append(growths, l.Growth)
	}
	t.Paint = func(row, column int, line string) string {
		if column <= len(points) {
			return line
		}
		switch growths[row].Outcome {
		case verdict.Grows:
			return p.red(line)
		case verdict.Steady, verdict.Falls:
			return p.green(line)
		}
		return p.faint(line)
	}
	p.table(t)
	if shorter := shorterSpan(c); len(shorter) > 0 {
		p.para(0, "–", "growth "+strings.Join(shorter, "; "), p.faint)
	}
	for _, r := range pointless(c) {
		p.para(0, "–", "no figure for "+strings.Join(r.Names, ", ")+": "+r.Text, p.faint)
	}
}

// growthLines say in one sentence for each axis how the time to mount grows, or
// the first measure if there is no such; by name and sentence.
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

// mostGrown is how many candidates of one outcome a sentence names.
const mostGrown = 6

// grown names the candidates of a curve by their outcome, those that grow first.
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

// pageAxis is an axis on the page: a chart for each measure.
type pageAxis struct {
	Name, ID string
	Charts   []pageChart
	Extra    []pageChart
	Growth   string // what the word means
	Others   []string
}

type pageChart struct {
	verdict.Curve
	ID      string
	Drawing template.HTML
	Span    string
	Keys    []pageLine
	Heads   []string
	Rows    []curveRow
	Missing []reason // points of lines that have others
	Shorter []string
	Without []reason
}

// pageLine is a line of the legend.
type pageLine struct {
	Number              int
	Sample              template.HTML
	Name                string
	Growth, Word, Power string
}

func axesFor(v verdict.Verdict) ([]pageAxis, error) {
	var out []pageAxis
	for i, a := range axesOf(v) {
		one := pageAxis{Name: a.name, ID: fmt.Sprintf("axis-%d", i+1), Growth: aboutGrowth, Others: labels(a.extra)}
		for _, group := range []struct {
			curves []verdict.Curve
			to     *[]pageChart
			id     string
		}{{a.curves, &one.Charts, "chart"}, {a.extra, &one.Extra, "further"}} {
			for k, c := range group.curves {
				chart, err := chartFor(c, a.names, fmt.Sprintf("%s-%s-%d", one.ID, group.id, k+1))
				if err != nil {
					return nil, err
				}
				*group.to = append(*group.to, chart)
			}
		}
		out = append(out, one)
	}
	return out, nil
}

func chartFor(c verdict.Curve, names []string, id string) (pageChart, error) {
	out := pageChart{Curve: c, ID: id, Span: span(c), Shorter: shorterSpan(c), Without: pointless(c)}
	var err error
	if out.Drawing, err = linesSVG(c, names); err != nil {
		return out, err
	}
	points := pointsOf(c)
	for _, x := range points {
		out.Heads = append(out.Heads, verdict.AxisValue(x, c.AxisUnit))
	}
	for _, l := range c.Lines {
		if !plotted(l) {
			continue
		}
		number := slices.Index(names, l.Candidate)
		sample, err := lineSample(number)
		if err != nil {
			return out, err
		}
		out.Keys = append(out.Keys, pageLine{Number: number + 1, Sample: sample, Name: l.Candidate,
			Growth: growthFigure(l.Growth), Word: growthWord(l.Growth), Power: power(l.Growth)})
		row := curveRow{Name: l.Candidate}
		for _, x := range points {
			if q := pointAt(l, x); q.Absent != "" {
				row.Cells = append(row.Cells, "–")
			} else {
				row.Cells = append(row.Cells, estimate(q.Estimate, c.Unit))
			}
		}
		out.Rows = append(out.Rows, row)
	}
	out.Missing = missingPoints(c)
	return out, nil
}

// missingPoints gathers the points that lines lack, by reason: "ubifs at 8 MiB".
func missingPoints(c verdict.Curve) []reason {
	var out []reason
	for _, l := range c.Lines {
		if !plotted(l) {
			continue
		}
		for _, q := range l.Points {
			if q.Absent == "" {
				continue
			}
			at := slices.IndexFunc(out, func(r reason) bool { return r.Text == q.Absent })
			if at < 0 {
				out = append(out, reason{Text: q.Absent})
				at = len(out) - 1
			}
			out[at].Names = append(out[at].Names, l.Candidate+" at "+verdict.AxisValue(q.Value, c.AxisUnit))
		}
	}
	return out
}
