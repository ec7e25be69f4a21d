package report

import (
	"whichfs/internal/judge/verdict"
	"whichfs/internal/report/doc"
	"whichfs/internal/sys/units"
)

// summarySection gives the answer, what is not settled and what went wrong, in
// a few lines.
func summarySection(v verdict.Verdict) doc.Section {
	var list []doc.Item
	if len(v.Uses) == 0 && v.Reliability == nil && len(abilityPhases(v)) == 0 {
		list = append(list, doc.Item{Text: nothingCompared})
	}
	for _, u := range v.Uses {
		item := doc.Item{Lead: u.Name, Text: u.Answer}
		if !u.Settled {
			item.Sub = []doc.Item{{Mark: "?", Tone: doc.Warn, Text: "not settled: " + units.Count(len(u.Unsettled), "open comparison")}}
		}
		list = append(list, item)
	}
	if r := v.Reliability; r != nil {
		item := doc.Item{Lead: "what survives", Text: r.Answer}
		for _, text := range r.Findings {
			item.Sub = append(item.Sub, doc.Item{Mark: "·", Text: text})
		}
		list = append(list, item)
	}
	list = append(list, furtherAnswers(v)...)
	if v.Reach != "" {
		list = append(list, doc.Item{Mark: "!", Tone: doc.Warn, Text: v.Reach})
	}
	if v.Load != nil && v.Load.Text != "" {
		list = append(list, doc.Item{Mark: "!", Tone: doc.Warn, Text: v.Load.Text})
	}
	return doc.Section{In: doc.Brief, Body: []doc.Block{doc.Items{List: append(list, countItems(v)...)}}}
}

// furtherAnswers are those besides the best candidate of each use.
func furtherAnswers(v verdict.Verdict) (list []doc.Item) {
	for _, k := range v.Kernels {
		list = append(list, doc.Item{Lead: k.Name, Text: "against " + k.Reference + ": " + kernelAnswer(k)})
	}
	for _, l := range growthLines(v) {
		list = append(list, doc.Item{Lead: l[0], Text: l[1]})
	}
	if v.Settling != nil {
		list = append(list, doc.Item{Lead: "rounds", Text: settledLine(v.Settling)})
	}
	return list
}

// countItems say how many published figures, claims and trials there are, and what became of them.
func countItems(v verdict.Verdict) (list []doc.Item) {
	if v.Numbers != nil && v.Numbers.All.Cells > 0 {
		list = append(list, doc.Item{Lead: "published figures", Text: v.Numbers.All.String()})
	}
	if len(v.Claims) > 0 && v.Trials.Done > 0 { // nothing judges them before
		list = append(list, doc.Item{Lead: "claims", Text: tally(v.Claims)})
	}
	return append(list, doc.Item{Lead: "trials", Text: trialCount(v.Trials)})
}
