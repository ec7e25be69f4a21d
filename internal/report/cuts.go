package report

import (
	"whichfs/internal/units"
	"whichfs/internal/verdict"
)

// cutColumns are the figures of power cuts, with their heads.
var cutColumns = []struct {
	head string
	of   func(verdict.CutRow) verdict.Figure
}{
	{"Cuts", func(r verdict.CutRow) verdict.Figure { return count(r.Cuts) }},
	{"Mounted", func(r verdict.CutRow) verdict.Figure { return count(r.Mounted) }},
	{"Promises", func(r verdict.CutRow) verdict.Figure { return count(r.Promises) }},
	{"Files whole", func(r verdict.CutRow) verdict.Figure { return count(r.Whole) }},
	{"Lost", func(r verdict.CutRow) verdict.Figure { return count(r.Lost) }},
	{"Cuts with loss", func(r verdict.CutRow) verdict.Figure { return count(r.WithLoss) }},
	{"Mount after", func(r verdict.CutRow) verdict.Figure { return r.Mount }},
	{"Longest", func(r verdict.CutRow) verdict.Figure { return r.MountLongest }},
}

// count is a number of things as a figure.
func count(n float64) verdict.Figure {
	return verdict.Figure{Unit: "1", Estimate: verdict.Interval{Value: n}}
}

// cutRow is a candidate and its cells; n takes the reasons of those without a
// figure.
func cutRow(r verdict.CutRow, n *notes) pageWear {
	row := pageWear{Name: r.Candidate}
	for _, c := range cutColumns {
		cell := pageCell{Head: c.head}
		if f := c.of(r); f.Absent != "" {
			cell.Note = n.mark(f.Absent)
		} else {
			cell.Figure = units.Value(f.Estimate.Value, f.Unit)
		}
		row.Cells = append(row.Cells, cell)
	}
	return row
}

// cuts prints what power cuts left.
func (p *printer) cuts(v verdict.Verdict) {
	if v.Cuts == nil {
		return
	}
	p.head("Power cuts in mid-write, least lost first")
	t := Table{Columns: []TableColumn{{Head: "", Flex: true}}}
	for _, c := range cutColumns {
		t.Columns = append(t.Columns, TableColumn{Head: c.head, Right: true})
	}
	n := &notes{}
	for _, r := range v.Cuts.Rows {
		row := []string{r.Candidate}
		for _, cell := range cutRow(r, n).Cells {
			if cell.Note != "" {
				cell.Figure = "(" + cell.Note + ")"
			}
			row = append(row, cell.Figure)
		}
		t.Rows = append(t.Rows, row)
	}
	p.table(t)
	p.line("")
	for i, text := range n.texts {
		p.para(0, "("+letter(i)+")", text, p.faint)
	}
	p.para(0, "", v.Cuts.About, nil)
}

// cutRows are the rows of the page's table.
func cutRows(v verdict.Verdict) (rows []pageWear, reasons []string) {
	if v.Cuts == nil {
		return nil, nil
	}
	n := &notes{}
	for _, r := range v.Cuts.Rows {
		rows = append(rows, cutRow(r, n))
	}
	return rows, n.texts
}
