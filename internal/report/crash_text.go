package report

import (
	"fmt"
	"io"
	"math"

	"whichfs/internal/fault/finding"
	"whichfs/internal/fault/picture"
	"whichfs/internal/units"
)

// CrashText writes an exploration of crash states for a terminal.
func CrashText(w io.Writer, c Crash, s TextOptions) error {
	p := &printer{TextOptions: s}
	c = cleanedCrash(c)
	p.para(0, "", "What survives a power cut: crash states", nil)
	p.line("")
	p.facts(crashFacts(c)...)
	if c.Partial != "" {
		p.line("")
		p.para(0, "!", "partial: "+c.Partial+"; what follows was found until then", p.yellow)
	}
	for _, text := range c.Warnings {
		p.para(0, "!", text, p.yellow)
	}
	for _, one := range c.Candidates {
		p.crashCandidate(c, one)
	}
	p.crashFindings(brokenTitle, "", c, CrashCandidate.Broken)
	p.crashFindings(mendedTitle, mendedAbout, c, CrashCandidate.Mended)
	p.crashFindings(carelessTitle, carelessAbout, c, CrashCandidate.Careless)
	if text := crashRate(c); text != "" {
		p.head("Rate")
		p.para(0, "", text, nil)
	}
	_, err := w.Write(p.b.Bytes())
	return err
}

func (p *printer) crashCandidate(c Crash, one CrashCandidate) {
	p.head(one.Candidate)
	mark, paint := "✓", p.green
	if len(one.Broken()) > 0 {
		mark, paint = "✗", p.red
	} else if one.Failed != "" || one.total().States == 0 {
		mark, paint = "?", p.yellow
	}
	p.para(0, mark, crashAnswer(c, one), paint)
	if one.Failed != "" {
		p.para(0, "!", one.Failed, p.yellow)
	}
	if one.Source != "" {
		p.para(0, "", "Held to: "+one.Source, p.faint)
	}
	if len(one.Scripts) == 0 {
		return
	}
	t := Table{Columns: []TableColumn{{Head: "Script", Flex: true}, {Head: "Writes", Right: true}, {Head: "Flushes", Right: true}, {Head: "Possible", Right: true},
		{Head: "Looked at", Right: true}, {Head: "Which"}, {Head: "Equal", Right: true}, {Head: "Checked", Right: true},
		{Head: "Kept", Right: true}, {Head: "Broken", Right: true}, {Head: "Worst"}}}
	shown := crashRows(one)
	for _, s := range shown {
		t.Rows = append(t.Rows, []string{scriptText(one, s), fmt.Sprint(s.Writes), fmt.Sprint(s.Flushes), possible(s.Possible), whole(s.States), sampled(s),
			whole(s.Equal), whole(s.Checked), whole(s.Promises - s.Broken), whole(s.Broken), worstText(s)})
	}
	t.Paint = func(row, column int, line string) string {
		o := worst(shown[row])
		switch {
		case column < 9 || o == 0:
			return line
		case one.loose(shown[row]) && !o.Kept():
			return p.yellow(line)
		case shown[row].Broken > 0 || !o.Kept():
			return p.red(line)
		}
		return p.green(line)
	}
	p.line("")
	p.table(t)
	for _, s := range one.Scripts {
		if s.Stopped != "" {
			p.para(0, "!", s.Script+": "+s.Stopped, p.yellow)
		}
	}
}

// mostScripts is how many scripts are shown one in a row; sequences are hundreds.
const mostScripts = 40

// crashRows are the scripts of a candidate; where there are too many, the ones
// with something to tell and the sum of the others.
func crashRows(c CrashCandidate) []finding.Tally {
	if len(c.Scripts) <= mostScripts {
		return c.Scripts
	}
	var out, rest []finding.Tally
	for _, t := range c.Scripts {
		if len(out) < mostScripts && (t.Broken > 0 || t.Stopped != "" || !worst(t).Kept()) {
			out = append(out, t)
		} else {
			rest = append(rest, t)
		}
	}
	sum := finding.Tally{All: true, Possible: math.Inf(-1)}
	for _, t := range rest {
		sum.Add(t)
		sum.Entries, sum.Writes, sum.Flushes = sum.Entries+t.Entries, sum.Writes+t.Writes, sum.Flushes+t.Flushes
		sum.Possible = math.Log2(math.Exp2(sum.Possible) + math.Exp2(t.Possible))
		sum.All = sum.All && t.All
	}
	sum.Script = fmt.Sprintf("%d more together", len(rest))
	if len(out) == 0 {
		sum.Script = units.Count(len(rest), "sequence") + " together"
	}
	return append(out, sum)
}

func (p *printer) crashFindings(title, about string, c Crash, which func(CrashCandidate) []CrashFinding) {
	var all []CrashFinding
	for _, one := range c.Candidates {
		all = append(all, which(one)...)
	}
	if len(all) == 0 {
		return
	}
	p.head(title)
	if about != "" {
		p.para(0, "", about, p.faint)
	}
	for i, f := range all {
		if i > 0 {
			p.line("")
		}
		p.para(0, fmt.Sprintf("%d.", i+1), findingTitle(f.Finding), p.bold)
		p.findingBody(3, f.Finding)
		p.para(3, "·", sameText(f.Finding), nil)
		if f.File != "" {
			p.line("   whichfs crash replay %s", p.text(shellWord(f.File)))
		}
	}
}

// findingBody says what was promised, what was found and what the medium held.
func (p *printer) findingBody(indent int, f finding.Finding) {
	for _, text := range breachLines(f) {
		p.para(indent, "✗", text, p.red)
	}
	p.para(indent, "·", when(f), nil)
	p.para(indent, "·", left(f, picture.Of(f.Log, &f.State, f.Script)), nil)
	if f.Check != "" {
		p.para(indent, "·", "its own check said: "+clean(f.Check), nil)
	}
	const most = 6
	for i, m := range f.Messages {
		if i == most {
			p.para(indent, "·", fmt.Sprintf("and %d more kernel messages", len(f.Messages)-most), p.faint)
			break
		}
		p.para(indent, "·", "kernel: "+clean(m), p.faint)
	}
}
