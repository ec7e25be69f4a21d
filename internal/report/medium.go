package report

import (
	"fmt"
	"slices"
	"strings"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/report/doc"
)

// mediumNote is everything in a cell besides its word.
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

// mediumSection shows the effects of faults of the medium.
func mediumSection(v verdict.Verdict) doc.Section {
	m := v.Medium
	if m == nil || len(m.Rows) == 0 {
		return doc.Section{}
	}
	t := doc.Table{Style: doc.Grid, Columns: []doc.Column{{Head: "Candidate"}}}
	for _, l := range m.Levels {
		head := l.Name
		if l.Control {
			head += " (control)"
		}
		t.Columns = append(t.Columns, doc.Column{Head: head, Flex: true})
	}
	for _, r := range m.Rows {
		row := doc.Texts(r.Candidate)
		for _, c := range r.Cells[:min(len(r.Cells), len(m.Levels))] {
			cell := doc.Cell{Absent: c.Absent, Text: fmt.Sprintf("%s %d/%d", c.Class, c.In, c.Of), Detail: mediumNote(c)}
			cell.Tone, cell.Shade = mediumTone(c)
			row.Cells = append(row.Cells, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	return doc.Section{ID: "medium", Title: "Faults of the medium", Body: []doc.Block{doc.Para{Text: m.About}, t}}
}

// mediumShades are the background colours of the classes of damage.
var mediumShades = map[string]int{
	verdict.DataLost: 1, verdict.DataWrong: 1, verdict.DataMissing: 2, verdict.DataUnreadable: 2, verdict.DataStopped: 3, verdict.DataReadOnly: 3,
	verdict.DataNotCompared: 4, verdict.DataCorrected: 5, verdict.DataScrubbed: 6, verdict.DataWhole: 7,
}

func mediumTone(c verdict.MediumCell) (doc.Tone, int) {
	shade := mediumShades[c.Class]
	switch at := slices.Index(verdict.MediumClasses, c.Class); {
	case c.Absent != "" || at < 0:
		return doc.Muted, shade
	case c.Keeps():
		return doc.Good, shade
	case at <= slices.Index(verdict.MediumClasses, verdict.DataUnreadable):
		return doc.Bad, shade
	}
	return doc.Warn, shade
}
