package report

import (
	"fmt"
	"strings"

	"whichfs/internal/recommend"
)

// What runs of faults say of the candidates of a recommendation, beside what
// their design says.

const aboutEvidence = "What runs of faults showed of a filesystem with its options on a kernel, beside what is known of its design. " +
	"These runs are not about the storage that speed was measured on, and none of their figures is in the order. " +
	"One promise that was broken is proof; that none was is shown as far as its limit goes."

// faultFacts name the runs that show what survives.
func faultFacts(a recommend.Answer) []string {
	var out []string
	for _, r := range a.FaultRuns {
		text := fmt.Sprintf("%s: %s", r.ID, strings.Trim(r.Study+", "+r.Scale, ", "))
		if r.Kernel != "" {
			text += ", kernel " + r.Kernel
		}
		out = append(out, "faults", text)
	}
	return out
}

// evidence prints it, one candidate after the other.
func (p *printer) evidence(a recommend.Answer) {
	if len(a.Evidence) == 0 {
		return
	}
	p.head("What survived, and what the design says")
	p.para(0, "", aboutEvidence, nil)
	p.line("")
	t := Table{Columns: []TableColumn{{Head: "Candidate", Flex: true}, {Head: "Of"}, {Head: "Measured", Flex: true}, {Head: "Design", Flex: true}}}
	several := len(a.FaultRuns) > 1
	var conflicts []recommend.EvidenceLine
	var whose []string
	for _, e := range a.Evidence {
		for i, l := range e.Lines {
			name := ""
			if i == 0 {
				name = e.Candidate
				if several {
					name += " in " + e.Run
				}
			}
			t.Rows = append(t.Rows, []string{name, l.What, l.Measured, l.Design})
			if l.Conflict != "" {
				conflicts, whose = append(conflicts, l), append(whose, e.Candidate)
			}
		}
	}
	p.table(t)
	if len(conflicts) > 0 {
		p.line("")
	}
	for i, l := range conflicts {
		p.para(0, "!", whose[i]+", "+l.What+": "+l.Conflict+".", p.yellow)
	}
}

// doubts prints what is not shown of a candidate that has no place.
func (p *printer) doubts(list []recommend.Doubt) {
	for _, d := range list {
		p.para(2, "?", d.Text, p.yellow)
	}
}
