package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"whichfs/internal/units"
	"whichfs/internal/verdict"
)

// Published figures beside ours, in the source's own shape.

// ours prints a figure of ours as published ones are: without its unit.
func ours(v float64) string { return units.Value(v, "1") }

// theirs prints a published figure as it was published.
func theirs(c verdict.NumberCell) string {
	if c.Text != "" {
		return c.Text
	}
	return strconv.FormatFloat(c.Published, 'f', -1, 64)
}

// besideText is one cell: published / ours (ratio).
func besideText(c verdict.NumberCell, n *notes) string {
	switch {
	case c.Absent != "":
		return theirs(c) + " / (" + n.mark(c.Absent) + ")"
	case c.Ratio.Value == 0:
		return theirs(c) + " / " + ours(c.Measured.Value)
	}
	return theirs(c) + " / " + ours(c.Measured.Value) + " (" + units.Ratio(c.Ratio.Value) + ")"
}

// tableLine sums up one table.
func tableLine(t verdict.NumbersTable) string {
	if t.OrderOnly && t.Tau.Has {
		return fmt.Sprintf("tau-b %s over %s; the data here are of another size than the published, so only the order is compared", tauText(t.Tau), units.Count(t.Tau.N, "figure"))
	}
	if t.Median.N == 0 {
		return "no figure to compare"
	}
	text := fmt.Sprintf("ours are %s the published ones in the median, %d of %d within a factor of %g",
		units.Ratio(t.Median.Value), t.Within, t.Median.N, verdict.Near)
	switch {
	case t.NoOrder != "":
		text = t.NoOrder + "; " + text
	case t.Tau.Has && t.Noise > 0:
		text = fmt.Sprintf("tau-b %s over %s, those within %s of each other counting as equal; %s",
			tauText(t.Tau), units.Count(t.Tau.N, "figure"), units.Share(t.Noise), text)
	case t.Tau.Has:
		text = fmt.Sprintf("tau-b %s over %s; %s", tauText(t.Tau), units.Count(t.Tau.N, "figure"), text)
	}
	return text
}

const aboutNumbers = "Each cell: published / ours (ours as times the published one). Kendall's tau-b compares the two orders over all cells of a table: 1 is the same, 0 no relation, −1 the opposite."

// cellOfTable finds a cell by its row and column.
func cellOfTable(t verdict.NumbersTable, variant, candidate string) (verdict.NumberCell, bool) {
	i := slices.IndexFunc(t.Cells, func(c verdict.NumberCell) bool { return c.Variant == variant && c.Candidate == candidate })
	if i < 0 {
		return verdict.NumberCell{}, false
	}
	return t.Cells[i], true
}

// small tables, of a figure or two, stand together in one.
func small(t verdict.NumbersTable) bool { return len(t.Cells) <= 2 }

func (p *printer) numbers(n *verdict.Numbers) {
	if n == nil || len(n.Tables) == 0 && n.Elsewhere == "" {
		return
	}
	p.head("Published figures beside ours")
	p.likeness(*n)
	if len(n.Tables) > 0 {
		p.para(0, "", aboutNumbers, nil)
	}
	reasons := &notes{}
	var few []verdict.NumbersTable
	for _, t := range n.Tables {
		if small(t) {
			few = append(few, t)
			continue
		}
		p.line("")
		p.para(0, "", titleOf(t), p.bold)
		p.table(numbersTable(t, reasons))
		p.para(0, "", tableLine(t), p.faint)
	}
	if len(few) > 0 {
		p.line("")
		t := Table{Columns: []TableColumn{{Head: "Single figures", Flex: true}, {Head: "Candidate", Flex: true}, {Head: "Unit"}, {Head: "published / ours"}}}
		for _, one := range few {
			for _, c := range one.Cells {
				t.Rows = append(t.Rows, []string{one.Name, withVariant(c.Candidate, c.Variant), one.Unit, besideText(c, reasons)})
			}
		}
		p.table(t)
	}
	for i, text := range reasons.texts {
		p.para(0, "("+letter(i)+")", text, p.faint)
	}
	p.line("")
	if source := commonSource(n.Tables); source != "" {
		p.para(0, "", "Published in: "+source+".", p.faint)
	}
	if n.Elsewhere != "" {
		p.para(0, "–", n.Elsewhere, p.faint)
	}
}

// titleOf names a table with its unit.
func titleOf(t verdict.NumbersTable) string {
	if t.Unit == "1" {
		return t.Name
	}
	return t.Name + ", " + t.Unit
}

