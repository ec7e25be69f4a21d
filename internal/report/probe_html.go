package report

import (
	_ "embed"
	"html/template"
	"io"
	"slices"

	"whichfs/internal/probe"
	"whichfs/internal/units"
)

//go:embed probe.gohtml
var probeTemplate string

// The page of a probe is one file without scripts, like that of a run.
var probePage = template.Must(template.New("probe").Funcs(template.FuncMap{
	"value": FindingValue,
	"sure":  sure,
}).Parse(probeTemplate))

type probeData struct {
	probe.Report
	ID    string
	Style template.CSS
	Reach string
	Facts [][2]string
	Drawn []drawnCurve
}

// drawnCurve is a curve with its picture and its figures as a table.
type drawnCurve struct {
	probe.Curve
	Drawing template.HTML
	Heads   []string // names of the lines
	Rows    []curveRow
	Count   string
}

type curveRow struct {
	Name  string
	Cells []string
}

// ProbeHTML writes a probe as a page. The error is that of w or of drawing.
func ProbeHTML(w io.Writer, r probe.Report, id string) error {
	r = cleanedProbe(r)
	d := probeData{Report: r, ID: clean(id), Style: template.CSS(pageStyle), Reach: probeReach(r)}
	facts := probeFacts(r, "")
	for i := 0; i+1 < len(facts); i += 2 {
		if facts[i+1] != "" {
			d.Facts = append(d.Facts, [2]string{facts[i], facts[i+1]})
		}
	}
	for _, c := range curvesOf(r) {
		drawing, err := curveSVG(c)
		if err != nil {
			return err
		}
		if drawing == "" {
			continue
		}
		one := drawnCurve{Curve: c, Drawing: drawing}
		one.Heads, one.Rows = curveTable(c)
		one.Count = units.Count(len(one.Rows), "row")
		d.Drawn = append(d.Drawn, one)
	}
	return probePage.Execute(w, d)
}

// curveTable sets the lines of a curve side by side, a row for each x.
func curveTable(c probe.Curve) (heads []string, rows []curveRow) {
	var xs []float64
	for _, l := range c.Lines {
		name := l.Name
		if name == "" {
			name = c.YName
		}
		heads = append(heads, name)
		for _, q := range l.Points {
			if !slices.Contains(xs, q.X) {
				xs = append(xs, q.X)
			}
		}
	}
	slices.Sort(xs)
	for _, x := range xs {
		row := curveRow{Name: pointName(c, probe.Point{X: x}), Cells: make([]string, len(c.Lines))}
		for i, l := range c.Lines {
			row.Cells[i] = "–"
			for _, q := range l.Points {
				if q.X == x {
					row.Cells[i] = spread(q, c.YUnit)
				}
			}
		}
		rows = append(rows, row)
	}
	return heads, rows
}
