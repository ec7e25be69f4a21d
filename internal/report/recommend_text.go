package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"whichfs/internal/harmless"
	"whichfs/internal/recommend"
	"whichfs/internal/units"
)

// RecommendText writes a recommendation for a terminal or a serial line.
func RecommendText(w io.Writer, a recommend.Answer, s TextOptions) error {
	p := &printer{TextOptions: s}
	a = harmless.Copy(a, 0)
	p.para(0, "", recommendTitle(a), nil)
	p.line("")
	p.facts(recommendFacts(a)...)
	if a.Reach != "" {
		p.line("")
		p.para(0, "!", a.Reach, p.yellow)
	}
	for _, text := range a.Warnings {
		p.para(0, "!", text, p.yellow)
	}
	p.profiles(a)
	for _, o := range a.Orders {
		p.recommended(a, o)
	}
	p.evidence(a)
	p.recommendMore(a)
	_, err := w.Write(p.b.Bytes())
	return err
}

// RecommendJSON writes a recommendation for programs.
func RecommendJSON(w io.Writer, a recommend.Answer) error {
	return writeObject(w, "whichfs-recommend", "answer", a)
}

func recommendTitle(a recommend.Answer) string {
	switch {
	case a.Profile != "":
		return "Which filesystem for the profile " + a.Profile
	case len(a.Profiles) > 0:
		return "Which filesystem for what"
	}
	return "Which filesystem for these needs"
}

// recommendFacts are the names and values that open a recommendation.
func recommendFacts(a recommend.Answer) []string {
	var out []string
	for _, r := range a.Runs {
		text := fmt.Sprintf("%s: %s, %s on %s", r.ID, strings.Trim(r.Study+", "+r.Scale, ", "), units.Count(r.Rounds, "round"), r.Storage)
		if r.Kernel != "" {
			text += ", kernel " + r.Kernel
		}
		out = append(out, "run", text)
	}
	switch {
	case len(a.Runs) > 0:
	case len(a.FaultRuns) > 0:
		out = append(out, "run", "none: no speed was measured")
	default:
		out = append(out, "run", "none: nothing was measured")
	}
	return append(append(out, faultFacts(a)...), "needs", needsText(a.Needs), "weights", weightsText(a.Weights))
}

func needsText(needs []recommend.Need) string {
	var out []string
	for _, n := range needs {
		out = append(out, n.String())
	}
	return strings.Join(out, ", ")
}

func weightsText(weights []recommend.Weight) string {
	var out []string
	for _, w := range weights {
		out = append(out, w.String())
	}
	return strings.Join(out, ", ")
}

// profiles prints everybody's answers in one table.
func (p *printer) profiles(a recommend.Answer) {
	if len(a.Profiles) == 0 {
		return
	}
	p.head("Answers by profile")
	t := Table{Columns: []TableColumn{{Head: "Profile"}, {Head: "Take", Flex: true}, {Head: "P(best)"}, {Head: "Next", Flex: true}, {Head: "Ruled out", Flex: true}}}
	for _, one := range a.Profiles {
		best, next := profileBest(one.Order)
		t.Rows = append(t.Rows, []string{one.Name, best, sureOf(one.Order), next, ruledOut(one.Order)})
	}
	p.table(t)
	p.line("")
	p.para(0, "", profileKey, nil)
	for _, one := range a.Profiles {
		p.line("")
		p.line("%s", p.bold(p.text(one.Name)))
		p.para(2, "", one.About+".", nil)
		p.facts2("needs", needsText(one.Needs), "weights", weightsText(one.Weights))
		p.para(2, "", one.Order.Answer, nil)
		for _, m := range one.Order.Missing {
			p.missing(m)
		}
	}
}

const profileKey = "P(best) is the probability that it is the best of all that meet the needs; below 95 % read its own answer."

// facts2 is facts, indented.
func (p *printer) facts2(pairs ...string) {
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			p.para(2, pairs[i]+":", pairs[i+1], p.faint)
		}
	}
}