// commonSource is what the sources of all tables begin with, up to a comma; the
// page has each in full.
func commonSource(tables []verdict.NumbersTable) string {
	if len(tables) == 0 {
		return ""
	}
	parts := strings.Split(tables[0].Source, ", ")
	for _, t := range tables[1:] {
		other := strings.Split(t.Source, ", ")
		n := 0
		for n < min(len(parts), len(other)) && parts[n] == other[n] {
			n++
		}
		parts = parts[:n]
	}
	return strings.Join(parts, ", ")
}

// restOf is what a source says besides the common one.
func restOf(source, common string) string {
	return strings.TrimPrefix(strings.TrimPrefix(source, common), ", ")
}

func withVariant(candidate, variant string) string {
	if variant == "" {
		return candidate
	}
	return candidate + ", " + variant
}

// likeness is how far published figures and ours agree, in two lines at most.
func (p *printer) likeness(n verdict.Numbers) {
	if n.Card.Cells > 0 {
		p.para(0, "storage:", "where the storage decides the figures: "+n.Card.String(), p.bold)
	}
	if n.All.Cells > 0 && n.All.Cells != n.Card.Cells {
		p.para(0, "all:", n.All.String(), p.bold)
	}
}

func numbersTable(t verdict.NumbersTable, n *notes) Table {
	out := Table{Columns: []TableColumn{{Head: ""}}}
	for _, h := range t.Heads {
		out.Columns = append(out.Columns, TableColumn{Head: h, Flex: true})
	}
	for i, variant := range t.Rows {
		row := []string{rowLabel(t, i)}
		for _, candidate := range t.Columns {
			text := ""
			if c, ok := cellOfTable(t, variant, candidate); ok {
				text = besideText(c, n)
			}
			row = append(row, text)
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

func rowLabel(t verdict.NumbersTable, i int) string {
	if i < len(t.Labels) && t.Labels[i] != "" {
		return t.Labels[i]
	}
	if i < len(t.Rows) {
		return t.Rows[i]
	}
	return ""
}

// pageNumbers is a table on the page.
type pageNumbers struct {
	ID, Name, About string // about: unit and source
	Line            string // what sums it up; empty where there is nothing to
	Heads           []string
	Body            []pageNumberRow
}

type pageNumberRow struct {
	Label string
	Cells []pageNumber
}

type pageNumber struct {
	Head, Theirs, Ours, Ratio, Note string
}

func numbersFor(n *verdict.Numbers, prefix string) (tables []pageNumbers, reasons []string) {
	if n == nil {
		return nil, nil
	}
	marks := &notes{}
	source := commonSource(n.Tables)
	single := pageNumbers{ID: prefix + "-single", Name: "Single figures", Heads: []string{"Figure"}}
	for k, t := range n.Tables {
		if small(t) {
			for _, c := range t.Cells {
				cell := pageNumber{Head: single.Heads[0]}
				cell.fill(c, marks)
				single.Body = append(single.Body, pageNumberRow{
					Label: titleOf(t) + ", " + withVariant(c.Candidate, c.Variant), Cells: []pageNumber{cell}})
			}
			continue
		}
		one := pageNumbers{ID: fmt.Sprintf("%s-%d", prefix, k+1), Name: titleOf(t), About: restOf(t.Source, source), Line: tableLine(t), Heads: t.Heads}
		for i, variant := range t.Rows {
			row := pageNumberRow{Label: rowLabel(t, i)}
			for j, candidate := range t.Columns {
				cell := pageNumber{Head: t.Heads[j]}
				if c, ok := cellOfTable(t, variant, candidate); ok {
					cell.fill(c, marks)
				}
				row.Cells = append(row.Cells, cell)
			}
			one.Body = append(one.Body, row)
		}
		tables = append(tables, one)
	}
	if len(single.Body) > 0 {
		tables = append(tables, single)
	}
	return tables, marks.texts
}

func (n *pageNumber) fill(c verdict.NumberCell, marks *notes) {
	n.Theirs = theirs(c)
	if c.Absent != "" {
		n.Note = marks.mark(c.Absent)
		return
	}
	n.Ours = ours(c.Measured.Value)
	if !c.Measured.Single && c.Measured.Low < c.Measured.High {
		n.Ours = units.Interval(c.Measured.Value, c.Measured.Low, c.Measured.High, "1")
	}
	if r := c.Ratio.Value; r > 0 {
		n.Ratio = units.Ratio(r)
	}
}
