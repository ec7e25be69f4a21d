package report

import (
	"slices"
	"strings"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/report/doc"
)

// MatrixDoc shows at a glance which candidate leads under which conditions, by the verdicts of the
// latest runs.
func MatrixDoc(list []verdict.Verdict) doc.Doc {
	d := doc.Doc{Title: "Which filesystem leads where", Kicker: "whichfs serve",
		Foot: "Each cell is the answer of the latest finished run of a study under these conditions. Cells of different rows say nothing about each other."}
	t := doc.Table{Style: doc.Grid, Name: "Leaders", Columns: []doc.Column{{Head: "Machine, storage and kernel"}}}
	type place struct{ machine, storage, kernel, clock, scale string }
	var rows []place
	for _, v := range list {
		r := v.Run
		at := place{r.Where(), r.Storage, r.Kernel(), r.ClockName(), r.Scale}
		for _, u := range v.Uses {
			head := r.Study + ", " + u.Name
			col := slices.IndexFunc(t.Columns, func(c doc.Column) bool { return c.Head == head })
			if col < 0 {
				col = len(t.Columns)
				t.Columns = append(t.Columns, doc.Column{Head: head})
			}
			row := slices.Index(rows, at)
			if row < 0 {
				row = len(rows)
				rows = append(rows, at)
				t.Rows = append(t.Rows, doc.Row{Cells: []doc.Cell{{Text: at.machine + " · " + at.storage, Under: strings.Trim("kernel "+dash(at.kernel)+", "+at.clock+", "+at.scale, ", ")}}})
			}
			for len(t.Rows[row].Cells) <= col {
				t.Rows[row].Cells = append(t.Rows[row].Cells, doc.Cell{})
			}
			if t.Rows[row].Cells[col].Text == "" {
				t.Rows[row].Cells[col] = leadCell(u, r.ID)
			}
		}
	}
	for i := range t.Rows {
		for len(t.Rows[i].Cells) < len(t.Columns) {
			t.Rows[i].Cells = append(t.Rows[i].Cells, doc.Cell{})
		}
		for k, c := range t.Rows[i].Cells {
			if c.Text == "" {
				t.Rows[i].Cells[k] = doc.Cell{Absent: "no finished run of this study under these conditions ranks candidates for this use"}
			}
		}
	}
	s := doc.Section{ID: "matrix", Title: "Leaders", Body: []doc.Block{t, doc.Footnotes{}, doc.Para{Text: "Settled answers are green; of others, the leader is only ahead. Each leads to its run."}}}
	if len(t.Rows) == 0 {
		s.Body = []doc.Block{doc.Para{Text: "No finished run ranks candidates."}}
	}
	d.Sections = []doc.Section{s}
	return d
}

// leadCell is the first of an order, with those that are equal to it.
func leadCell(u verdict.Use, run string) doc.Cell {
	if len(u.Ranks) == 0 {
		return doc.Cell{Text: "none", Tone: doc.Muted, Origin: "runs/" + run}
	}
	c := doc.Cell{Text: u.Ranks[0].Candidate, Origin: "runs/" + run, Shade: 4, Under: "not settled"}
	if u.Settled {
		c.Shade, c.Under = 7, "settled"
	}
	if tied := u.Ranks[0].TiedWith; len(tied) > 0 {
		c.Under += ", equal to " + strings.Join(tied, ", ")
	}
	return c
}
