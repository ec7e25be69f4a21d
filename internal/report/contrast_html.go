package report

import (
	_ "embed"
	"html/template"
	"io"
	"strings"

	"whichfs/internal/contrast"
	"whichfs/internal/harmless"
	"whichfs/internal/units"
)

//go:embed contrast.gohtml
var contrastTemplate string

var contrastPage = template.Must(template.New("contrast").Funcs(template.FuncMap{
	"join":      func(list []string) string { return strings.Join(list, ", ") },
	"enumerate": enumerate,
	"side":      sideText,
	"name":      differenceName,
	"dash":      absentDash,
	"shorten":   shorten,
	"share":     units.Share,
}).Parse(contrastTemplate))

// contrastData is what the template sees.
type contrastData struct {
	contrast.Contrast
	Style  template.CSS
	Key    string
	Kernel string // of both runs
	Grid   contrastGrid
	Blocks []contrastBlock
}

type contrastGrid struct {
	Heads []string
	Rows  []contrastLine
	Notes []string
}

type contrastLine struct {
	Name  string
	Cells []contrastCell
}

type contrastCell struct{ Head, Ratio, Mark, Outcome, Class, Note string }

// contrastBlock is one measure with all its figures.
type contrastBlock struct {
	Name, About, Count string
	Changed            bool // something changed beyond chance
	Rows               []contrastFigures
}

type contrastFigures struct{ Name, Absent, A, B, Ratio, P, Outcome string }

// ContrastHTML writes a comparison of two runs as a page: one file without
// scripts.
func ContrastHTML(w io.Writer, c contrast.Contrast) error {
	c = harmless.Copy(c, 0)
	d := contrastData{Contrast: c, Style: template.CSS(pageStyle + recommendStyle), Key: matrixKey, Kernel: kernelText(c), Grid: contrastGridOf(c)} //nolint:gosec // our own files
	for _, list := range [][]contrast.Column{c.Columns, c.Extra} {
		for _, col := range list {
			d.Blocks = append(d.Blocks, contrastBlockOf(col))
		}
	}
	return contrastPage.Execute(w, d)
}

// enumerate joins names as a sentence does.
func enumerate(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

func contrastGridOf(c contrast.Contrast) contrastGrid {
	var g contrastGrid
	if len(c.Columns) == 0 {
		return g
	}
	n := &notes{}
	for i := range len(c.Columns[0].Rows) + 1 {
		line := contrastLine{Name: "all together"}
		if i > 0 {
			line.Name = c.Columns[0].Rows[i-1].Candidate
		}
		for _, col := range c.Columns {
			ch := col.All
			if i > 0 {
				ch = col.Rows[i-1]
			}
			cell := contrastCell{Head: col.Name}
			if ch.Absent != "" {
				cell.Note = n.mark(ch.Absent)
			} else {
				cell.Ratio, cell.Mark, cell.Outcome = ratioOnly(ch), outcomeMark(ch.Outcome), string(ch.Outcome)
			}
			switch ch.Outcome {
			case contrast.Higher:
				cell.Class = "g-bad"
			case contrast.Lower:
				cell.Class = "g-best"
			}
			line.Cells = append(line.Cells, cell)
		}
		g.Rows = append(g.Rows, line)
	}
	for _, col := range c.Columns {
		g.Heads = append(g.Heads, col.Name)
	}
	g.Notes = n.texts
	return g
}

func contrastBlockOf(col contrast.Column) contrastBlock {
	b := contrastBlock{Name: col.Name, About: col.About, Count: "nothing changed beyond chance"}
	count := 0
	for i, ch := range append([]contrast.Change{col.All}, col.Rows...) {
		row := contrastFigures{Name: ch.Candidate, Absent: ch.Absent, Outcome: string(ch.Outcome)}
		if i == 0 {
			row.Name = "all together"
		}
		if ch.Absent == "" {
			row.A, row.B = estimate(ch.A, col.Unit), estimate(ch.B, col.Unit)
			row.Ratio, row.P = ratio(ch.Ratio), pText(ch.Adjusted)
		}
		if ch.Outcome == contrast.Higher || ch.Outcome == contrast.Lower {
			count++
		}
		b.Rows = append(b.Rows, row)
	}
	if count > 0 {
		b.Changed = true
		b.Count = units.Count(count, "change") + " beyond chance"
	}
	return b
}