// profileBest names the best and the next of an order, or says why there is
// none.
func profileBest(o recommend.Order) (best, next string) {
	switch {
	case len(o.Places) == 0 && len(o.Without) == 0:
		return "nothing meets its needs", "–"
	case len(o.Places) == 0 && !o.Measured:
		return "not measured", "–"
	case len(o.Places) == 0:
		return "what it weighs is not measured", "–"
	case len(o.Places) == 1:
		return o.Places[0].Candidate, "–"
	}
	return o.Places[0].Candidate, o.Places[1].Candidate
}

func sureOf(o recommend.Order) string {
	if len(o.Places) == 0 || !o.Places[0].HasBest {
		return "–"
	}
	return recommend.Probability(o.Places[0].Best)
}

// ruledOut counts the candidates that lack each need.
func ruledOut(o recommend.Order) string {
	var needs []string
	count := map[string]int{}
	for _, e := range o.Excluded {
		if count[e.Need] == 0 {
			needs = append(needs, e.Need)
		}
		count[e.Need]++
	}
	var out []string
	for _, n := range needs {
		out = append(out, fmt.Sprintf("%d by %s", count[n], n))
	}
	if len(out) == 0 {
		return "–"
	}
	return strings.Join(out, ", ")
}

// orderTitle names the order where there may be two.
func orderTitle(o recommend.Order) string {
	if o.Use == "" {
		return "Answer"
	}
	return "Answer for " + o.Use + " work"
}

func (p *printer) recommended(a recommend.Answer, o recommend.Order) {
	p.head(orderTitle(o))
	paint := p.yellow
	if o.Settled {
		paint = p.green
	}
	p.para(0, "", o.Answer, paint)
	for _, m := range o.Missing {
		p.missing(m)
	}
	p.recommendPlaces(o)
	p.counted(o)
	p.withoutFigures(o)
	p.excluded(o)
	p.changes(o)
}

func (p *printer) missing(m recommend.Missing) {
	p.para(2, "!", m.Text, p.yellow)
	if m.Remedy != "" {
		p.para(4, "→", m.Remedy, nil)
	}
}

func (p *printer) recommendPlaces(o recommend.Order) {
	if len(o.Places) == 0 {
		return
	}
	p.line("")
	t := Table{Columns: []TableColumn{{Head: "Rank"}, {Head: "Candidate", Flex: true}, {Head: "Times the best, weighted"}, {Head: "P(best)"}, {Head: "Tied with", Flex: true}}}
	for _, x := range o.Places {
		best := "–"
		if x.HasBest {
			best = recommend.Probability(x.Best)
		}
		t.Rows = append(t.Rows, []string{places(x.RankLow, x.RankHigh), x.Candidate, ratio(x.Score), best, strings.Join(x.TiedWith, ", ")})
	}
	p.table(t)
	p.line("")
	for _, x := range o.Places {
		if x.Why != "" {
			p.para(0, "·", x.Candidate+": "+x.Why, nil)
		} else if len(x.Doubt)+len(x.Notes) > 0 {
			p.para(0, "·", x.Candidate+":", nil)
		}
		for _, d := range x.Doubt {
			p.para(2, "?", d.Text, p.yellow)
		}
		for _, n := range x.Notes {
			p.para(2, "!", n, p.yellow)
		}
	}
}

// counted prints what every measure contributes, a column for each.
func (p *printer) counted(o recommend.Order) {
	if len(o.Counted) == 0 || len(o.Places) == 0 {
		return
	}
	p.head("What counted")
	t := Table{Columns: []TableColumn{{Head: "", Flex: true}}}
	weights := []string{"weight"}
	for _, c := range o.Counted {
		t.Columns = append(t.Columns, TableColumn{Head: c.Name, Right: true})
		weights = append(weights, fmt.Sprintf("%s (%s)", weightText(c.Weight), units.Share(c.Share)))
	}
	t.Rows = append(t.Rows, weights)
	for _, x := range o.Places {
		row := []string{x.Candidate}
		for _, part := range x.Parts {
			row = append(row, units.Ratio(part.Ratio.Value))
		}
		t.Rows = append(t.Rows, row)
	}
	p.table(t)
	p.line("")
	p.para(0, "", "Figures are times the best of the measure. The order is by their geometric mean with these weights, compared round by round.", nil)
}

