package report

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/report/doc"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
)

// mostPictures is the largest number of measures that a terminal shows as bars
// and grades. A study with more gets a row for each measure, by kind.
const mostPictures = 12

// ranked are the columns in which candidates are ranked.
func ranked(v verdict.Verdict) []verdict.Column {
	return slices.DeleteFunc(slices.Clone(v.Columns), func(c verdict.Column) bool { return c.Level })
}

// further are the other measures: those that are not ranked, and those without
// a column in the study.
func further(v verdict.Verdict) []verdict.Column {
	level := slices.DeleteFunc(slices.Clone(v.Columns), func(c verdict.Column) bool { return !c.Level })
	return slices.Concat(level, v.Extra)
}

// furtherWhich describes those measures.
func furtherWhich(v verdict.Verdict) string {
	if len(ranked(v)) < len(v.Columns) {
		return "not ranked or without a column in the study"
	}
	return "without a column in the study"
}

// rateText prints the rate of a time, empty if there is none.
func rateText(col verdict.Column, c verdict.Cell) string {
	switch {
	case c.Rate == nil || c.Absent != "":
		return ""
	case col.RateUnit == "B/s":
		return units.Value(c.Rate.Value, "B/s")
	}
	return units.Value(c.Rate.Value, "1") + " /s"
}

// kind of a column: the sections of a long report.
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

// pictureSection shows each measure as bars.
func pictureSection(v verdict.Verdict) doc.Section {
	if len(ranked(v)) == 0 {
		return doc.Section{}
	}
	s := doc.Section{ID: "picture", Title: "The big picture", Nav: "Big picture", Body: []doc.Block{
		doc.Para{Text: "Shorter bars are better. Each figure has its 95 % interval and every rank that the figures leave open."},
		doc.Para{In: doc.Page, Text: "A bar is the estimate, its whisker the interval; bars begin at zero. The factor is the ratio to the best."},
		barPictures(v, ranked(v), "column"),
	}}
	if len(ranked(v)) > mostPictures {
		s.In = doc.Page
	}
	return s
}

func barPictures(v verdict.Verdict, columns []verdict.Column, id string) doc.Parts {
	var out doc.Parts
	for i, col := range columns {
		out.List = append(out.List, doc.Part{ID: id + "-" + units.Value(float64(i+1), "1"), Title: col.Name, Body: []doc.Block{barTable(v, col)}})
	}
	return out
}

func barTable(v verdict.Verdict, col verdict.Column) doc.Table {
	t := doc.Table{Style: doc.Bars, Columns: []doc.Column{{Head: "Rank", Kind: doc.Ranks}, {Head: "Candidate", Kind: doc.Names}, {Kind: doc.Bar}, {Head: "Estimate", Kind: doc.Estimates},
		{Head: "To best", Kind: doc.Ratios, In: doc.Page}}}
	top := scaleOf(col)
	var names, busy []string
	for _, c := range col.Cells {
		if c.Absent != "" {
			continue
		}
		names = append(names, c.Candidate)
		figure := doc.Cell{Text: estimate(c.Estimate, col.Unit), Tail: rateText(col, c), Origin: columnOrigin(col, c)}
		if c.Estimate.Single {
			figure.Tag = "one figure"
		}
		if c.Waited > 0 {
			figure.Tag = strings.TrimPrefix(figure.Tag+", busy machine", ", ")
			busy = append(busy, fmt.Sprintf("%s (%s)", c.Candidate, units.Share(c.Waited)))
		}
		best := toBest(col, c)
		if col.Level {
			best = "–"
		}
		t.Rows = append(t.Rows, doc.Row{Cells: []doc.Cell{doc.T(places(c.RankLow, c.RankHigh)), doc.T(c.Candidate), {Bar: bar(c.Estimate, top)}, figure, doc.T(best)}})
	}
	for _, tied := range ties(names, func(n string) []string { return cellOf(col, n).TiedWith }) {
		t.Below = append(t.Below, doc.Item{Mark: "≈", Muted: true, Text: "tied with each other: " + strings.Join(tied, ", ")})
	}
	if len(busy) > 0 {
		t.Below = append(t.Below, doc.Item{Mark: "!", Tone: doc.Warn, Text: "waited for other work of this machine, of their time at most: " + strings.Join(busy, ", ")})
	}
	t.Below = append(t.Below, noFigure(absentees(v, col))...)
	return t
}

// columnOrigin is where a site shows the trials of a figure.
func columnOrigin(col verdict.Column, c verdict.Cell) string {
	return "figures?" + url.Values{"column": {col.Key}, "candidate": {c.Candidate}}.Encode()
}

// toBest is a candidate's figure relative to the best: its ratio, or the
// difference where figures of 0 and below have no ratio.
func toBest(col verdict.Column, c verdict.Cell) string {
	if c.Difference == nil {
		return units.Ratio(c.Ratio.Value)
	}
	return "+" + units.Value(c.Difference.Value, col.Unit)
}

