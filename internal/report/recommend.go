package report

import (
	"fmt"
	"io"
	"strings"

	"whichfs/internal/judge/recommend"
	"whichfs/internal/judge/verdict"
	"whichfs/internal/report/doc"
	"whichfs/internal/sys/units"
)

// RecommendDoc is an answer to a user's needs.
func RecommendDoc(a recommend.Answer) doc.Doc {
	d := doc.Doc{Title: "Which filesystem for these needs", Kicker: "whichfs recommend", Reach: a.Reach, Warnings: a.Warnings, Facts: recommendFacts(a),
		Foot: fmt.Sprintf("whichfs recommend. Probabilities are shares of draws from the distribution of the estimates, seed %d; differences below %s are ties.", a.Seed, units.Share(a.Margin))}
	switch {
	case a.Profile != "":
		d.Title = "Which filesystem for the profile " + a.Profile
	case len(a.Profiles) > 0:
		d.Title = "Which filesystem for what"
	}
	d.Sections = append(d.Sections, profileTable(a))
	for i, o := range a.Orders {
		title := "Answer"
		if o.Use != "" {
			title = "Answer for " + o.Use + " work"
		}
		s := orderSection(o, "order-"+doc.Letter(i), title)
		s.Body = append(s.Body, orderDetails(o)...)
		d.Sections = append(d.Sections, s)
	}
	for _, p := range a.Profiles {
		d.Sections = append(d.Sections, profileSection(p))
	}
	d.Sections = compact(append(d.Sections, evidenceSection(a), recommendMore(a))...)
	return d
}

// recommendFacts are the names and values at the head of a recommendation.
func recommendFacts(a recommend.Answer) []doc.Fact {
	var out []doc.Fact
	for _, r := range a.Runs {
		text := fmt.Sprintf("%s: %s, %s on %s", r.ID, strings.Trim(r.Study+", "+r.Scale, ", "), units.Count(r.Rounds, "round"), r.Storage)
		if r.Kernel != "" {
			text += ", kernel " + r.Kernel
		}
		out = append(out, doc.Fact{Name: "run", Text: text})
	}
	switch {
	case len(a.Runs) > 0:
	case len(a.FaultRuns) > 0:
		out = append(out, doc.Fact{Name: "run", Text: "none: no speed was measured"})
	default:
		out = append(out, doc.Fact{Name: "run", Text: "none: nothing was measured"})
	}
	for _, r := range a.FaultRuns {
		text := fmt.Sprintf("%s: %s", r.ID, strings.Trim(r.Study+", "+r.Scale, ", "))
		if r.Kernel != "" {
			text += ", kernel " + r.Kernel
		}
		out = append(out, doc.Fact{Name: "faults", Text: text})
	}
	return append(out, doc.Fact{Name: "needs", Text: joined(a.Needs)}, doc.Fact{Name: "weights", Text: joined(a.Weights)})
}

// joined joins the texts of things.
func joined[T fmt.Stringer](list []T) string {
	var out []string
	for _, x := range list {
		out = append(out, x.String())
	}
	return strings.Join(out, ", ")
}

func profileID(p recommend.ProfileAnswer) string { return "profile-" + doc.Slug(p.Name) }

// profileTable shows the answers for all profiles.
func profileTable(a recommend.Answer) doc.Section {
	if len(a.Profiles) == 0 {
		return doc.Section{}
	}
	t := doc.Table{Columns: []doc.Column{{Head: "Profile"}, {Head: "Take", Flex: true}, {Head: "P(best)"}, {Head: "Next", Flex: true}, {Head: "Ruled out", Flex: true}}}
	for _, p := range a.Profiles {
		best, next := profileBest(p.Order)
		sure := "–"
		if len(p.Order.Places) > 0 {
			sure = probability(p.Order.Places[0])
		}
		t.Rows = append(t.Rows, doc.Row{Cells: []doc.Cell{{Text: p.Name, Href: "#" + profileID(p)}, {Text: best, Tone: doc.Strong}, doc.T(sure), doc.T(next), doc.T(ruledOut(p.Order))}})
	}
	return doc.Section{ID: "profiles", Title: "Answers by profile", Body: []doc.Block{t,
		doc.Para{Text: "P(best) is the probability that it is the best of all that meet the needs; if it is below 95 %, read the profile's own answer."}}}
}

