package report

import (
	"fmt"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"whichfs/internal/result"
	"whichfs/internal/units"
	"whichfs/internal/verdict"
)

func textWidth(s string) int { return lipgloss.Width(s) }

// The second half of the text report: what was claimed, and what went wrong.

// extra prints the measures that the published table has no column for.
func (p *printer) extra(v verdict.Verdict) {
	t := Table{Columns: []TableColumn{{Head: "", Flex: true}}}
	var shown []verdict.Column
	for _, col := range further(v) {
		if scaleOf(col) > 0 || col.Level {
			shown = append(shown, col)
			t.Columns = append(t.Columns, TableColumn{Head: col.Name, Right: true})
		}
	}
	if len(shown) == 0 {
		return
	}
	p.head("Further measures, " + furtherWhich(v))
	n := &notes{}
	for _, name := range order(v) {
		if !slices.ContainsFunc(shown, func(col verdict.Column) bool { return cellOf(col, name).Absent == "" }) {
			continue
		}
		row := []string{name}
		for _, col := range shown {
			if c := cellOf(col, name); c.Absent != "" {
				row = append(row, "("+n.mark(c.Absent)+")")
			} else {
				row = append(row, estimate(c.Estimate, col.Unit))
			}
		}
		t.Rows = append(t.Rows, row)
	}
	p.table(t)
	p.line("")
	for i, text := range n.texts {
		p.para(0, "("+letter(i)+")", text, p.faint)
	}
}

func (p *printer) claims(v verdict.Verdict) {
	if len(v.Claims) == 0 {
		return
	}
	p.head("Claims of the study: " + tally(v.Claims))
	var elsewhere []reason // which storage, and which claims are about it
	for _, c := range v.Claims {
		if c.Elsewhere != "" {
			at := slices.IndexFunc(elsewhere, func(r reason) bool { return r.Text == c.Elsewhere })
			if at < 0 {
				elsewhere = append(elsewhere, reason{Text: c.Elsewhere})
				at = len(elsewhere) - 1
			}
			elsewhere[at].Names = append(elsewhere[at].Names, c.ID)
			continue
		}
		p.para(0, claimMark(c.Result)+" "+pad(c.Result, len(verdict.NotTested), false), c.Text, p.claimPaint(c.Result))
		if c.Figures != "" {
			p.para(len(verdict.NotTested)+3, "", c.Figures, nil)
		}
	}
	for _, r := range elsewhere {
		p.para(0, claimMark(verdict.NotTested)+" "+verdict.NotTested, fmt.Sprintf("%s about %s", units.Count(len(r.Names), "claim"), r.Text), p.faint)
	}
}

// claimPaint is the colour of a claim's result.
func (p *printer) claimPaint(result string) func(string) string {
	switch result {
	case verdict.Agrees:
		return p.green
	case verdict.Disagrees:
		return p.red
	case verdict.Undecided:
		return p.yellow
	}
	return p.faint
}

func (p *printer) published(v verdict.Verdict) {
	for _, table := range v.Tables {
		p.head("Published order against ours: " + table.Name)
		t := Table{Columns: []TableColumn{{Head: "Column"}, {Head: "Kendall's tau-b", Right: true}, {Head: "Rows", Right: true}}}
		for i, name := range table.Names {
			if i >= len(table.Taus) {
				break
			}
			tau := table.Taus[i]
			t.Rows = append(t.Rows, []string{name, tauText(tau), fmt.Sprint(tau.N)})
		}
		p.table(t)
		p.para(0, "", "1 is the same order, 0 no relation, −1 the opposite; – where too few rows have both.", nil)
	}
}

// aside lists what a reader must know about single candidates.
func (p *printer) aside(v verdict.Verdict) {
	p.without(v)
	var lines []string
	for _, c := range v.Candidates {
		for _, o := range c.Options {
			if o.State == result.Ignored || o.State == result.Altered {
				lines = append(lines, fmt.Sprintf("%s: option %s is %s (%s)", c.Name, o.Text, o.State, o.Evidence))
			}
		}
		for _, l := range c.LeftOut {
			lines = append(lines, c.Name+": left out "+l)
		}
	}
	if len(lines) == 0 {
		return
	}
	p.head("Options and data that differ from what was asked")
	for _, l := range lines {
		p.para(0, "!", l, p.yellow)
	}
}