func weightText(w float64) string { return fmt.Sprintf("%.4g", w) }

func (p *printer) withoutFigures(o recommend.Order) {
	if len(o.Without) == 0 {
		return
	}
	if !o.Measured || len(o.Counted) == 0 {
		p.head("Meet the needs, by facts")
		for _, x := range o.Without {
			p.para(0, "·", x.Candidate, nil)
			p.doubts(x.Doubt)
		}
		return
	}
	p.head("Meet the needs, and lack a figure that counts")
	for _, g := range groupAbsent(o.Without) {
		p.para(0, "–", strings.Join(g.Names, ", ")+": "+g.Text, p.faint)
	}
}

func groupAbsent(list []recommend.Absent) []reason {
	var out []reason
	for _, x := range list {
		i := slices.IndexFunc(out, func(r reason) bool { return r.Text == x.Reason })
		if i < 0 {
			out = append(out, reason{Text: x.Reason})
			i = len(out) - 1
		}
		out[i].Names = append(out[i].Names, x.Candidate)
	}
	return out
}

// ruling is a need with everybody whom it rules out, by reason.
type ruling struct {
	Need    string
	Reasons []rulingReason
}

type rulingReason struct {
	Names               []string
	Why, Source, Remedy string
}

// rulings groups what is ruled out by need, and those for the same reason.
func rulings(o recommend.Order) []ruling {
	var out []ruling
	for _, e := range o.Excluded {
		i := slices.IndexFunc(out, func(r ruling) bool { return r.Need == e.Need })
		if i < 0 {
			out = append(out, ruling{Need: e.Need})
			i = len(out) - 1
		}
		k := slices.IndexFunc(out[i].Reasons, func(r rulingReason) bool { return r.Why == e.Why && r.Source == e.Source })
		if k < 0 {
			out[i].Reasons = append(out[i].Reasons, rulingReason{Why: e.Why, Source: e.Source, Remedy: e.Remedy})
			k = len(out[i].Reasons) - 1
		}
		out[i].Reasons[k].Names = append(out[i].Reasons[k].Names, e.Candidate)
	}
	return out
}

func (p *printer) excluded(o recommend.Order) {
	list := rulings(o)
	if len(list) == 0 {
		return
	}
	p.head("Ruled out")
	for _, r := range list {
		p.line("%s", p.bold(p.text(r.Need)))
		for i, x := range r.Reasons {
			p.para(2, "✗", strings.Join(x.Names, ", ")+": "+x.Why, p.red)
			if x.Remedy != "" {
				p.para(4, "→", "it would not be with "+x.Remedy, nil)
			}
			// Once for all that follow with the same source.
			if i+1 == len(r.Reasons) || r.Reasons[i+1].Source != x.Source {
				p.para(4, "", "known from: "+x.Source, p.faint)
			}
		}
	}
}

func (p *printer) changes(o recommend.Order) {
	if len(o.Changes) == 0 {
		return
	}
	p.head("What would change the answer")
	for _, c := range o.Changes {
		p.para(0, "·", c.Text, nil)
		if c.Remedy != "" {
			p.para(2, "→", c.Remedy, nil)
		}
	}
}

// recommendMore says what to type next.
func (p *printer) recommendMore(a recommend.Answer) {
	var commands [][2]string
	if len(a.Runs) == 0 {
		commands = append(commands, [2]string{"whichfs run bootlin-2023 --quick", "measures in the lab, which needs no hardware; then ask again"})
	}
	if len(a.Profiles) > 0 {
		commands = append(commands,
			[2]string{"whichfs recommend --profile " + a.Profiles[0].Name, "one of them, with its reasons"},
			[2]string{"whichfs list needs", "what else can be needed; whichfs list keys shows what can be weighed"})
	}
	if len(commands) == 0 {
		return
	}
	p.head("More")
	for _, c := range commands {
		p.para(0, "", c[0], p.bold)
		p.para(4, "", c[1], nil)
	}
}
