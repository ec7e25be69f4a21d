package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"whichfs/internal/probe"
	"whichfs/internal/report/doc"
	"whichfs/internal/sys/units"
)

// ProbeDoc is the result of a probe. id is its number in the store, "" if it is
// not stored. The error is one of drawing.
func ProbeDoc(r probe.Report, id string) (doc.Doc, error) {
	d := doc.Doc{Title: "What is inside " + r.Storage, Kicker: "whichfs probe", Version: r.Version, Reach: probeReach(r), Warnings: r.Warnings, Facts: probeFacts(r, id),
		In: doc.Brief | doc.Full | doc.Page, Foot: "whichfs " + r.Version}
	curves, err := probeCurves(r)
	if err != nil {
		return d, err
	}
	d.Sections = compact(findingsSection(r), meaningsSection(r), curves, statedSection(r))
	return d, nil
}

func findingsSection(r probe.Report) doc.Section {
	if len(r.Findings) == 0 {
		return doc.Section{}
	}
	t := doc.Table{Columns: []doc.Column{{Head: "Finding"}, {Head: "Value"}, {Head: "Confidence"}, {Head: "Evidence", Flex: true}}}
	for _, f := range r.Findings {
		evidence := f.Evidence
		if !f.Known() {
			evidence = f.Undetermined
		}
		value := doc.Cell{Text: FindingValue(f), Tone: doc.Strong}
		if len(f.Curves) > 0 && slices.ContainsFunc(r.Curves, func(c probe.Curve) bool { return c.Key == f.Curves[0] }) {
			value.Href = "#" + curveID(f.Curves[0])
		}
		t.Rows = append(t.Rows, doc.Row{Cells: []doc.Cell{doc.T(f.Name), value, doc.T(dash(f.Sureness())), doc.T(evidence)}})
	}
	return doc.Section{ID: "findings", Title: "Findings", In: doc.Brief | doc.Full | doc.Page, Body: []doc.Block{
		doc.Para{In: doc.Page, Text: "Each finding is inferred from timing alone. The device's own description is at the end, and was not used."}, t}}
}

func curveID(key string) string { return "curve-" + doc.Slug(key) }

func meaningsSection(r probe.Report) doc.Section {
	var list []doc.Item
	for _, f := range r.Findings {
		if f.Meaning != "" {
			list = append(list, doc.Item{Mark: "·", Lead: f.Name + ", " + FindingValue(f), Text: f.Meaning})
		}
	}
	if len(list) == 0 {
		return doc.Section{}
	}
	return doc.Section{ID: "meaning", Title: "What it means", Body: []doc.Block{doc.Items{List: list}}}
}

func statedSection(r probe.Report) doc.Section {
	if len(r.Stated) == 0 {
		return doc.Section{}
	}
	t := doc.Table{Columns: []doc.Column{{Head: "Name"}, {Head: "Value", Flex: true}, {Head: "From", Flex: true}}}
	for _, s := range r.Stated {
		t.Rows = append(t.Rows, doc.Texts(s.Name, s.Value, s.From))
	}
	return doc.Section{ID: "stated", Title: "The device's own description", In: doc.Brief | doc.Full | doc.Page,
		Body: []doc.Block{doc.Para{Text: "Shown for comparison, and never used for the findings."}, t}}
}

