package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/report/doc"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
)

// screenful is how many lines a report has that is read at a glance.
const screenful = 40

// glance is how much of each list there is room for.
type glance struct{ ranks, reasons, notes int }

// glances, from the most to the least.
var glances = []glance{{12, 3, 2}, {8, 3, 2}, {6, 3, 1}, {5, 3, 1}, {4, 3, 1}, {4, 3, 0}, {3, 3, 0}, {3, 2, 0}, {3, 1, 0}, {2, 1, 0}, {2, 0, 0}}

// Glance writes the report on one screen: the answer, the order, what is not settled and what would settle it, and
// where the rest is.
func Glance(w io.Writer, v verdict.Verdict, s TextOptions) error {
	var b bytes.Buffer
	for _, g := range glances { // as much as a screen has lines for, or the least there is
		b.Reset()
		if err := doc.Text(&b, glanceDoc(v, g), s); err != nil {
			return err
		}
		if bytes.Count(b.Bytes(), []byte{'\n'}) <= screenful {
			break
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

func glanceDoc(v verdict.Verdict, g glance) doc.Doc {
	run := v.Run
	on := []string{run.Storage}
	if run.Machine != "" && run.Machine != "lab" {
		on = append([]string{run.Machine}, on...)
	}
	if kernel := kernelFact(v); kernel != "" {
		on = append(on, "Linux "+kernel)
	}
	if run.ClockName() != result.ClockWall {
		on = append(on, run.ClockName()+" clock")
	}
	what := strings.TrimSuffix(run.Study+", "+run.Scale, ", ") + ", " + units.Count(run.Rounds, "round")
	if run.State != result.Finished && run.State != "" {
		what += ", not finished"
	}
	d := doc.Doc{Title: first(v.Title, run.Study), Facts: []doc.Fact{
		{Name: "run", Text: strings.TrimPrefix(run.ID+": "+what, ": ")}, {Name: "for", Text: run.Predicted}, {Name: "on", Text: strings.Join(on, ", ")}, {Name: "digest", Text: v.Digest}}}
	body := glanceAnswers(v, g)
	list := furtherAnswers(v)
	without := withoutItems(v)
	list = append(list, without[:min(g.notes, len(without))]...)
	list = append(list, glanceNotes(v, g)...)
	list = append(list, countItems(v)...)
	body = append(body, doc.Items{List: list})
	if run.ID != "" {
		body = append(body, glanceRest("whichfs report "+run.ID))
	}
	d.Sections = []doc.Section{{Body: body}}
	return d
}

// glanceRest says where the rest is.
func glanceRest(command string) doc.Block {
	return doc.Items{List: []doc.Item{{Lead: "all of it", Text: "for a terminal, or as a page for a browser", Sub: []doc.Item{
		{Mark: "→", Text: command + " --all"}, {Mark: "→", Text: command + " --html page.html"}}}}}
}

// glanceAnswers are those of every use, or of what the run is about instead.
func glanceAnswers(v verdict.Verdict, g glance) (body []doc.Block) {
	legend := false
	for i, u := range v.Uses {
		reasons := u.Reasons[:min(g.reasons, len(u.Reasons))]
		if i > 0 { // the further uses have less room
			reasons = reasons[:min(1, len(reasons))]
		}
		part := doc.Part{Title: u.Name, State: settledState(u.Settled), Body: []doc.Block{doc.Para{Role: doc.Answer, Text: u.Answer}}}
		if len(u.Ranks) == 0 {
			part.State = nil
		}
		if len(u.Ranks) > 1 {
			part.Body = append(part.Body, glanceRanks(u, g, !legend))
			legend = true
		}
		var list []doc.Item
		if command := settlingCommand(v, u); command != "" {
			list = append(list, doc.Item{Mark: "?", Tone: doc.Warn, Text: "what would settle it:", Command: command})
		}
		for _, text := range reasons {
			list = append(list, doc.Item{Mark: "·", Text: text})
		}
		part.Body = append(part.Body, doc.Items{List: list})
		body = append(body, part)
	}
	switch r := v.Reliability; {
	case r != nil && len(v.Uses) > 0:
		body = append(body, doc.Part{Title: "what survives", Body: []doc.Block{doc.Para{Role: doc.Answer, Text: r.Answer}}})
	case r != nil:
		var list []doc.Item
		for _, text := range r.Findings[:min(2*g.ranks, len(r.Findings))] {
			list = append(list, doc.Item{Mark: "·", Text: text})
		}
		body = append(body, doc.Part{Title: "what survives, ranked by what was lost", Body: []doc.Block{doc.Para{Role: doc.Answer, Text: r.Answer}, doc.Items{List: list}}})
	case len(v.Uses) > 0:
	case len(abilityPhases(v)) > 0:
		body = append(body, doc.Para{Role: doc.Answer, Text: "What can be done to each filesystem was tried; nothing is ranked, and the whole report has the table."})
	default:
		body = append(body, doc.Para{Role: doc.Answer, Text: nothingCompared})
	}
	return body
}

// glanceRanks is the order of a use with bars.
func glanceRanks(u verdict.Use, g glance, legend bool) doc.Table {
	t := doc.Table{Style: doc.Bars, Columns: []doc.Column{{Head: "Rank", Kind: doc.Ranks}, {Head: "Candidate", Kind: doc.Names}, {Kind: doc.Bar}, {Head: "Ratio to the best", Kind: doc.Estimates}}}
	top := topOf(u.Ranks, func(p verdict.Place) verdict.Interval { return p.Score })
	for _, r := range u.Ranks[:min(g.ranks, len(u.Ranks))] {
		t.Rows = append(t.Rows, doc.Row{Cells: []doc.Cell{doc.T(places(r.RankLow, r.RankHigh)), doc.T(r.Candidate), {Bar: bar(r.Score, top)}, doc.T(ratio(r.Score))}})
	}
	note := ""
	if more := len(u.Ranks) - len(t.Rows); more > 0 {
		note = fmt.Sprintf("and %d more", more)
	}
	if legend {
		note = strings.TrimPrefix(note+"; ratios to the best over all columns, shorter is better", "; ")
	}
	if note != "" {
		t.Below = []doc.Item{{Mark: "–", Muted: true, Text: note}}
	}
	return t
}

// settlingCommand is what would settle a use; "" if it is settled, or nothing would.
func settlingCommand(v verdict.Verdict, u verdict.Use) string {
	run := v.Run
	switch {
	case u.Settled || run.ID == "" || len(u.Unsettled) == 0:
		return ""
	case run.State == result.Running || run.State == result.Interrupted:
		return "whichfs resume " + run.ID
	case u.Needed == 0:
		return ""
	}
	return fmt.Sprintf("whichfs resume %s --rounds %d", run.ID, run.Rounds+u.Needed)
}

// glanceNotes are what a reader must know: what the figures can show, in its first sentence, and the most serious
// warnings.
func glanceNotes(v verdict.Verdict, g glance) (list []doc.Item) {
	warn := func(text string) { list = append(list, doc.Item{Mark: "!", Tone: doc.Warn, Text: text}) }
	if v.Reach != "" {
		sentence, _, more := strings.Cut(v.Reach, ". ")
		if more {
			sentence += "."
		}
		warn(sentence)
	}
	others := v.Warnings
	if v.Load != nil && v.Load.Text != "" {
		warn(v.Load.Text)
		others = slices.DeleteFunc(slices.Clone(others), func(text string) bool { return text == v.Load.Text })
	}
	for _, text := range others[:min(g.notes, len(others))] {
		warn(text)
	}
	if more := len(others) - g.notes; more > 0 {
		warn(units.Count(more, map[bool]string{true: "more note", false: "note"}[g.notes > 0]) + " in the whole report")
	}
	return list
}

// SeriesGlance writes that of a series: the answer of each of its runs.
func SeriesGlance(w io.Writer, v verdict.SeriesVerdict, s TextOptions) error {
	d := doc.Doc{Title: first(v.Title, v.Study), Facts: seriesFacts(v)}
	body := seriesSummary(v).Body
	if run := v.Storages[0].Verdict.Run.ID; run != "" {
		body = append(body, glanceRest("whichfs report "+run+" --series"))
	}
	d.Sections = []doc.Section{{Body: body}}
	return doc.Text(w, d, s)
}
