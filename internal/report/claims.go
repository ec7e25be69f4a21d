package report

import (
	"fmt"
	"strings"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/report/doc"
	"whichfs/internal/sys/units"
)

// The signs and tones of the results of claims.
var (
	claimMarks = map[string]string{verdict.Agrees: "✓", verdict.Shares: "≈", verdict.Disagrees: "✗", verdict.Undecided: "?", verdict.NotTested: "–"}
	claimTones = map[string]doc.Tone{verdict.Agrees: doc.Good, verdict.Shares: doc.Strong, verdict.Disagrees: doc.Bad, verdict.Undecided: doc.Warn, verdict.NotTested: doc.Muted}
)

func claimOf(c verdict.Claim) doc.Claim {
	out := doc.Claim{Mark: first(claimMarks[c.Result], "–"), Word: c.Result, Tone: claimTones[c.Result], Text: c.Text}
	if c.Figures != "" {
		out.Below = append(out.Below, doc.Item{Text: c.Figures})
	}
	out.Below = append(out.Below, claimNotes(c)...)
	if c.Where != "" {
		out.Below = append(out.Below, doc.Item{Text: c.Where, Muted: true, In: doc.Page})
	}
	return out
}

// claimNotes are what a reader must know beside the figures of a claim.
func claimNotes(c verdict.Claim) []doc.Item {
	var list []doc.Item
	if c.Follows != "" {
		list = append(list, doc.Item{Mark: "!", Tone: doc.Warn, Text: "follows from the model: " + c.Follows})
	}
	if c.DecidedBy != "" {
		list = append(list, doc.Item{Mark: "→", Text: "this scale cannot decide it: " + c.DecidedBy + " can"})
	}
	if c.Contradicted != "" {
		list = append(list, doc.Item{Mark: "!", Tone: doc.Warn, Text: "the source contradicts itself here: " + c.Contradicted})
	}
	return list
}

// claimsSection compares the study's published claims with the run. Claims that
// were not tested for the same reason are grouped.
func claimsSection(v verdict.Verdict) doc.Section {
	var list []doc.Claim
	var elsewhere doc.Groups // the storages, and the claims about each
	apart := map[string][]doc.Item{}
	untested := map[[2]string]int{}
	group := func(c verdict.Claim) [2]string { return [2]string{c.Figures, c.DecidedBy} }
	for _, c := range v.Claims {
		if c.Result == verdict.NotTested && c.Elsewhere == "" {
			untested[group(c)]++
		}
	}
	told := map[[2]string]int{}
	for _, c := range v.Claims {
		at, together := told[group(c)]
		switch {
		case c.Elsewhere != "":
			elsewhere.Add(c.Elsewhere, c.Text)
			apart[c.Text] = claimNotes(c)
		case c.Result != verdict.NotTested || c.Figures == "" || untested[group(c)] < 2:
			list = append(list, claimOf(c))
		default:
			if !together {
				at = len(list)
				told[group(c)] = at
				list = append(list, claimOf(verdict.Claim{Result: c.Result, Text: fmt.Sprintf("%s: %s", units.Count(untested[group(c)], "claim"), c.Figures), DecidedBy: c.DecidedBy}))
			}
			c.DecidedBy = ""
			item := doc.Item{Mark: "·", Text: c.Text, Sub: claimNotes(c)}
			if c.Where != "" {
				item.Sub = append(item.Sub, doc.Item{Text: c.Where, Muted: true, In: doc.Page})
			}
			list[at].Below = append(list[at].Below, item)
		}
	}
	for _, g := range elsewhere {
		c := claimOf(verdict.Claim{Result: verdict.NotTested, Text: fmt.Sprintf("%s about %s", units.Count(len(g.Names), "claim"), g.Text)})
		for _, text := range g.Names {
			item := doc.Item{Mark: "·", Text: text, In: doc.Page, Sub: apart[text]}
			if len(item.Sub) > 0 {
				item.In = 0
			}
			c.Below = append(c.Below, item)
		}
		list = append(list, c)
	}
	if len(list) == 0 {
		return doc.Section{}
	}
	return doc.Section{ID: "claims", Title: "Claims of the study: " + tally(v.Claims), Nav: "Claims", Body: []doc.Block{doc.Claims{List: list}}}
}

// publishedSection compares the published order with ours. The page has the
// tables of grades.
func publishedSection(v verdict.Verdict) doc.Section {
	s := doc.Section{ID: "published", Title: "Published order against ours", Nav: "Published and measured"}
	for _, p := range v.Tables {
		taus := doc.Table{Columns: []doc.Column{{Head: "Column"}, {Head: "Kendall's tau-b", Kind: doc.Figures}, {Head: "Rows", Kind: doc.Figures}}}
		for i, name := range p.Names[:min(len(p.Names), len(p.Taus))] {
			taus.Rows = append(taus.Rows, doc.Texts(name, tauText(p.Taus[i]), fmt.Sprint(p.Taus[i].N)))
		}
		s.Body = append(s.Body, doc.Part{Title: p.Name, Small: p.Source, Body: []doc.Block{
			doc.Para{In: doc.Page, Text: "Each cell has the published grade, and ours below it."}, gradesBeside(p), taus}})
	}
	if len(s.Body) > 0 {
		s.Body = append(s.Body, doc.Para{Text: "1 is the same order, 0 no relation, −1 the opposite; – where too few rows have both."})
	}
	return s
}

// gradesBeside is a table of the published grades with ours below them.
func gradesBeside(p verdict.Published) doc.Table {
	t := doc.Table{Style: doc.Grid, In: doc.Page, Name: p.Name + ", published and measured", Columns: append([]doc.Column{{Head: "Published as"}}, doc.Heads(doc.Words, false, p.Names...)...)}
	for _, r := range p.Rows {
		row := doc.Row{Cells: []doc.Cell{{Text: r.Label, Under: "here " + first(r.Candidate, "not tried")}}}
		for i, grade := range r.Theirs[:min(len(r.Theirs), len(p.Names))] {
			ours := ""
			if i < len(r.Ours) {
				ours = r.Ours[i]
			}
			row.Cells = append(row.Cells, doc.Cell{Text: dash(grade), Shade: shadeOfWord(grade), Under: "ours " + dash(ours)})
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func shadeOfWord(grade string) int {
	for g := verdict.Worst; g <= verdict.Excellent; g++ {
		if strings.EqualFold(g.String(), grade) {
			return shadeOf(g)
		}
	}
	return 0
}
