package report

import (
	"fmt"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/report/doc"
	"whichfs/internal/sys/units"
)

// roomSection compares what statfs says with what fits.
func roomSection(v verdict.Verdict) doc.Section {
	if v.Room == nil {
		return doc.Section{}
	}
	t := doc.Table{Style: doc.Grid, Columns: append([]doc.Column{{Head: "Candidate"}}, doc.Heads(doc.Words, true, v.Room.Cases...)...)}
	for _, row := range v.Room.Rows {
		line := doc.Texts(row.Candidate)
		for _, c := range row.Cells {
			cell := doc.Cell{Absent: c.Absent}
			if c.Absent == "" {
				cell.Text = fmt.Sprintf("%s available, %s fit, off by %s", units.Value(c.Available, "B"), units.Value(c.Fits, "B"), verdict.Percent(c.Off))
			}
			line.Cells = append(line.Cells, cell)
		}
		t.Rows = append(t.Rows, line)
	}
	return doc.Section{ID: "room", Title: "Space that statfs promises, and what fits", Nav: "Space", Body: []doc.Block{doc.Para{Text: v.Room.About}, t}}
}
