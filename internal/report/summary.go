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
	line := func(lead, text string) { list = append(list, doc.Item{Lead: lead, Text: text}) }
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
	for _, k := range v.Kernels {
		line(k.Name, "against "+k.Reference+": "+kernelAnswer(k))
	}
	for _, l := range growthLines(v) {
		line(l[0], l[1])
	}
	if v.Settling != nil {
		line("rounds", settledLine(v.Settling))
	}
	if v.Reach != "" {
		list = append(list, doc.Item{Mark: "!", Tone: doc.Warn, Text: v.Reach})
	}
	if v.Load != nil && v.Load.Text != "" {
		list = append(list, doc.Item{Mark: "!", Tone: doc.Warn, Text: v.Load.Text})
	}
	if v.Numbers != nil && v.Numbers.All.Cells > 0 {
		line("published figures", v.Numbers.All.String())
	}
	if len(v.Claims) > 0 {
		line("claims", tally(v.Claims))
	}
	line("trials", trialCount(v.Trials))
	return doc.Section{In: doc.Brief, Body: []doc.Block{doc.Items{List: list}}}
}