func (p *printer) without(v verdict.Verdict) {
	first := true
	for _, c := range v.Candidates {
		if c.Outcome == result.Done || c.Outcome == "" {
			continue
		}
		if first {
			p.head("Candidates without figures")
			first = false
		}
		p.para(0, "–", c.Name+": "+outcomeText(c.Outcome)+": "+c.Reason, p.yellow)
		if c.Hint != "" {
			p.para(2, "→", c.Hint, nil)
		}
	}
}

func (p *printer) trials(v verdict.Verdict) {
	t := v.Trials
	p.head("Trials")
	p.para(0, "", trialCount(t), nil)
	switch {
	case v.Run.Counts() && t.Active > 0:
		p.para(0, "", fmt.Sprintf("The run took %s of this host's time.", units.Value(t.Active, "s")), nil)
	case t.Active > 0:
		p.para(0, "", fmt.Sprintf("Overhead: %s of %s went by outside measured phases.", units.Share(t.Overhead), units.Value(t.Active, "s")), nil)
	}
	for _, f := range failures(t.Failures) {
		paint := p.red
		if f.Outcome == result.LabFailed {
			paint = p.yellow
		}
		p.para(0, "✗", f.text(), paint)
		if f.Hint != "" {
			p.para(2, "→", f.Hint, nil)
		}
		if len(f.Console) > 0 {
			p.para(2, "", "last lines of the console:", nil)
			for _, l := range f.Console[max(0, len(f.Console)-8):] {
				p.line("  %s %s", p.faint("|"), cut(p.text(l), p.width()-4))
			}
		}
	}
}

// failure is a trial that did not end well, or the same in several rounds.
type failure struct {
	verdict.Failure
	Rounds []string
}

// failures puts those together that differ in their round only.
func failures(list []verdict.Failure) []failure {
	var out []failure
	for _, f := range list {
		at := slices.IndexFunc(out, func(o failure) bool {
			return o.Candidate == f.Candidate && o.Variant == f.Variant && o.Attempt == f.Attempt && o.Outcome == f.Outcome &&
				o.Phase == f.Phase && o.Reason == f.Reason && o.Hint == f.Hint && slices.Equal(o.Console, f.Console)
		})
		if at < 0 {
			out = append(out, failure{Failure: f})
			at = len(out) - 1
		}
		out[at].Rounds = append(out[at].Rounds, fmt.Sprint(f.Round))
	}
	return out
}

// When says in which round, or rounds, it was.
func (f failure) When() string {
	if len(f.Rounds) == 1 {
		return "round " + f.Rounds[0]
	}
	return "rounds " + units.List(f.Rounds, 12)
}

func (f failure) text() string {
	at := f.When()
	if f.Attempt > 1 {
		at += fmt.Sprintf(", attempt %d", f.Attempt)
	}
	if f.Phase != "" {
		at += ", phase " + f.Phase
	}
	return fmt.Sprintf("%s (%s): %s: %s", withVariant(f.Candidate, f.Variant), at, outcomeText(f.Outcome), f.Reason)
}

func trialCount(t verdict.Trials) string {
	parts := []string{fmt.Sprintf("%d of %s done", t.Done, units.Count(t.Planned, "trial"))}
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(t.Subject, "ended by a failing filesystem")
	add(t.Lab, "lost to the lab")
	add(t.Retried, "mended by a fresh guest")
	text := strings.Join(parts, ", ")
	if t.Unsupported > 0 {
		text += "; " + units.Count(t.Unsupported, "candidate") + " unsupported here"
	}
	if t.Refused > 0 {
		text += "; " + units.Count(t.Refused, "candidate") + " refused"
	}
	if t.Points > 0 {
		text += "; " + units.Count(t.Points, "point") + " of curves and tables could not be made"
	}
	return text + "."
}

func (p *printer) more(v verdict.Verdict) {
	id := v.Run.ID
	if id == "" {
		return
	}
	p.head("More")
	commands := [][2]string{
		{"whichfs report " + id + " --html page.html", "one page with the costs of every phase and all conditions"},
		{"whichfs report " + id + " --csv figures.csv", "every measurement"},
	}
	if v.Run.State != result.Finished && v.Run.State != "" {
		commands = append(commands, [2]string{"whichfs resume " + id, "does the trials that are missing"})
	}
	for _, c := range commands {
		p.para(0, "", c[0], p.bold)
		p.para(4, "", c[1], nil)
	}
}