// profileSection shows the answer for one profile. A text ends with it: the
// profile's own report has the order, the reasons and the excluded candidates.
func profileSection(p recommend.ProfileAnswer) doc.Section {
	s := orderSection(p.Order, profileID(p), p.Name)
	about := doc.Facts{List: []doc.Fact{{Name: "needs", Text: joined(p.Needs)}, {Name: "weights", Text: joined(p.Weights)}}}
	s.Body = append([]doc.Block{doc.Para{Text: sentence(p.About)}, about}, s.Body...)
	summary := "Which candidates meet the needs, and which do not"
	if len(p.Order.Places) > 0 {
		summary = "Order, reasons, and what would change it"
	}
	if details := orderDetails(p.Order); len(details) > 0 {
		s.Body = append(s.Body, doc.Fold{Summary: summary, In: doc.Page, Body: details})
	}
	return s
}

// profileBest names the best and the next of an order, or says why there is
// none.
func profileBest(o recommend.Order) (best, next string) {
	switch {
	case len(o.Places) == 0 && len(o.Without) == 0:
		return "no candidate meets its needs", "–"
	case len(o.Places) == 0 && !o.Measured:
		return "not measured", "–"
	case len(o.Places) == 0:
		return "its weighted measures are not measured", "–"
	case len(o.Places) == 1:
		return o.Places[0].Candidate, "–"
	}
	return o.Places[0].Candidate, o.Places[1].Candidate
}

func probability(p recommend.Place) string {
	if !p.HasBest {
		return "–"
	}
	return recommend.Probability(p.Best)
}

// ruledOut counts the candidates that fail each need.
func ruledOut(o recommend.Order) string {
	var needs doc.Groups
	for _, e := range o.Excluded {
		needs.Add(e.Need, e.Candidate)
	}
	var out []string
	for _, n := range needs {
		out = append(out, fmt.Sprintf("%d by %s", len(n.Names), n.Text))
	}
	return dash(strings.Join(out, ", "))
}

// orderSection begins with the answer and its caveats.
func orderSection(o recommend.Order, id, title string) doc.Section {
	s := doc.Section{ID: id, Title: title, Body: []doc.Block{doc.Para{Role: doc.Answer, Text: o.Answer}}}
	if len(o.Places) > 0 {
		s.State = settledState(o.Settled)
	}
	var missing []doc.Item
	if f := o.Further; f != nil {
		missing = append(missing, doc.Item{Mark: "?", Tone: doc.Warn, Text: f.Text, Command: f.Command})
	}
	for _, m := range o.Missing {
		missing = append(missing, doc.Item{Mark: "!", Tone: doc.Warn, Text: m.Text, Command: m.Remedy})
	}
	s.Body = append(s.Body, doc.Items{List: missing})
	return s
}

// settledState is shown beside a title.
func settledState(settled bool) *doc.State {
	if settled {
		return &doc.State{Word: "settled", Tone: doc.Good}
	}
	return &doc.State{Word: "not settled", Tone: doc.Warn}
}

// orderDetails shows the order with its reasons, the failed needs, and what
// would change the answer.
func orderDetails(o recommend.Order) []doc.Block {
	var out []doc.Block
	if len(o.Places) > 0 {
		t := rankTable("Order, by the weighted average of ratios to the best", "Times the best, weighted", doc.Column{Head: "P(best)", Kind: doc.Ratios})
		top := topOf(o.Places, func(p recommend.Place) verdict.Interval { return p.Score })
		var whys []doc.Item
		for _, p := range o.Places {
			t.Rows = append(t.Rows, rankRow(p.RankLow, p.RankHigh, p.Candidate, p.TiedWith, p.Score, top, doc.T(probability(p))))
			if p.Why != "" || len(p.Doubt)+len(p.Notes) > 0 {
				why := doc.Item{Mark: "·", Lead: p.Candidate, Text: p.Why, Sub: doubts(p.Doubt)}
				for _, n := range p.Notes {
					why.Sub = append(why.Sub, doc.Item{Mark: "!", Tone: doc.Warn, Text: n})
				}
				whys = append(whys, why)
			}
		}
		out = append(out, t, doc.Items{List: whys})
	}
	for _, s := range compact(counted(o), withoutFigures(o), changes(o), excluded(o)) {
		out = append(out, s)
	}
	return out
}

