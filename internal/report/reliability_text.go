package report

import (
	"fmt"
	"strings"

	"whichfs/internal/fault"
	"whichfs/internal/units"
	"whichfs/internal/verdict"
)

// What survived, for a terminal: a table of outcomes for each class of cases,
// and what they amount to.

// outcomesText lists outcomes with their counts, worst first: "wrong 12, lost
// 28, whole 80".
func outcomesText(counts []verdict.OutcomeCount) string {
	var out []string
	for _, c := range counts {
		out = append(out, fmt.Sprintf("%s %d", c.Key, c.N))
	}
	return strings.Join(out, ", ")
}

// judgedAny reports whether any iteration was judged.
func judgedAny(r *verdict.Reliability) bool {
	if r == nil {
		return false
	}
	for _, row := range r.Rows {
		for _, c := range row.Cells {
			if c.Absent == "" {
				return true
			}
		}
	}
	return false
}

// casesOf are the cases of a class, by their place in a row's cells.
func casesOf(r *verdict.Reliability, class string) []int {
	var out []int
	for i, c := range r.Cases {
		if c.Class == class {
			out = append(out, i)
		}
	}
	return out
}

// ratesText puts a rate and its limits into one cell.
func ratesText(r verdict.Rate) string {
	if r.Of == 0 {
		return "–"
	}
	if l := r.Limits(); l != "" {
		return r.Count() + " (" + l + ")"
	}
	return r.Count()
}

// survivalAnswer prints who keeps what was promised, and what else was found.
func (p *printer) survivalAnswer(r *verdict.Reliability) {
	p.para(2, "", r.Answer, nil)
	for _, text := range r.Findings {
		p.para(2, "·", text, nil)
	}
}

// survival prints the matrix of outcomes.
func (p *printer) survival(v verdict.Verdict) {
	r := v.Reliability
	if r == nil {
		return
	}
	p.head("What survived")
	if len(v.Uses) > 0 {
		p.survivalAnswer(r)
		p.line("")
	}
	p.para(0, "", r.About, nil)
	n := &notes{}
	for i, class := range r.Classes {
		p.line("")
		p.line("%s", p.bold(p.text(sentenceCase(class))))
		p.outcomeTable(r, class, n)
		p.line("")
		p.sumTable(r, i, n)
	}
	p.line("")
	for i, text := range n.texts {
		p.para(0, "("+letter(i)+")", text, p.faint)
	}
	p.promises(r)
	if len(r.Outcomes) > 0 {
		p.line("")
		p.line("%s", p.bold("What the words mean, worst first"))
		for _, o := range r.Outcomes {
			p.para(2, o.Key+":", o.About+".", p.outcomePaint(o.Key))
		}
	}
}

func sentenceCase(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// outcomePaint is green where all was there, red where the loss is silent or the
// filesystem is gone, yellow where it is reported.
func (p *printer) outcomePaint(key string) func(string) string {
	switch o, _ := fault.OutcomeOf(key); {
	case o.Kept():
		return p.green
	case o.Silent(), o != fault.IOError:
		return p.red
	}
	return p.yellow
}

func (p *printer) outcomeTable(r *verdict.Reliability, class string, n *notes) {
	cases := casesOf(r, class)
	t := Table{Columns: []TableColumn{{Head: "", Flex: true}}}
	for _, i := range cases {
		t.Columns = append(t.Columns, TableColumn{Head: r.Cases[i].Name, Flex: true})
	}
	for _, row := range r.Rows {
		line := []string{row.Candidate}
		for _, i := range cases {
			c := row.Cells[i]
			if c.Absent != "" {
				line = append(line, "("+n.mark(c.Absent)+")")
				continue
			}
			text := fmt.Sprintf("%s of %d", outcomesText(c.Counts), c.Tried)
			if c.Note != "" {
				text += " (" + n.mark(c.Note) + ")"
			}
			line = append(line, text)
		}
		t.Rows = append(t.Rows, line)
	}
	t.Paint = func(row, column int, line string) string {
		if column == 0 || column > len(cases) {
			return line
		}
		c := r.Rows[row].Cells[cases[column-1]]
		if c.Absent != "" {
			return p.faint(line)
		}
		return p.outcomePaint(c.Worst)(line)
	}
	p.table(t)
}

// sumTable is what the cases of a class amount to.
func (p *printer) sumTable(r *verdict.Reliability, class int, n *notes) {
	name := r.Classes[class]
	t := Table{Columns: []TableColumn{{Head: "", Flex: true}, {Head: "Lost something", Flex: true}, {Head: "of it silently", Flex: true}}}
	states := name == verdict.CrashStates
	if states {
		t.Columns = append(t.Columns, TableColumn{Head: "Equal states beside", Right: true})
	}
	t.Columns = append(t.Columns, TableColumn{Head: "Mounted without repair", Right: true}, TableColumn{Head: "Check complained", Right: true}, TableColumn{Head: "After repair", Flex: true})
	for _, row := range r.Rows {
		s := row.Sums[class]
		if s.Absent != "" {
			continue // the table above says why
		}
		lost := ratesText(s.Lost)
		if len(s.Missing) > 0 {
			lost += " (" + n.mark("without "+strings.Join(s.Missing, "; ")) + ")"
		}
		line := []string{row.Candidate, lost, ratesText(s.Silent)}
		if states {
			line = append(line, fmt.Sprint(s.Equal))
		}
		t.Rows = append(t.Rows, append(line, fmt.Sprint(s.Mounted), checkText(s), repairText(s)))
	}
	if len(t.Rows) > 0 {
		p.table(t)
	}
}

// checkText is how often the check without repair complained, of how often it
// said anything.
func checkText(c verdict.FaultCell) string {
	if c.Dirty+c.Clean == 0 {
		return "–"
	}
	return fmt.Sprintf("%d of %d", c.Dirty, c.Dirty+c.Clean)
}

func repairText(c verdict.FaultCell) string {
	if len(c.After) == 0 {
		return "–"
	}
	return outcomesText(c.After)
}

// promises prints how many single promises were looked at, kept and broken.
func (p *printer) promises(r *verdict.Reliability) {
	t := Table{Columns: []TableColumn{{Head: "Promises", Flex: true}}}
	for _, class := range r.Classes {
		t.Columns = append(t.Columns, TableColumn{Head: class, Flex: true})
	}
	some := false
	for _, row := range r.Rows {
		line := []string{row.Candidate}
		for _, s := range row.Sums {
			some = some || s.Promises > 0
			line = append(line, promisesText(s))
		}
		t.Rows = append(t.Rows, line)
	}
	if !some {
		return
	}
	p.line("")
	p.table(t)
}

func promisesText(c verdict.FaultCell) string {
	switch {
	case c.Promises == 0:
		return "–"
	case c.Broken == 0:
		return units.Count(c.Promises, "promise") + " kept"
	}
	return fmt.Sprintf("%d of %d broken", c.Broken, c.Promises)
}
