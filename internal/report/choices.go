package report

import (
	"fmt"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/report/doc"
)

const aboutChoices = "Ties are joined with =; ? marks a place that is not settled against another; – means that the order is shorter or nothing was published."

// choiceTable has two lines for each storage: the published places and ours.
func choiceTable(list []verdict.Choice) doc.Table {
	t := doc.Table{Merge: true, Columns: append([]doc.Column{{Head: "Storage"}, {Head: "Who"}}, doc.Heads(doc.Words, true, "Best", "Second", "Third", "Worst")...)}
	for _, c := range list {
		if c.Published != [4]string{} {
			row := doc.Texts(c.Storage, "published")
			for _, place := range c.Published {
				row.Cells = append(row.Cells, doc.T(dash(place)))
			}
			row.Muted = true
			t.Rows = append(t.Rows, row)
		}
		row := doc.Texts(c.Storage, "here")
		for i, place := range c.Ours {
			cell := doc.T(dash(place))
			if c.Same[i] {
				cell.Tone, cell.Tag = doc.Good, "as published"
			}
			row.Cells = append(row.Cells, cell)
		}
		t.Rows = append(t.Rows, row)
		if c.Absent != "" {
			t.Below = append(t.Below, doc.Item{Mark: "–", Muted: true, Lead: c.Storage, Text: c.Absent})
		}
	}
	return t
}

func choicePart(i int, c verdict.Choice, rows []verdict.Choice, same string) doc.Part {
	return doc.Part{ID: fmt.Sprintf("choice-%d", i+1), Title: c.Name, Small: c.Source + same, Body: []doc.Block{choiceTable(rows)}}
}

// choicesSection is the choices of a single run.
func choicesSection(list []verdict.Choice) doc.Section {
	s := doc.Section{ID: "choices", Title: "Choices, compared with the published ones", Nav: "Choices"}
	for i, c := range list {
		s.Body = append(s.Body, choicePart(i, c, []verdict.Choice{c}, ""))
	}
	if len(list) > 0 {
		s.Body = append(s.Body, doc.Para{Text: aboutChoices})
	}
	return s
}