func doubts(list []recommend.Doubt) []doc.Item {
	var out []doc.Item
	for _, d := range list {
		out = append(out, doc.Item{Mark: "?", Tone: doc.Warn, Text: d.Text})
	}
	return out
}

// counted shows the contribution of each measure, a column for each.
func counted(o recommend.Order) doc.Section {
	if len(o.Counted) == 0 || len(o.Places) == 0 {
		return doc.Section{}
	}
	t := doc.Table{Style: doc.Grid, Columns: []doc.Column{{Head: "Candidate"}}}
	for _, c := range o.Counted {
		t.Columns = append(t.Columns, doc.Column{Head: c.Name, Under: fmt.Sprintf("weight %.4g, %s", c.Weight, units.Share(c.Share)), Kind: doc.Figures})
	}
	for _, p := range o.Places {
		row := doc.Texts(p.Candidate)
		for i, part := range p.Parts {
			cell := doc.Cell{Text: units.Ratio(part.Ratio.Value), Long: ratio(part.Ratio)}
			if i < len(o.Counted) {
				cell.Under = estimate(part.Estimate, o.Counted[i].Unit)
			}
			if part.Ratio.Value == 1 {
				cell.Shade = 7
			}
			row.Cells = append(row.Cells, cell)
		}
		row.Cells = row.Cells[:min(len(row.Cells), len(t.Columns))]
		t.Rows = append(t.Rows, row)
	}
	return doc.Section{Title: "What counted", Body: []doc.Block{t,
		doc.Para{Text: "Figures are ratios to the best of the measure. The order is by their geometric mean with these weights, compared round by round."}}}
}

// withoutFigures are the candidates that meet the needs but have no place.
func withoutFigures(o recommend.Order) doc.Section {
	if len(o.Without) == 0 {
		return doc.Section{}
	}
	var list []doc.Item
	if !o.Measured || len(o.Counted) == 0 {
		for _, x := range o.Without {
			list = append(list, doc.Item{Mark: "·", Text: x.Candidate, Sub: doubts(x.Doubt)})
		}
		return doc.Section{Title: "Meet the needs, according to the facts", Body: []doc.Block{doc.Items{List: list}}}
	}
	var reasons doc.Groups
	for _, x := range o.Without {
		reasons.Add(x.Reason, x.Candidate)
	}
	for _, g := range reasons {
		list = append(list, doc.Item{Mark: "–", Lead: strings.Join(g.Names, ", "), Text: g.Text, Muted: true})
	}
	return doc.Section{Title: "Meet the needs, but lack a figure that counts", Body: []doc.Block{doc.Items{List: list}}}
}

// excluded lists the excluded candidates by need, grouped by reason.
func excluded(o recommend.Order) doc.Section {
	var list []doc.Item
	needs := doc.Groups{}
	for _, e := range o.Excluded {
		needs.Add(e.Need, e.Candidate)
	}
	for _, n := range needs {
		type reason struct{ why, source, remedy string }
		var reasons []reason
		names := map[reason][]string{}
		for _, e := range o.Excluded {
			if e.Need != n.Text {
				continue
			}
			r := reason{e.Why, e.Source, e.Remedy}
			if names[r] == nil {
				reasons = append(reasons, r)
			}
			names[r] = append(names[r], e.Candidate)
		}
		need := doc.Item{Lead: n.Text}
		for i, r := range reasons {
			item := doc.Item{Mark: "✗", Tone: doc.Bad, Lead: strings.Join(names[r], ", "), Text: r.why}
			if r.remedy != "" {
				item.Sub = append(item.Sub, doc.Item{Mark: "→", Text: "it would not be with " + r.remedy})
			}
			if i+1 == len(reasons) || reasons[i+1].source != r.source { // once for all following ones with the same
				item.Sub = append(item.Sub, doc.Item{Text: "known from: " + r.source, Muted: true})
			}
			need.Sub = append(need.Sub, item)
		}
		list = append(list, need)
	}
	if len(list) == 0 {
		return doc.Section{}
	}
	return doc.Section{Title: "Ruled out", Body: []doc.Block{doc.Items{List: list}}}
}

