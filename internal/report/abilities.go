package report

import (
	"slices"

	"whichfs/internal/filesystem"
	"whichfs/internal/judge/verdict"
	"whichfs/internal/report/doc"
	"whichfs/internal/result"
)

// abilityPhases are the phases that tried an ability.
func abilityPhases(v verdict.Verdict) []verdict.Phase {
	var tried []verdict.Phase
	for _, p := range v.Phases {
		if slices.ContainsFunc(p.Rows, func(r verdict.PhaseCost) bool { _, ok := r.Figures[result.Able]; return ok }) {
			tried = append(tried, p)
		}
	}
	return tried
}

// abilitiesSection shows what can be done to each filesystem, as tried.
func abilitiesSection(v verdict.Verdict) doc.Section {
	phases := abilityPhases(v)
	if len(phases) == 0 {
		return doc.Section{}
	}
	t := doc.Table{Style: doc.Grid, Columns: []doc.Column{{Head: "Candidate"}}}
	for _, c := range v.Candidates {
		t.Rows = append(t.Rows, doc.Texts(c.Name))
	}
	var words []doc.Fact
	for _, p := range phases {
		t.Columns = append(t.Columns, doc.Column{Head: p.Name, Flex: true})
		for i, c := range v.Candidates {
			cell := doc.Cell{Absent: "not tried"}
			if at := slices.IndexFunc(p.Rows, func(r verdict.PhaseCost) bool { return r.Candidate == c.Name }); at >= 0 {
				if f := p.Rows[at].Figures[result.Able]; f.Absent != "" {
					cell.Absent = f.Absent
				} else {
					cell = doc.Cell{Text: "yes", Tone: doc.Good}
				}
			}
			t.Rows[i].Cells = append(t.Rows[i].Cells, cell)
		}
		for _, a := range filesystem.Abilities {
			if string(a.Name) == p.Name {
				words = append(words, doc.Fact{Name: p.Name, Text: a.About + ". Shown if " + a.Shown + "."})
			}
		}
	}
	about := "Each was tried with the filesystem's own tools on a disk in memory with files, whose content was compared afterwards; that a tool reports success is not enough."
	return doc.Section{ID: "abilities", Title: "What can be done to each filesystem",
		Body: []doc.Block{doc.Para{Text: about}, t, doc.Footnotes{}, doc.Facts{List: words}}}
}
