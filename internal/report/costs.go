package report

import (
	"whichfs/internal/units"
	"whichfs/internal/verdict"
)

// costHeads name the figures of costFigures.
var costHeads = []string{"Processor time", "Per byte", "Per file or operation", "Device busy", "Own threads", "Time of own threads", "Memory held"}

func costFigures(r verdict.CostRow) []verdict.Figure {
	return []verdict.Figure{r.CPU, r.PerByte, r.PerOp, r.Busy, r.Threads, r.ThreadCPU, r.Memory}
}

// costCell prints a figure of costs; the busy time is a share.
func costCell(i int, f verdict.Figure) string {
	if i == 3 {
		return units.Share(f.Estimate.Value)
	}
	return units.Value(f.Estimate.Value, f.Unit)
}

// costColumns are the columns that at least one candidate has a figure in.
func costColumns(c *verdict.Costs) []int {
	var out []int
	for i := range costHeads {
		for _, r := range c.Rows {
			if costFigures(r)[i].Absent == "" {
				out = append(out, i)
				break
			}
		}
	}
	return out
}

// costTable is the table of costs; rows and their reasons.
func costRows(c *verdict.Costs) (rows [][]pageCell, reasons []string) {
	n := &notes{}
	for _, r := range c.Rows {
		var row []pageCell
		figures := costFigures(r)
		for _, i := range costColumns(c) {
			cell := pageCell{Head: costHeads[i]}
			if f := figures[i]; f.Absent != "" {
				cell.Note = n.mark(f.Absent)
			} else {
				cell.Figure = costCell(i, f)
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	return rows, n.texts
}

func (p *printer) costs(c *verdict.Costs) {
	if c == nil || len(c.Rows) == 0 {
		return
	}
	p.head("What it costs")
	t := Table{Columns: []TableColumn{{Head: "", Flex: true}}}
	for _, i := range costColumns(c) {
		t.Columns = append(t.Columns, TableColumn{Head: costHeads[i], Right: true})
	}
	rows, reasons := costRows(c)
	for i, row := range rows {
		line := []string{c.Rows[i].Candidate}
		for _, cell := range row {
			text := cell.Figure
			if cell.Note != "" {
				text = "(" + cell.Note + ")"
			}
			line = append(line, text)
		}
		t.Rows = append(t.Rows, line)
	}
	p.table(t)
	p.line("")
	for i, text := range reasons {
		p.para(0, "("+letter(i)+")", text, p.faint)
	}
	p.para(0, "", c.About, nil)
}

// pageCosting is a row of the page's table.
type pageCosting struct {
	Name  string
	Cells []pageCell
}

func costsFor(c *verdict.Costs) (rows []pageCosting, reasons []string) {
	if c == nil {
		return nil, nil
	}
	cells, reasons := costRows(c)
	for i, row := range cells {
		rows = append(rows, pageCosting{c.Rows[i].Candidate, row})
	}
	return rows, reasons
}
