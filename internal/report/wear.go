package report

import (
	"fmt"
	"html/template"
	"strings"

	"whichfs/internal/units"
	"whichfs/internal/verdict"
)

// wearHeads name the figures of wearFigures.
func wearHeads(w *verdict.Wear) []string {
	return []string{"Programmed", "Sent to it", "Per byte sent", "Per byte of work", "Erases", "Merges", "Spread",
		"Life at " + strings.Replace(units.Value(w.Daily, "B"), ".0 ", " ", 1) + " a day"}
}

// wearFigures are the figures of one candidate, in the order of the heads.
func wearFigures(r verdict.WearRow) []verdict.Figure {
	return []verdict.Figure{r.Programmed, r.Sent, r.Device, r.Total, r.Erased, r.Merges, r.Spread, r.Years}
}

// wearCell prints a figure: amplifications and the spread are factors.
func wearCell(i int, f verdict.Figure) string {
	switch v := f.Estimate.Value; {
	case i == 2 || i == 3 || i == 6:
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

// wear prints what simulated flash told.
func (p *printer) wear(v verdict.Verdict) {
	if v.Wear == nil || len(v.Wear.Rows) == 0 {
		return
	}
	p.head("Wear of the simulated storage, least first")
	t := Table{Columns: []TableColumn{{Head: "", Flex: true}}}
	for _, h := range wearHeads(v.Wear) {
		t.Columns = append(t.Columns, TableColumn{Head: h, Right: true})
	}
	n := &notes{}
	for _, r := range v.Wear.Rows {
		row := []string{r.Candidate}
		for i, f := range wearFigures(r) {
			if f.Absent != "" {
				row = append(row, "("+n.mark(f.Absent)+")")
			} else {
				row = append(row, wearCell(i, f))
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
	heads := wearHeads(v.Wear)
	n := &notes{}
	for _, r := range v.Wear.Rows {
		row := pageWear{Name: r.Candidate, ReadOnly: r.ReadOnly}
		if r.Programmed.Absent == "" {
			row.Bar = barStyle(r.Programmed.Estimate, top)
		}
		for i, f := range wearFigures(r) {
			cell := pageCell{Head: heads[i]}
			if f.Absent != "" {
				cell.Note = n.mark(f.Absent)
			} else {
				cell.Figure = wearCell(i, f)
			}
			row.Cells = append(row.Cells, cell)
		}
		rows = append(rows, row)
	}
	return rows, n.texts
}