// probeCurves draws the curves; a terminal gets a row with a bar for each
// point, or a strip of steps if there are many.
func probeCurves(r probe.Report) (doc.Section, error) {
	s := doc.Section{ID: "curves", Title: "Curves"}
	parts := doc.Parts{}
	for _, c := range curvesOf(r) {
		drawing, err := curveSVG(c)
		if err != nil {
			return s, err
		}
		part := doc.Part{ID: curveID(c.Key), Title: c.Title}
		if c.Mark > 0 {
			part.Body = append(part.Body, doc.Para{Role: doc.Small, Text: "The finding is at " + pointName(c, probe.Point{X: c.Mark}) + "."})
		}
		chart := doc.Chart{SVG: drawing}
		for _, l := range c.Lines {
			chart.Text = append(chart.Text, lineText(c, l)...)
		}
		part.Body = append(part.Body, chart)
		if table := pointTable(c); drawing != "" && len(table.Rows) > 0 {
			part.Body = append(part.Body, doc.Fold{In: doc.Page, Summary: "Figures", Small: units.Count(len(table.Rows), "row"), Body: []doc.Block{table}})
		}
		parts.List = append(parts.List, part)
	}
	if len(parts.List) > 0 {
		s.Body = []doc.Block{doc.Para{In: doc.Page, Text: "Points are medians of repetitions. A dashed vertical line marks the finding."}, parts}
	}
	return s, nil
}

// mostRows is the largest number of points of a line with a row each; more
// become a strip.
const mostRows = 26

func lineText(c probe.Curve, l probe.Line) []doc.Block {
	if len(l.Points) == 0 {
		return nil
	}
	var out []doc.Block
	if len(c.Lines) > 1 && l.Name != "" {
		out = append(out, doc.Items{List: []doc.Item{{Lead: l.Name}}})
	}
	if len(l.Points) > mostRows {
		return append(out, lineStrip(c, l))
	}
	return append(out, lineRows(c, l))
}

// lineRows has a bar for each point. On a logarithmic axis the bar is
// logarithmic too, and begins at half of the lowest point.
func lineRows(c probe.Curve, l probe.Line) doc.Table {
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
	t := doc.Table{Style: doc.Bars, Columns: []doc.Column{{Head: c.XName}, {Kind: doc.Bar}, {Head: c.YName}}}
	for _, q := range l.Points {
		t.Rows = append(t.Rows, doc.Row{Cells: []doc.Cell{doc.T(pointName(c, q)), {Bar: &doc.Span{Value: share(q.Y)}}, doc.T(spread(q, c.YUnit))}})
	}
	return t
}

// lineStrip shows many points as steps from zero, so that a flat line looks
// flat.
func lineStrip(c probe.Curve, l probe.Line) doc.Strip {
	low, high := math.Inf(1), math.Inf(-1)
	for _, q := range l.Points {
		low, high = min(low, q.Y), max(high, q.Y)
	}
	var steps []float64
	for _, q := range l.Points {
		steps = append(steps, part(q.Y, high))
	}
	first, last := l.Points[0], l.Points[len(l.Points)-1]
	return doc.Strip{Steps: steps, Least: strings.HasSuffix(c.YUnit, "/s"), Text: c.XName + " from " + pointName(c, first) + " to " + pointName(c, last) + "; " + c.YName + " from " +
		units.Value(low, c.YUnit) + " to " + units.Value(high, c.YUnit) + ", the highest step. Where several points share a place the slowest is shown."}
}

