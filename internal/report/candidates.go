package report

import (
	"fmt"
	"slices"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/report/doc"
	"whichfs/internal/result"
)

// withoutSection lists the candidates without figures, and why.
func withoutSection(v verdict.Verdict) doc.Section {
	list := withoutItems(v)
	if len(list) == 0 {
		return doc.Section{}
	}
	return doc.Section{ID: "without", Title: "Candidates without figures", Nav: "Without figures", Body: []doc.Block{doc.Items{List: list}}}
}

func withoutItems(v verdict.Verdict) (list []doc.Item) {
	for _, c := range v.Candidates {
		if c.Outcome == result.Done || c.Outcome == "" {
			continue
		}
		item := doc.Item{Mark: "–", Tone: doc.Warn, Lead: c.Name, Text: outcomeText(c.Outcome) + ": " + c.Reason}
		if c.Hint != "" {
			item.Sub = []doc.Item{{Mark: "→", Text: c.Hint}}
		}
		list = append(list, item)
	}
	return list
}

// differsSection is what a reader must know about individual candidates.
func differsSection(v verdict.Verdict) doc.Section {
	var list []doc.Item
	for _, c := range v.Candidates {
		for _, o := range c.Options {
			if o.State == result.Ignored || o.State == result.Altered {
				list = append(list, doc.Item{Mark: "!", Tone: doc.Warn, Lead: c.Name, Text: fmt.Sprintf("option %s is %s (%s)", o.Text, o.State, o.Evidence)})
			}
		}
		for _, l := range c.LeftOut {
			list = append(list, doc.Item{Mark: "!", Tone: doc.Warn, Lead: c.Name, Text: "left out " + l})
		}
	}
	if len(list) == 0 {
		return doc.Section{}
	}
	return doc.Section{ID: "differs", Title: "Options and data that differ from the request", Nav: "What differs", Body: []doc.Block{doc.Items{List: list}}}
}

// candidatesSection lists the options of each candidate with their evidence.
func candidatesSection(v verdict.Verdict) doc.Section {
	t := doc.Table{Columns: doc.Heads(doc.Words, false, "Candidate", "Trials", "Option", "State", "Evidence", "Check")}
	tones := map[result.OptionState]doc.Tone{result.InForce: doc.Good, result.Ignored: doc.Bad, result.Altered: doc.Bad, result.Unverified: doc.Warn}
	for _, c := range v.Candidates {
		options := slices.Clone(c.Options)
		if len(options) == 0 {
			options = []result.Option{{}}
		}
		for _, o := range options {
			t.Rows = append(t.Rows, doc.Row{Cells: []doc.Cell{candidateCell(c), doc.T(fmt.Sprint(c.Done)), doc.T(first(o.Text, "none requested")), {Text: string(o.State), Tone: tones[o.State]},
				doc.T(o.Evidence), doc.T(first(c.Checks, "not checked"))}})
		}
	}
	if len(t.Rows) == 0 {
		return doc.Section{}
	}
	return doc.Section{ID: "candidates", Title: "Candidates, their options and checks", Nav: "Candidates", In: doc.Page, Body: []doc.Block{t}}
}