func changes(o recommend.Order) doc.Section {
	if len(o.Changes) == 0 {
		return doc.Section{}
	}
	var list []doc.Item
	for _, c := range o.Changes {
		list = append(list, doc.Item{Mark: "·", Text: c.Text, Command: c.Remedy})
	}
	return doc.Section{Title: "What would change the answer", Body: []doc.Block{doc.Items{List: list}}}
}

const aboutEvidence = "What runs of faults showed about a filesystem with its options on a kernel, compared with what is known of its design. " +
	"These runs say nothing about the storage on which speed was measured, and none of their figures counts in the order. " +
	"A single broken promise is proof; the absence of broken promises is shown only up to its limit."

// evidenceSection compares the results of runs of faults with the candidates'
// design.
func evidenceSection(a recommend.Answer) doc.Section {
	t := doc.Table{Merge: true, Columns: []doc.Column{{Head: "Candidate", Flex: true}, {Head: "Of"}, {Head: "Measured", Flex: true}, {Head: "Design", Flex: true}}}
	var conflicts []doc.Item
	for _, e := range a.Evidence {
		name := doc.Cell{Text: e.Candidate, Under: e.Run}
		if len(a.FaultRuns) > 1 {
			name.Text, name.Under = name.Text+" in "+e.Run, ""
		}
		if e.Kernel != "" {
			name.Under = strings.TrimPrefix(name.Under+", kernel "+e.Kernel, ", ")
		}
		for _, l := range e.Lines {
			design := doc.Cell{Text: l.Design}
			if l.Source != "" {
				design.Under = "Known from: " + l.Source + "."
			}
			t.Rows = append(t.Rows, doc.Row{Cells: []doc.Cell{name, doc.T(l.What), doc.T(l.Measured), design}})
			if l.Conflict != "" {
				conflicts = append(conflicts, doc.Item{Mark: "!", Tone: doc.Warn, Text: e.Candidate + ", " + l.What + ": " + l.Conflict + "."})
			}
		}
	}
	if len(t.Rows) == 0 {
		return doc.Section{}
	}
	return doc.Section{ID: "faults", Title: "What survived, and what the design says", Nav: "What survived",
		Body: []doc.Block{doc.Para{Text: aboutEvidence}, t, doc.Items{List: conflicts}}}
}

// recommendMore suggests the next command.
func recommendMore(a recommend.Answer) doc.Section {
	var list []doc.Command
	if len(a.Runs) == 0 {
		list = append(list, doc.Command{Line: "whichfs run bootlin-2023 --quick", About: "measures in the lab, which needs no hardware; then ask again"})
	}
	if len(a.Profiles) > 0 {
		list = append(list,
			doc.Command{Line: "whichfs recommend --profile " + a.Profiles[0].Name, About: "one of them, with its reasons"},
			doc.Command{Line: "whichfs list needs", About: "shows all needs; whichfs list keys shows what can be weighted"})
	}
	if len(list) == 0 {
		return doc.Section{}
	}
	return doc.Section{ID: "more", Title: "More", Body: []doc.Block{doc.Commands{List: list}}}
}

// RecommendJSON writes a recommendation for programs.
func RecommendJSON(w io.Writer, a recommend.Answer) error {
	return writeObject(w, "whichfs-recommend", "answer", a)
}