// observationsSection has a grade for every candidate and measure.
func observationsSection(v verdict.Verdict) doc.Section {
	names := measured(v)
	if len(names) == 0 {
		return doc.Section{}
	}
	t := doc.Table{Style: doc.Grid, Columns: append([]doc.Column{{Head: "Candidate"}}, doc.Heads(doc.Words, false, columnNames(ranked(v))...)...)}
	for _, name := range names {
		row := doc.Row{Cells: []doc.Cell{candidateCell(candidateOf(v, name))}}
		for _, col := range ranked(v) {
			row.Cells = append(row.Cells, gradeCell(col, cellOf(col, name)))
		}
		t.Rows = append(t.Rows, row)
	}
	s := doc.Section{ID: "observations", Title: "Observations, best first", Nav: "Observations", Body: []doc.Block{
		doc.Para{In: doc.Page, Text: "One grade per column, in the words of the study, with the estimate below it. Best first: candidates that are written to, then those that are made as an image and read."},
		t, doc.Footnotes{}, doc.Para{Text: "Grades show the ratio to the best of the column; they decide nothing."},
	}}
	if len(ranked(v)) > mostPictures {
		s.In = doc.Page
	}
	return s
}

// candidateCell is a candidate's name, with its limitations.
func candidateCell(c verdict.Candidate) doc.Cell {
	if c.ReadOnly {
		return doc.Cell{Text: c.Name, Tag: "read-only"}
	}
	return doc.T(c.Name)
}

func columnNames(list []verdict.Column) []string {
	var out []string
	for _, c := range list {
		out = append(out, c.Name)
	}
	return out
}

// gradeCell is a grade, in a matching tone.
func gradeCell(col verdict.Column, c verdict.Cell) doc.Cell {
	if c.Absent != "" {
		return doc.Cell{Absent: c.Absent}
	}
	cell := doc.Cell{Text: c.Grade.String(), Shade: shadeOf(c.Grade), Under: strings.TrimSuffix(estimate(c.Estimate, col.Unit)+", "+rateText(col, c), ", "), Origin: columnOrigin(col, c)}
	switch {
	case c.Grade >= verdict.VeryGood:
		cell.Tone = doc.Good
	case c.Grade == 0:
		cell.Text, cell.Under, cell.Tone = cell.Under, "", doc.Muted
	case c.Grade <= verdict.Bad:
		cell.Tone = doc.Bad
	}
	return cell
}

// shadeOf is the background colour of a grade, one of eight.
func shadeOf(g verdict.Grade) int { return min(max(int(g-verdict.Worst)+1, 0), 8) }

// matrixSection shows many measures: a row for each, with the best figure and
// every candidate's ratio to it.
func matrixSection(v verdict.Verdict) doc.Section {
	names := measured(v)
	if len(names) == 0 || len(ranked(v)) <= mostPictures {
		return doc.Section{}
	}
	s := doc.Section{Title: "All measures", In: doc.Full, Body: []doc.Block{
		doc.Para{Text: "The best figure of each measure, and every candidate's ratio to it (≈: tied with it within the margin; +: the difference, where a figure of 0 or below has no ratio). Measures marked * count in the overall order. " +
			"The page (--html) shows them as charts, with intervals and ranks."}}}
	var kinds []string
	for _, col := range ranked(v) {
		if k := kindOf(col); !slices.Contains(kinds, k) {
			kinds = append(kinds, k)
		}
	}
	for _, kind := range kinds {
		t := doc.Table{Columns: append([]doc.Column{{Head: kind}, {Head: "Best", Kind: doc.Figures}}, doc.Heads(doc.Figures, true, names...)...)}
		for _, col := range ranked(v) {
			if kindOf(col) == kind {
				t.Rows = append(t.Rows, matrixRow(col, names))
			}
		}
		s.Body = append(s.Body, t)
	}
	return s
}

func matrixRow(col verdict.Column, names []string) doc.Row {
	title := col.Name
	if len(col.Uses) > 0 {
		title += " *"
	}
	row := doc.Texts(title, "")
	for _, name := range names {
		c := cellOf(col, name)
		cell := doc.Cell{Absent: c.Absent, Text: toBest(col, c)}
		if c.Absent == "" && c.Candidate == col.Cells[0].Candidate {
			row.Cells[1].Text = first(rateText(col, c), units.Value(c.Estimate.Value, col.Unit))
		}
		if len(col.Cells) > 0 && slices.Contains(c.TiedWith, col.Cells[0].Candidate) {
			cell.Text = "≈" + cell.Text
		}
		row.Cells = append(row.Cells, cell)
	}
	return row
}

// furtherSection shows the measures that are not ranked. The page shows them as
// charts, too.
func furtherSection(v verdict.Verdict) doc.Section {
	var shown []verdict.Column
	for _, col := range further(v) {
		if scaleOf(col) > 0 || col.Level || col.Additive {
			shown = append(shown, col)
		}
	}
	t := doc.Table{Style: doc.Scroll, Columns: append([]doc.Column{{Head: "Candidate"}}, doc.Heads(doc.Figures, false, columnNames(shown)...)...)}
	for _, name := range order(v) {
		if !slices.ContainsFunc(shown, func(col verdict.Column) bool { return cellOf(col, name).Absent == "" }) {
			continue
		}
		row := doc.Texts(name)
		for _, col := range shown {
			c := cellOf(col, name)
			row.Cells = append(row.Cells, doc.Cell{Absent: c.Absent, Text: estimate(c.Estimate, col.Unit)})
		}
		t.Rows = append(t.Rows, row)
	}
	if len(t.Rows) == 0 {
		return doc.Section{}
	}
	return doc.Section{ID: "further", Title: "Further measures, " + furtherWhich(v), Nav: "Further measures", Body: []doc.Block{t,
		doc.Fold{In: doc.Page, Summary: "With bars and ranks", Small: units.Count(len(shown), "measure"), Body: []doc.Block{barPictures(v, shown, "extra")}}}}
}
