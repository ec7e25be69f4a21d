package report

import (
	"io"
	"math"
	"slices"
	"strings"

	"whichfs/internal/probe"
	"whichfs/internal/units"
)

// ProbeText writes a probe for a terminal or a serial line. id is its number
// in the store, "" if it is in none.
func ProbeText(w io.Writer, r probe.Report, id string, s TextOptions) error {
	p := &printer{TextOptions: s}
	r = cleanedProbe(r)
	p.para(0, "", "What is inside "+r.Storage, nil)
	p.line("")
	p.facts(probeFacts(r, id)...)
	if reach := probeReach(r); reach != "" {
		p.line("")
		p.para(0, "!", reach, p.yellow)
	}
	for _, text := range r.Warnings {
		p.para(0, "!", text, p.yellow)
	}
	p.findings(r)
	if !s.Summary {
		p.meanings(r)
		p.curves(r)
	}
	p.stated(r)
	_, err := w.Write(p.b.Bytes())
	return err
}

func (p *printer) findings(r probe.Report) {
	if len(r.Findings) == 0 {
		return
	}
	p.head("Findings")
	t := Table{Columns: []TableColumn{{Head: "Finding"}, {Head: "Value"}, {Head: "Confidence"}, {Head: "Evidence", Flex: true}}}
	for _, f := range r.Findings {
		evidence := f.Evidence
		if !f.Known() {
			evidence = f.Undetermined
		}
		t.Rows = append(t.Rows, []string{f.Name, FindingValue(f), sure(f), evidence})
	}
	p.table(t)
}

func (p *printer) meanings(r probe.Report) {
	if !slices.ContainsFunc(r.Findings, func(f probe.Finding) bool { return f.Meaning != "" }) {
		return
	}
	p.head("What it means")
	for _, f := range r.Findings {
		if f.Meaning != "" {
			p.para(0, "·", f.Name+", "+FindingValue(f)+": "+f.Meaning, nil)
		}
	}
}

// mostRows is how many points of a line are shown one in a row; more become a
// strip.
const mostRows = 26

func (p *printer) curves(r probe.Report) {
	for _, c := range curvesOf(r) {
		p.head(c.Title)
		if c.Mark > 0 {
			p.para(0, "", "The finding sits at "+pointName(c, probe.Point{X: c.Mark})+".", p.faint)
		}
		for _, l := range c.Lines {
			if len(c.Lines) > 1 && l.Name != "" {
				p.line("%s", p.bold(p.text(l.Name)))
			}
			if len(l.Points) > mostRows {
				p.strip(c, l)
			} else {
				p.rows(c, l)
			}
		}
	}
}

// rows prints a line point by point, each with a bar. Where the axis is
// logarithmic the bar is too, and begins at half of the lowest point.
func (p *printer) rows(c probe.Curve, l probe.Line) {
	_, _, _, top := bounds(c)
	low := math.Inf(1)
	for _, line := range c.Lines {
		for _, q := range line.Points {
			if q.Y > 0 {
				low = min(low, q.Y)
			}
		}
	}
	share := func(y float64) float64 { return part(y, top) }
	if c.LogY && low > 0 && top > low {
		share = func(y float64) float64 { return part(math.Log(2*y/low), math.Log(2*top/low)) }
	}
	names, figures := textWidth(p.text(c.XName)), textWidth(p.text(c.YName))
	for _, q := range l.Points {
		names = max(names, textWidth(p.text(pointName(c, q))))
		figures = max(figures, textWidth(p.text(spread(q, c.YUnit))))
	}
	wide := max(8, min(40, p.width()-names-figures-6))
	p.line("  %s  %s  %s", p.faint(pad(p.text(c.XName), names, true)), strings.Repeat(" ", wide), p.faint(p.text(c.YName)))
	for _, q := range l.Points {
		p.line("  %s  %s  %s", pad(p.text(pointName(c, q)), names, true), pad(p.bar(max(0, share(q.Y)), wide), wide, false), p.text(spread(q, c.YUnit)))
	}
}

func pointName(c probe.Curve, q probe.Point) string {
	if c.XUnit == "B" {
		return units.Size(int64(math.Round(q.X)))
	}
	return units.Value(q.X, c.XUnit)
}

// steps of a strip from least to most.
var (
	stripSteps = []rune("▁▂▃▄▅▆▇█")
	asciiSteps = []rune("12345678")
)

// strip prints a line of many points as one row of steps.
func (p *printer) strip(c probe.Curve, l probe.Line) {
	low, high := math.Inf(1), math.Inf(-1)
	for _, q := range l.Points {
		low, high = min(low, q.Y), max(high, q.Y)
	}
	steps := stripSteps
	if p.ASCII {
		steps = asciiSteps
	}
	// The strip begins at zero, so that a flat line looks flat.
	wide := min(len(l.Points), p.width()-4)
	var b strings.Builder
	for i := range wide {
		from, to := i*len(l.Points)/wide, (i+1)*len(l.Points)/wide
		worst := l.Points[from].Y
		for _, q := range l.Points[from:to] {
			if slower(c, q.Y, worst) {
				worst = q.Y
			}
		}
		b.WriteRune(steps[min(int(part(worst, high)*float64(len(steps))), len(steps)-1)])
	}
	p.line("  %s", b.String())
	first, last := l.Points[0], l.Points[len(l.Points)-1]
	p.para(2, "", c.XName+" from "+pointName(c, first)+" to "+pointName(c, last)+"; "+c.YName+" from "+
		units.Value(low, c.YUnit)+" to "+units.Value(high, c.YUnit)+", the highest step. Of several points in one place the slowest is shown.", p.faint)
}

// slower: of a rate less is slower, of a time more.
func slower(c probe.Curve, a, b float64) bool {
	if strings.HasSuffix(c.YUnit, "/s") {
		return a < b
	}
	return a > b
}

func (p *printer) stated(r probe.Report) {
	if len(r.Stated) == 0 {
		return
	}
	p.head("What the device says of itself")
	p.para(0, "", "Shown beside the findings, and never used for them.", nil)
	t := Table{Columns: []TableColumn{{Head: "Name"}, {Head: "Value", Flex: true}, {Head: "From", Flex: true}}}
	for _, s := range r.Stated {
		t.Rows = append(t.Rows, []string{s.Name, s.Value, s.From})
	}
	p.table(t)
}
