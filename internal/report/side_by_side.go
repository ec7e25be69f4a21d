package report

import (
	"fmt"
	"slices"
	"strings"

	"whichfs/internal/judge/contrast"
	"whichfs/internal/report/doc"
	"whichfs/internal/sys/units"
)

// SideBySideDoc shows several runs beside the one that each of them is compared with.
func SideBySideDoc(list []contrast.Contrast) doc.Doc {
	first := list[0]
	d := doc.Doc{
		Title: fmt.Sprintf("%s side by side with %s", units.Count(len(list), "run"), first.A.ID), Kicker: "whichfs compare", Reach: first.Reach,
		Facts: []doc.Fact{{Name: "study", Text: first.Title}, {Name: "first", Text: sideText(first.A)}},
		Foot: "whichfs compare. Each run is compared with the first: Welch’s test on logarithms, with Holm’s correction over the comparisons of these two runs. Differences below " +
			units.Share(first.Margin) + " are the same.",
	}
	runs := doc.Table{Columns: doc.Heads(doc.Words, true, "Run", "What it is", "Differs from the first in", "Answer")}
	for _, c := range list {
		about := strings.Join(c.About, ", ")
		runs.Rows = append(runs.Rows, doc.Row{Cells: []doc.Cell{{Text: c.B.ID, Href: "/runs/" + c.B.ID}, doc.T(sideText(c.B)), doc.T(dash(about)), doc.T(strings.Join(c.Answer, " "))}})
		for _, w := range c.Warnings {
			d.Warnings = append(d.Warnings, c.B.ID+": "+w)
		}
	}
	d.Sections = []doc.Section{{ID: "runs", Title: "What is compared", Body: []doc.Block{runs}}, sideColumns(list)}
	return d
}

// sideColumns has a table for each measure, with a row for each candidate and a column for each run.
func sideColumns(list []contrast.Contrast) doc.Section {
	s := doc.Section{ID: "figures", Title: "Figures", Body: []doc.Block{doc.Para{Text: "Below the ratio to the first run is the figure. Intervals are 95 %." + contrastKey}}}
	var keys []string
	for _, c := range list {
		for _, col := range c.Columns {
			if !slices.Contains(keys, col.Key) {
				keys = append(keys, col.Key)
			}
		}
	}
	for _, key := range keys {
		t := doc.Table{Style: doc.Grid, Columns: []doc.Column{{Head: "Candidate"}, {Head: list[0].A.ID, Under: "first", Kind: doc.Figures}}}
		title := ""
		for i, c := range list {
			t.Columns = append(t.Columns, doc.Column{Head: c.B.ID, Under: strings.Join(c.About, ", "), Kind: doc.Figures})
			at := slices.IndexFunc(c.Columns, func(col contrast.Column) bool { return col.Key == key })
			if at < 0 {
				continue
			}
			title = c.Columns[at].Name
			for _, ch := range changesOf(c.Columns[at]) {
				row := slices.IndexFunc(t.Rows, func(r doc.Row) bool { return r.Cells[0].Text == ch.Candidate })
				if row < 0 {
					row = len(t.Rows)
					t.Rows = append(t.Rows, doc.Texts(ch.Candidate, estimate(ch.A, c.Columns[at].Unit)))
					if ch.Absent != "" {
						t.Rows[row].Cells[1] = doc.Cell{Absent: ch.Absent}
					}
				}
				for len(t.Rows[row].Cells) < i+2 {
					t.Rows[row].Cells = append(t.Rows[row].Cells, doc.Cell{Absent: "not in this run"})
				}
				cell := doc.Cell{Absent: ch.Absent, Text: ratio(ch.Ratio) + " " + cmpSign(ch), Under: estimate(ch.B, c.Columns[at].Unit)}
				cell.Tone, cell.Shade, _ = changed(ch)
				t.Rows[row].Cells = append(t.Rows[row].Cells, cell)
			}
		}
		s.Body = append(s.Body, doc.Part{ID: "column-" + doc.Slug(key), Title: title, Body: []doc.Block{t, doc.Footnotes{}}})
	}
	return s
}

func cmpSign(ch contrast.Change) string { return first(contrastSigns[ch.Outcome], "?") }
