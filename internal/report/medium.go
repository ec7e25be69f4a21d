package report

import (
	"fmt"
	"slices"
	"strings"

	"whichfs/internal/verdict"
)

// What faults of the medium did.

// mediumNote is all that a cell says besides its word.
func mediumNote(c verdict.MediumCell) string {
	var parts []string
	for _, text := range []string{c.Reason, c.Counts()} {
		if text != "" && !(c.Class == verdict.DataWhole && text == c.AllWhole()) {
			parts = append(parts, text)
		}
	}
	if rest := c.Rest(); rest != "" {
		parts = append(parts, "other trials: "+rest)
	}
	return strings.Join(parts, "; ")
}

// medium prints the table of faults.
func (p *printer) medium(m *verdict.Medium) {
	if m == nil || len(m.Rows) == 0 {
		return
	}
	p.head("Faults of the medium")
	p.para(0, "", m.About, nil)
	p.line("")
	n := &notes{}
	t := Table{Columns: []TableColumn{{Head: "", Flex: true}}}
	for _, l := range m.Levels {
		head := l.Name
		if l.Control {
			head += " (control)"
		}
		t.Columns = append(t.Columns, TableColumn{Head: head, Flex: true})
	}
	for _, r := range m.Rows {
		row := []string{r.Candidate}
		for _, c := range r.Cells {
			if c.Absent != "" {
				row = append(row, "("+n.mark(c.Absent)+")")
				continue
			}
			text := fmt.Sprintf("%s %d/%d", c.Class, c.In, c.Of)
			if note := mediumNote(c); note != "" {
				text += " (" + n.mark(note) + ")"
			}
			row = append(row, text)
		}
		t.Rows = append(t.Rows, row)
	}
	t.Paint = func(row, column int, line string) string {
		if column == 0 || column > len(m.Rows[row].Cells) {
			return line
		}
		c := m.Rows[row].Cells[column-1]
		switch at := slices.Index(verdict.MediumClasses, c.Class); {
		case c.Absent != "" || at < 0:
			return p.faint(line)
		case c.Keeps():
			return p.green(line)
		case at <= slices.Index(verdict.MediumClasses, verdict.DataUnreadable):
			return p.red(line)
		}
		return p.yellow(line)
	}
	p.table(t)
	for i, text := range n.texts {
		p.para(0, "("+letter(i)+")", text, p.faint)
	}
}

// pageMedium is the table on the page.
type pageMedium struct {
	Heads []string
	Rows  []pageMediumRow
	Notes []string
}

type pageMediumRow struct {
	Name  string
	Cells []pageMediumCell
}

type pageMediumCell struct {
	verdict.MediumCell
	Head, Often, Counts, Rest, Note string
}

func mediumFor(m *verdict.Medium) pageMedium {
	var out pageMedium
	if m == nil {
		return out
	}
	for _, l := range m.Levels {
		head := l.Name
		if l.Control {
			head += " (control)"
		}
		out.Heads = append(out.Heads, head)
	}
	n := &notes{}
	for _, r := range m.Rows {
		row := pageMediumRow{Name: r.Candidate}
		for i, c := range r.Cells {
			cell := pageMediumCell{MediumCell: c, Often: c.Often(), Counts: c.Counts(), Rest: c.Rest()}
			if i < len(out.Heads) {
				cell.Head = out.Heads[i]
			}
			if c.Absent != "" {
				cell.Note = n.mark(c.Absent)
			}
			row.Cells = append(row.Cells, cell)
		}
		out.Rows = append(out.Rows, row)
	}
	out.Notes = n.texts
	return out
}