// pointTable puts the lines of a curve side by side, with a row for each x.
func pointTable(c probe.Curve) doc.Table {
	t := doc.Table{Style: doc.Scroll, Name: "Figures of " + c.Title, Columns: []doc.Column{{Head: c.XName}}}
	var xs []float64
	for _, l := range c.Lines {
		t.Columns = append(t.Columns, doc.Column{Head: first(l.Name, c.YName), Kind: doc.Figures})
		for _, q := range l.Points {
			if !slices.Contains(xs, q.X) {
				xs = append(xs, q.X)
			}
		}
	}
	slices.Sort(xs)
	for _, x := range xs {
		row := doc.Texts(pointName(c, probe.Point{X: x}))
		for _, l := range c.Lines {
			cell := doc.T("–")
			for _, q := range l.Points {
				if q.X == x {
					cell = doc.Cell{Text: rate(units.Value(q.Y, c.YUnit)), Long: spread(q, c.YUnit)}
				}
			}
			row.Cells = append(row.Cells, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func pointName(c probe.Curve, q probe.Point) string {
	if c.XUnit == "B" {
		return units.Size(int64(math.Round(q.X)))
	}
	return units.Value(q.X, c.XUnit)
}

// FindingValue formats a finding's figure; "cannot be determined" if there is
// none.
func FindingValue(f probe.Finding) string {
	switch {
	case !f.Known():
		return "cannot be determined"
	case f.Text != "" && (f.Unit == "" || f.Value == 0):
		return f.Text
	}
	value := units.Value(f.Value, f.Unit)
	switch {
	case f.Unit == "1/s":
		value = units.Value(f.Value, "1") + " per second"
		if f.Value >= 100 {
			value = units.Value(math.Round(f.Value), "1") + " per second"
		}
	case f.Unit == "B" && f.Value == 0:
		value = "none"
	case f.Key == probe.PageSize || f.Key == probe.SegmentSize || f.Key == probe.RealSize:
		value = units.Size(int64(math.Round(f.Value))) // geometry is exact
	}
	if f.Text != "" {
		value = f.Text + ", " + value
	}
	return value
}

// probeFacts are the names and values at the head of a probe's report.
func probeFacts(r probe.Report, id string) []doc.Fact {
	took := units.Value(r.Seconds, "s")
	if r.Clock == "simulated" {
		took += " on the model's own clock"
	}
	wrote := "no: it only read"
	if r.Wrote {
		wrote = "yes"
		if r.Written > 0 {
			wrote = units.Value(float64(r.Written), "B")
		}
	}
	seed := ""
	if r.Seed != 0 {
		seed = fmt.Sprint(r.Seed)
	}
	began := ""
	if !r.Started.IsZero() {
		began = r.Started.UTC().Format("2006-01-02 15:04 UTC")
	}
	return []doc.Fact{
		{Name: "storage", Text: r.Storage},
		{Name: "identity", Text: r.Identity},
		{Name: "size", Text: units.Size(r.Size)},
		{Name: "probe", Text: id},
		{Name: "machine", Text: r.Machine},
		{Name: "kernel", Text: r.Kernel},
		{Name: "began", Text: began},
		{Name: "took", Text: took},
		{Name: "wrote", Text: wrote},
		{Name: "effort", Text: r.Effort},
		{Name: "seed", Text: seed},
	}
}

// probeReach says what a probe's figures contain besides the device.
func probeReach(r probe.Report) string {
	switch {
	case r.Clock == "simulated":
		return "The model was probed on its own clock: these figures include no kernel, bus or processor."
	case r.Emulated:
		return "Probed from a guest with an emulated processor, which adds about 0.2 ms to each request: the figures of small and fast requests include it."
	}
	return ""
}

// ProbeJSON writes a probe for programs.
func ProbeJSON(w io.Writer, r probe.Report) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// spread is the median of a point with its range.
func spread(p probe.Point, unit string) string {
	text := rate(units.Value(p.Y, unit))
	if p.N > 1 && p.High > p.Low {
		text += " (" + rate(units.Value(p.Low, unit)) + " – " + rate(units.Value(p.High, unit)) + ")"
	}
	return text
}

// curvesOf returns the curves in the order of their findings, each once, with
// those of no finding last.
func curvesOf(r probe.Report) []probe.Curve {
	var out []probe.Curve
	taken := map[string]bool{}
	take := func(key string) {
		for _, c := range r.Curves {
			if c.Key == key && !taken[key] {
				taken[key] = true
				out = append(out, inOrder(c))
			}
		}
	}
	for _, f := range r.Findings {
		for _, key := range f.Curves {
			take(key)
		}
	}
	for _, c := range r.Curves {
		take(c.Key)
	}
	return out
}

// inOrder sorts the points of a curve's lines, because a search does not
// measure them in order.
func inOrder(c probe.Curve) probe.Curve {
	lines := slices.Clone(c.Lines)
	for i := range lines {
		lines[i].Points = slices.Clone(lines[i].Points)
		slices.SortStableFunc(lines[i].Points, func(a, b probe.Point) int { return cmp.Compare(a.X, b.X) })
	}
	c.Lines = lines
	return c
}
