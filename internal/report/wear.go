package report

import (
	"fmt"
	"html/template"
	"strings"

	"whichfs/internal/units"
	"whichfs/internal/verdict"
)

// wearColumn is a figure of wear: its head, and whether it is a factor.
type wearColumn struct {
	head   string
	of     func(verdict.WearRow) verdict.Figure
	factor bool
}

// wearColumns are those that make sense of the flash: raw flash programs what
// it is sent, and merges nothing.
func wearColumns(w *verdict.Wear) []wearColumn {
	programmed := wearColumn{"Programmed", func(r verdict.WearRow) verdict.Figure { return r.Programmed }, false}
	ofWork := wearColumn{"Per byte of work", func(r verdict.WearRow) verdict.Figure { return r.Total }, true}
	erases := wearColumn{"Erases", func(r verdict.WearRow) verdict.Figure { return r.Erased }, false}
	spread := wearColumn{"Spread", func(r verdict.WearRow) verdict.Figure { return r.Spread }, true}
	life := wearColumn{"Life at " + strings.Replace(units.Value(w.Daily, "B"), ".0 ", " ", 1) + " a day",
		func(r verdict.WearRow) verdict.Figure { return r.Years }, false}
	if w.Raw {
		return []wearColumn{programmed, ofWork, erases, spread,
			{"Pages read", func(r verdict.WearRow) verdict.Figure { return r.PagesRead }, false}, life}
	}
	return []wearColumn{
		programmed,
		{"Sent to it", func(r verdict.WearRow) verdict.Figure { return r.Sent }, false},
		{"Per byte sent", func(r verdict.WearRow) verdict.Figure { return r.Device }, true},
		ofWork, erases,
		{"Merges", func(r verdict.WearRow) verdict.Figure { return r.Merges }, false},
		spread, life,
	}
}

// cell prints a figure.
func (c wearColumn) cell(f verdict.Figure) string {
	switch v := f.Estimate.Value; {
	case c.factor:
		return units.Ratio(v)
	case f.Unit == "years":
		return lifetime(v)
	case f.Unit == "1":
		return units.Value(float64(int64(v+0.5)), f.Unit)
	default:
		return units.Value(v, f.Unit)
	}
}

// lifetime prints years with the two digits that an estimate of life is worth,
// less than two of them in days.
func lifetime(years float64) string {
	switch {
	case years >= 1000:
		return "over 1000 years"
	case years >= 10:
		return fmt.Sprintf("%.0f years", years)
	case years >= 2:
		return fmt.Sprintf("%.1f years", years)
	case years*365.25 >= 1:
		return fmt.Sprintf("%.0f days", years*365.25)
	}
	return "less than a day"
}

// wear prints what flash told.
func (p *printer) wear(v verdict.Verdict) {
	if v.Wear == nil || len(v.Wear.Rows) == 0 {
		return
	}
	what := "simulated storage"
	if v.Wear.Raw {
		what = "raw flash"
	}
	p.head("Wear of the " + what + ", least first")
	t := Table{Columns: []TableColumn{{Head: "", Flex: true}}}
	columns := wearColumns(v.Wear)
	for _, c := range columns {
		t.Columns = append(t.Columns, TableColumn{Head: c.head, Right: true})
	}
	n := &notes{}
	for _, r := range v.Wear.Rows {
		row := []string{r.Candidate}
		for _, c := range columns {
			if f := c.of(r); f.Absent != "" {
				row = append(row, "("+n.mark(f.Absent)+")")
			} else {
				row = append(row, c.cell(f))
			}
		}
		t.Rows = append(t.Rows, row)
	}
	p.table(t)
	p.line("")
	for i, text := range n.texts {
		p.para(0, "("+letter(i)+")", text, p.faint)
	}
	p.para(0, "", v.Wear.About, nil)
}

// pageWear is a row of the page's table.
type pageWear struct {
	Name     string
	ReadOnly bool
	Bar      template.CSS // of what was programmed; empty without a figure
	Cells    []pageCell
}

func wearRows(v verdict.Verdict) (rows []pageWear, reasons []string) {
	if v.Wear == nil {
		return nil, nil
	}
	var col verdict.Column
	for _, r := range v.Wear.Rows {
		col.Cells = append(col.Cells, verdict.Cell{Absent: r.Programmed.Absent, Estimate: r.Programmed.Estimate})
	}
	top := scaleOf(col)
	n := &notes{}
	for _, r := range v.Wear.Rows {
		row := pageWear{Name: r.Candidate, ReadOnly: r.ReadOnly}
		if r.Programmed.Absent == "" {
			row.Bar = barStyle(r.Programmed.Estimate, top)
		}
		for _, c := range wearColumns(v.Wear) {
			cell := pageCell{Head: c.head}
			if f := c.of(r); f.Absent != "" {
				cell.Note = n.mark(f.Absent)
			} else {
				cell.Figure = c.cell(f)
			}
			row.Cells = append(row.Cells, cell)
		}
		rows = append(rows, row)
	}
	return rows, n.texts
}
