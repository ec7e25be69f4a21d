package report

import (
	"slices"

	"whichfs/internal/result"
	"whichfs/internal/units"
	"whichfs/internal/verdict"
)

// mostPictures is how many measures a terminal shows as bars and grades. A
// study with more of them gets a row for each measure, by kinds.
const mostPictures = 12

// ranked are the columns that candidates are ranked in.
func ranked(v verdict.Verdict) []verdict.Column {
	return slices.DeleteFunc(slices.Clone(v.Columns), func(c verdict.Column) bool { return c.Level })
}

// further are the measures beside them: those that are not ranked, and those
// that the study has no column for.
func further(v verdict.Verdict) []verdict.Column {
	level := slices.DeleteFunc(slices.Clone(v.Columns), func(c verdict.Column) bool { return !c.Level })
	return slices.Concat(level, v.Extra)
}

// furtherWhich says which measures those are.
func furtherWhich(v verdict.Verdict) string {
	if len(ranked(v)) < len(v.Columns) {
		return "which are not ranked or which the study has no column for"
	}
	return "which the study has no column for"
}

// rateText prints what a time amounts to, empty where there is no rate.
func rateText(col verdict.Column, c verdict.Cell) string {
	switch {
	case c.Rate == nil || c.Absent != "":
		return ""
	case col.RateUnit == "B/s":
		return units.Value(c.Rate.Value, "B/s")
	}
	return units.Value(c.Rate.Value, "1") + " /s"
}

// kind of a column: what the sections of a long report are.
func kindOf(col verdict.Column) string {
	switch {
	case col.RateUnit == "B/s":
		return "Moving data"
	case col.Per == result.DataFiles:
		return "Handling files"
	case col.RateUnit != "":
		return "Operations"
	case col.Unit == "s":
		return "Times"
	case col.Unit == "B":
		return "Space and memory"
	}
	return "Counts and shares"
}

// matrix prints many measures: a row for each, the best figure, and every
// candidate as times the best. What counts in the overall order comes first.
func (p *printer) matrix(v verdict.Verdict) {
	names := measured(v)
	if len(names) == 0 {
		return
	}
	p.head("All measures")
	p.para(0, "", "The best figure of each measure, and every candidate as times the best (≈: tied with it within the margin). Measures marked * count in the overall order. "+
		"The page (--html) has them as pictures, with intervals and ranks.", nil)
	n := &notes{}
	var kinds []string
	for _, col := range ranked(v) {
		if k := kindOf(col); !slices.Contains(kinds, k) {
			kinds = append(kinds, k)
		}
	}
	for _, kind := range kinds {
		t := Table{Columns: []TableColumn{{Head: kind, Flex: true}, {Head: "Best", Right: true}}}
		for _, name := range names {
			t.Columns = append(t.Columns, TableColumn{Head: name, Right: true, Flex: true})
		}
		for _, col := range ranked(v) {
			if kindOf(col) == kind {
				t.Rows = append(t.Rows, matrixRow(col, names, n))
			}
		}
		p.line("")
		p.table(t)
	}
	p.line("")
	for i, text := range n.texts {
		p.para(0, "("+letter(i)+")", text, p.faint)
	}
}

func matrixRow(col verdict.Column, names []string, n *notes) []string {
	title := col.Name
	if len(col.Uses) > 0 {
		title += " *"
	}
	row := []string{title, ""}
	for _, name := range names {
		c := cellOf(col, name)
		switch {
		case c.Absent != "":
			row = append(row, "("+n.mark(c.Absent)+")")
			continue
		case c.Candidate == col.Cells[0].Candidate:
			row[1] = units.Value(c.Estimate.Value, col.Unit)
			if r := rateText(col, c); r != "" {
				row[1] = r
			}
		}
		text := units.Ratio(c.Ratio.Value)
		if slices.Contains(c.TiedWith, col.Cells[0].Candidate) {
			text = "≈" + text
		}
		row = append(row, text)
	}
	return row
}
