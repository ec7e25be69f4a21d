package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/report/doc"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
)

// Published figures and ours, in the layout of the source.

// ours prints one of our figures like published ones, without its unit.
func ours(v float64) string { return units.Value(v, "1") }

// theirs prints a published figure as it was published.
func theirs(c verdict.NumberCell) string {
	if c.Text != "" {
		return c.Text
	}
	return strconv.FormatFloat(c.Published, 'f', -1, 64)
}

// beside is one cell: published / ours (ratio).
func beside(c verdict.NumberCell) doc.Cell {
	if c.Absent != "" {
		return doc.Cell{Text: theirs(c) + " /", Foot: c.Absent}
	}
	cell := doc.Cell{Text: theirs(c) + " / " + ours(c.Measured.Value)}
	if !c.Measured.Single && c.Measured.Low < c.Measured.High {
		cell.Under = "ours " + units.Interval(c.Measured.Value, c.Measured.Low, c.Measured.High, "1")
	}
	if c.Ratio.Value > 0 {
		cell.Text += " (" + units.Ratio(c.Ratio.Value) + ")"
	}
	return cell
}

// tableLine sums up one table.
func tableLine(t verdict.NumbersTable) string {
	if t.OrderOnly && t.Tau.Has {
		return fmt.Sprintf("tau-b %s over %s; the data here differ in size from the published, so only the order is compared", tauText(t.Tau), units.Count(t.Tau.N, "figure"))
	}
	if t.Median.N == 0 {
		return "no figure to compare"
	}
	text := fmt.Sprintf("the median of ours over the published figures is %s, %d of %d within a factor of %g",
		units.Ratio(t.Median.Value), t.Within, t.Median.N, verdict.Near)
	switch {
	case t.NoOrder != "":
		text = t.NoOrder + "; " + text
	case t.Tau.Has && t.Noise > 0:
		text = fmt.Sprintf("tau-b %s over %s, with figures within %s of each other counted as equal; %s",
			tauText(t.Tau), units.Count(t.Tau.N, "figure"), units.Share(t.Noise), text)
	case t.Tau.Has:
		text = fmt.Sprintf("tau-b %s over %s; %s", tauText(t.Tau), units.Count(t.Tau.N, "figure"), text)
	}
	return text
}

const aboutNumbers = "Each cell: published / ours (ratio of ours to the published figure). Kendall's tau-b compares the two orders over all cells of a table: 1 is the same order, 0 no relation, −1 the opposite."

// cellOfTable finds a cell by its row and column.
func cellOfTable(t verdict.NumbersTable, variant, candidate string) (verdict.NumberCell, bool) {
	i := slices.IndexFunc(t.Cells, func(c verdict.NumberCell) bool { return c.Variant == variant && c.Candidate == candidate })
	if i < 0 {
		return verdict.NumberCell{}, false
	}
	return t.Cells[i], true
}

// small tables, with one or two figures, are combined.
func small(t verdict.NumbersTable) bool { return len(t.Cells) <= 2 }

// numbersSection compares published figures with ours. Tables with one or two
// figures are combined.
func numbersSection(n *verdict.Numbers, id string) doc.Section {
	if n == nil || len(n.Tables) == 0 && n.Elsewhere == "" {
		return doc.Section{}
	}
	s := doc.Section{ID: id, Title: "Published figures and ours", Nav: "Published figures", Body: []doc.Block{likeness(*n)}}
	if len(n.Tables) > 0 {
		s.Body = append(s.Body, doc.Para{Text: aboutNumbers})
	}
	s.Body = append(s.Body, numbersParts(n, id)...)
	var below []doc.Item
	if source := commonSource(n.Tables); source != "" {
		below = append(below, doc.Item{Muted: true, Text: "Published in: " + source + "."})
	}
	if n.Elsewhere != "" {
		below = append(below, doc.Item{Mark: "–", Muted: true, Text: n.Elsewhere})
	}
	s.Body = append(s.Body, doc.Footnotes{}, doc.Items{List: below})
	return s
}

// likeness says how well published figures and ours agree.
func likeness(n verdict.Numbers) doc.Items {
	var list []doc.Item
	if n.Card.Cells > 0 {
		list = append(list, doc.Item{Lead: "storage", Text: "where the storage determines the figures: " + n.Card.String()})
	}
	if n.All.Cells > 0 && n.All.Cells != n.Card.Cells {
		list = append(list, doc.Item{Lead: "all", Text: n.All.String()})
	}
	return doc.Items{List: list}
}

func numbersParts(n *verdict.Numbers, id string) []doc.Block {
	var out []doc.Block
	source := commonSource(n.Tables)
	few := doc.Table{Style: doc.Scroll, Name: "Single figures", Columns: []doc.Column{{Head: "Single figures", Flex: true}, {Head: "Candidate", Flex: true}, {Head: "Unit"}, {Head: "published / ours"}}}
	for k, t := range n.Tables {
		if small(t) {
			for _, c := range t.Cells {
				few.Rows = append(few.Rows, doc.Row{Cells: []doc.Cell{doc.T(t.Name), doc.T(result.Named(c.Candidate, c.Variant)), doc.T(t.Unit), beside(c)}})
			}
			continue
		}
		body := []doc.Block{doc.Para{Role: doc.Small, In: doc.Page, Text: restOf(t.Source, source)}, numbersTable(t), doc.Para{Role: doc.Small, Text: sentence(tableLine(t))}}
		out = append(out, doc.Part{ID: fmt.Sprintf("%s-%d", id, k+1), Title: titleOf(t), Body: body})
	}
	if len(few.Rows) > 0 {
		out = append(out, few)
	}
	return out
}

// titleOf names a table with its unit.
func titleOf(t verdict.NumbersTable) string {
	if t.Unit == "1" {
		return t.Name
	}
	return t.Name + ", " + t.Unit
}

// commonSource is the common beginning of all tables' sources, up to a comma;
// the page has each in full.
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

// restOf is the rest of a source after the common part.
func restOf(source, common string) string {
	return strings.TrimPrefix(strings.TrimPrefix(source, common), ", ")
}

func numbersTable(t verdict.NumbersTable) doc.Table {
	out := doc.Table{Style: doc.Scroll, Columns: append([]doc.Column{{Head: "Variant"}}, doc.Heads(doc.Words, true, t.Heads...)...)}
	for i, variant := range t.Rows {
		row := doc.Texts(first(rowLabel(t, i), "as it is"))
		for _, candidate := range t.Columns {
			cell := doc.Cell{}
			if c, ok := cellOfTable(t, variant, candidate); ok {
				cell = beside(c)
			}
			row.Cells = append(row.Cells, cell)
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
