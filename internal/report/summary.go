package report

import (
	"fmt"
	"io"

	"whichfs/internal/result"
	"whichfs/internal/units"
	"whichfs/internal/verdict"
)

func writeSummary(w io.Writer, v verdict.Verdict, _ []result.Trial) error {
	return Summary(w, v, TextOptions{})
}

// Summary writes the answer, what is not settled and what went wrong, in a few
// lines.
func Summary(w io.Writer, v verdict.Verdict, s TextOptions) error {
	p := &printer{TextOptions: s}
	v = cleaned(v)
	if len(v.Uses) == 0 && v.Reliability == nil {
		p.line("No candidate has figures that could be compared.")
	}
	for _, u := range v.Uses {
		p.para(0, u.Name+":", u.Answer, p.bold)
		if !u.Settled {
			p.para(2, "?", fmt.Sprintf("not settled: %s", units.Count(len(u.Unsettled), "open comparison")), p.yellow)
		}
	}
	if r := v.Reliability; r != nil {
		p.para(0, "what survives:", r.Answer, p.bold)
		for _, text := range r.Findings {
			p.para(2, "·", text, nil)
		}
	}
	for _, line := range growthLines(v) {
		p.para(0, line[0]+":", line[1], nil)
	}
	if v.Settling != nil {
		p.para(0, "rounds:", settledLine(v.Settling), nil)
	}
	if v.Reach != "" {
		p.para(0, "!", v.Reach, p.yellow)
	}
	if v.Numbers != nil && v.Numbers.All.Cells > 0 {
		p.para(0, "published figures:", v.Numbers.All.String(), nil)
	}
	if len(v.Claims) > 0 {
		p.para(0, "claims:", tally(v.Claims), nil)
	}
	p.para(0, "trials:", trialCount(v.Trials), nil)
	_, err := w.Write(p.b.Bytes())
	return err
}
