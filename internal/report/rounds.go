package report

import (
	"slices"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/report/doc"
	"whichfs/internal/sys/units"
)

// roundsSection shows how far the rounds of each candidate lie apart.
func roundsSection(v verdict.Verdict) doc.Section {
	if len(v.Rounds) == 0 {
		return doc.Section{}
	}
	margin := 1 + v.Run.Margin
	t := doc.Table{Style: doc.Scroll, Name: "Slowest over fastest round", Columns: []doc.Column{{Head: "Candidate"}, {Head: "Deviation", Kind: doc.Figures}}}
	var columns []verdict.Column
	for _, c := range v.Columns {
		if slices.ContainsFunc(v.Rounds, func(r verdict.Rounds) bool { return rangeOf(r, c.Key) != nil }) {
			columns = append(columns, c)
			t.Columns = append(t.Columns, doc.Column{Head: c.Name, Kind: doc.Figures})
		}
	}
	for _, r := range v.Rounds {
		row := doc.Row{Cells: []doc.Cell{doc.T(r.Candidate), {Text: units.Share(r.Scatter.Value), Long: units.Share(r.Scatter.Value) + " (" + units.Share(r.Scatter.Low) + " to " + units.Share(r.Scatter.High) + ")"}}}
		for _, c := range columns {
			cell := doc.T("–")
			if x := rangeOf(r, c.Key); x != nil {
				cell = doc.Cell{Text: units.Ratio(x.High / x.Low), Under: units.Value(x.Low, c.Unit) + " to " + units.Value(x.High, c.Unit)}
				if x.High > x.Low*margin {
					cell.Tone = doc.Warn
				}
			}
			row.Cells = append(row.Cells, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	return doc.Section{ID: "rounds", Title: "How far rounds lie apart", Nav: "Rounds", In: doc.Page, Body: []doc.Block{doc.Para{
		Text: "The slowest round over the fastest, per measure, coloured beyond the margin of interest; and the standard deviation of a single figure over all of these measures, with its 95 % limits. The least stable candidate comes first."}, t}}
}

func rangeOf(r verdict.Rounds, key string) *verdict.Range {
	if i := slices.IndexFunc(r.Ranges, func(x verdict.Range) bool { return x.Column == key }); i >= 0 {
		return &r.Ranges[i]
	}
	return nil
}
