package report

import (
	"fmt"
	"strings"

	"whichfs/internal/judge/contrast"
	"whichfs/internal/report/doc"
	"whichfs/internal/sys/units"
)

// predictionDoc compares a prediction with its measurement.
func predictionDoc(c contrast.Contrast) doc.Doc {
	d := doc.Doc{
		Title: "Predicted and measured: " + strings.Trim(c.A.Study+", "+c.A.Scale, ", "), Kicker: "whichfs compare", Window: "Predicted by " + c.A.ID + ", measured by " + c.B.ID,
		Reach: c.Reach, Warnings: c.Warnings,
		Facts: []doc.Fact{{Name: "study", Text: c.Title}, {Name: "predicted", Text: sideText(c.A)}, {Name: "measured", Text: sideText(c.B)}, {Name: "differs", Text: strings.Join(c.About, ", ")}},
		Foot:  "whichfs compare. Rounds of different runs have nothing in common, so nothing is paired: ratios and their 95 % intervals are by Welch’s test on logarithms.",
	}
	d.Sections = compact(contrastAnswer(c), contrastDiffers(c), predictionColumns(c), contrastMatrix(c), predictionPhases(c), contrastFigures(c), contrastOrders(c), predictionMissing(c))
	return d
}

// predictionColumns shows each measure of the study, of all candidates together.
func predictionColumns(c contrast.Contrast) doc.Section {
	if len(c.Columns) == 0 {
		return doc.Section{}
	}
	t := doc.Table{Style: doc.Scroll, Columns: append([]doc.Column{{Head: "Measure"}}, append(contrastHeads(c)[:3], doc.Heads(doc.Figures, false, "Order", "Told apart", "Pairs")...)...)}
	for _, col := range c.Columns {
		order := doc.Cell{Absent: "the order is not defined: fewer than two candidates, or all alike"}
		if col.Tau != nil && col.Tau.Has {
			order = doc.T(fmt.Sprintf("%.2f of %d", col.Tau.Value, col.Tau.N))
		}
		apart := doc.Cell{Absent: col.ToldApart.Absent, Text: fmt.Sprintf("%.2f", col.ToldApart.Value)}
		pairs := doc.T(fmt.Sprintf("%d of %d", col.ToldApart.Pairs, col.ToldApart.Of))
		name, ch := col.Name, col.All
		if only, ok := alone(col); ok {
			name, ch = name+" of "+only.Candidate, only
		}
		t.Rows = append(t.Rows, doc.Row{Cells: append(append([]doc.Cell{doc.T(name)}, contrastCells(col, ch)[:3]...), order, apart, pairs)})
	}
	return doc.Section{ID: "predicted", Title: "Predicted and measured", Body: []doc.Block{
		doc.Para{Text: "Geometric means over the candidates that both runs have, with 95 % intervals over the rounds; a figure without one has a single round, or is the same in all. Order: Kendall’s tau-b between the orders of the candidates, and their number. Told apart: tau of only those pairs of candidates whose measured figures have a ratio with a 95 % interval that excludes 1. Pairs: how many these are."},
		t, doc.Footnotes{}}}
}

// alone is the only candidate of a column that both runs have.
func alone(col contrast.Column) (only contrast.Change, ok bool) {
	for _, ch := range col.Rows {
		if ch.Absent == "" && ok {
			return only, false
		}
		if ch.Absent == "" {
			only, ok = ch, true
		}
	}
	return only, ok
}

// mostPhases is how many phases a text lists; the page lists all.
const mostPhases = 15

// predictionPhases lists the phases of each candidate, worst first.
func predictionPhases(c contrast.Contrast) doc.Section {
	p := c.Prediction
	if len(p.Phases) == 0 {
		return doc.Section{}
	}
	t := doc.Table{Style: doc.Scroll, Columns: append([]doc.Column{{Head: "Candidate", Flex: true}, {Head: "Phase"}}, append(contrastHeads(c)[:3], doc.Column{Head: "Processor", Kind: doc.Figures})...)}
	for i, r := range p.Phases {
		share := doc.Cell{Absent: "not charged in this phase, or not measured"}
		if r.Processor != nil {
			share = doc.T(units.Share(*r.Processor))
		}
		row := doc.Row{Cells: []doc.Cell{doc.T(r.Candidate), doc.T(r.Phase), doc.T(estimate(r.Predicted, "s")), doc.T(estimate(r.Measured, "s")), doc.T(ratio(r.Ratio)), share}}
		if i >= mostPhases {
			row.In = doc.Page
		}
		t.Rows = append(t.Rows, row)
	}
	s := doc.Section{ID: "phases", Title: "Phases, worst first", Nav: "Phases", Body: []doc.Block{
		doc.Para{Text: "By the factor between measured and predicted time, in either direction. Processor: its share of the predicted time; it works while the storage does, so the rest is not all the storage’s."}, t, doc.Footnotes{}}}
	if more := len(p.Phases) - mostPhases; more > 0 {
		s.Body = append(s.Body, doc.Items{List: []doc.Item{{Mark: "·", Muted: true, In: doc.Full, Text: "and " + units.Count(more, "more phase") + ", which the page and the JSON list"}}})
	}
	return s
}

// predictionMissing lists what only one run has, by reason.
func predictionMissing(c contrast.Contrast) doc.Section {
	var groups doc.Groups
	for _, m := range c.Prediction.Missing {
		name := m.Candidate
		if m.Phase != "" {
			name = m.Phase + " of " + name
		}
		groups.Add(m.Reason, name)
	}
	var list []doc.Item
	for _, g := range groups {
		list = append(list, doc.Item{Mark: "–", Muted: true, Text: strings.Join(g.Names, ", ") + ": " + g.Text})
	}
	if len(list) == 0 {
		return doc.Section{}
	}
	return doc.Section{ID: "only", Title: "What only one run has", Body: []doc.Block{doc.Items{List: list}}}
}
