package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"whichfs/internal/result"
	"whichfs/internal/units"
	"whichfs/internal/verdict"
)

func writeText(w io.Writer, v verdict.Verdict, _ []result.Trial) error {
	return Text(w, v, TextOptions{})
}

// Text writes the report for a terminal or a serial line.
func Text(w io.Writer, v verdict.Verdict, s TextOptions) error {
	if s.Summary {
		return Summary(w, v, s)
	}
	p := &printer{TextOptions: s}
	v = cleaned(v)
	p.headOf(v)
	p.uses(v)
	p.settling(v.Settling)
	p.warnings(v)
	if judgedAny(v.Reliability) {
		p.survival(v)
	}
	// Without any figures, pages of empty tables would hide why there are none.
	if v.Trials.Done > 0 {
		if len(ranked(v)) > mostPictures {
			p.matrix(v)
		} else {
			p.picture(v)
			p.observations(v)
		}
		p.drift(v)
		p.axes(v)
		p.medium(v.Medium)
		p.effects(v)
		p.numbers(v.Numbers)
		p.choices(v.Choices)
		p.extra(v)
		p.costs(v.Costs)
		p.cuts(v)
		p.wear(v)
		p.claims(v)
		p.published(v)
	}
	p.aside(v)
	p.trials(v)
	p.more(v)
	_, err := w.Write(p.b.Bytes())
	return err
}

// printer gathers a text report; it wraps what would run over the edge.
type printer struct {
	TextOptions
	b bytes.Buffer
}

func (p *printer) line(format string, args ...any) {
	p.b.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " "))
	p.b.WriteByte('\n')
}

// para writes text behind a mark, following lines indented below it. The mark
// is painted by paint, which may be nil.
func (p *printer) para(indent int, mark, text string, paint func(string) string) {
	mark = p.text(mark)
	hang := indent + len([]rune(mark))
	if mark != "" {
		hang++
	}
	for i, l := range wrap(p.text(text), p.width()-hang) {
		if i == 0 && mark != "" {
			m := mark
			if paint != nil {
				m = paint(m)
			}
			p.line("%s%s %s", strings.Repeat(" ", indent), m, l)
			continue
		}
		p.line("%s%s", strings.Repeat(" ", hang), l)
	}
}

func (p *printer) head(title string) {
	p.line("")
	wide := 0
	for _, l := range wrap(p.text(title), p.width()) {
		p.line("%s", p.bold(l))
		wide = max(wide, textWidth(l))
	}
	p.line("%s", p.faint(strings.Repeat(p.text("─"), wide)))
}

// facts prints names and values in two columns, leaving out empty values.
func (p *printer) facts(pairs ...string) {
	width := 0
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			width = max(width, len(pairs[i]))
		}
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			continue
		}
		for k, l := range wrap(p.text(pairs[i+1]), p.width()-width-2) {
			name := ""
			if k == 0 {
				name = pairs[i]
			}
			p.line("%s  %s", p.faint(pad(name, width, false)), l)
		}
	}
}

func (p *printer) headOf(v verdict.Verdict) {
	title := v.Title
	if title == "" {
		title = v.Run.Study
	}
	p.para(0, "", title, nil)
	if v.Source != "" {
		p.para(0, "", "after "+v.Source, nil)
	}
	p.line("")
	p.facts(headFacts(v)...)
	if v.Reach != "" {
		p.line("")
		p.para(0, "!", v.Reach, p.yellow)
	}
}

// clockFact names the clock where it is not the one that everybody expects.
func clockFact(run result.Run) string {
	if !run.Counts() {
		return ""
	}
	return "counts instructions: every figure of cost is in instructions, none is a time"
}

// headFacts are the names and values that open a report.
func headFacts(v verdict.Verdict) []string {
	run := v.Run
	study := run.Study
	if run.Scale != "" {
		study += ", " + run.Scale
	}
	state := units.Count(run.Rounds, "round")
	if v.Settling != nil {
		state = fmt.Sprintf("%d of at most %s", v.Settling.Look, state)
	}
	if run.State != result.Finished && run.State != "" {
		state += ", not finished (" + string(run.State) + ")"
	}
	began := ""
	if !run.Started.IsZero() {
		began = run.Started.UTC().Format("2006-01-02 15:04 UTC") + ", " + units.Value(run.Active, "s") + " of running"
	}
	return []string{
		"study", study,
		"run", run.ID,
		"machine", run.Machine,
		"clock", clockFact(run),
		"kernel", condition(run, "", "kernel"),
		"storage", run.Storage,
		"data", strings.Join(digests(run), "; "),
		"rounds", state + fmt.Sprintf(", order shuffled from seed %d", run.Seed),
		"began", began,
	}
}

func (p *printer) uses(v verdict.Verdict) {
	p.head("Verdict")
	switch {
	case len(v.Uses) > 0:
	case v.Reliability != nil:
		p.line("%s", p.bold("what survives, ranked by what was lost"))
		p.survivalAnswer(v.Reliability)
	default:
		p.line("No candidate has figures that could be compared.")
	}
	for i, u := range v.Uses {
		if i > 0 {
			p.line("")
		}
		settled := p.yellow("not settled")
		if u.Settled {
			settled = p.green("settled")
		}
		p.line("%s (%s)", p.bold(p.text(u.Name)), settled)
		p.para(2, "", u.Answer, nil)
		for _, r := range u.Reasons {
			p.para(2, "·", r, nil)
		}
		for _, r := range u.Unsettled {
			p.para(2, "?", r, p.yellow)
		}
		if len(u.Ranks) > 0 {
			p.line("")
			t := Table{Columns: []TableColumn{{Head: "Rank"}, {Head: "Candidate", Flex: true}, {Head: "Times the best, over all columns", Flex: true}, {Head: "Tied with", Flex: true}}}
			for _, r := range u.Ranks {
				t.Rows = append(t.Rows, []string{places(r.RankLow, r.RankHigh), r.Candidate, ratio(r.Score), strings.Join(r.TiedWith, ", ")})
			}
			p.table(t)
		}
	}
}

func (p *printer) table(t Table) { _ = t.Write(&p.b, p.TextOptions) } // a buffer takes everything

func (p *printer) warnings(v verdict.Verdict) {
	if len(v.Warnings) == 0 {
		return
	}
	p.head("Keep in mind")
	for _, w := range v.Warnings {
		p.para(0, "!", w, p.yellow)
	}
}

// drift says what figures were compared by, in one sentence.
func (p *printer) drift(v verdict.Verdict) {
	if v.Drift != nil {
		p.line("")
		p.para(0, "", v.Drift.Text, nil)
	}
}

func (p *printer) picture(v verdict.Verdict) {
	if len(ranked(v)) == 0 {
		return
	}
	p.head("The big picture")
	p.para(0, "", "Shorter bars are better. Each figure stands with its 95 % interval, and with the ranks that the candidate could have.", nil)
	for _, col := range ranked(v) {
		p.line("")
		p.line("%s", p.bold(p.text(col.Name)))
		p.bars(v, col)
	}
}

func (p *printer) bars(v verdict.Verdict, col verdict.Column) {
	names, figures, ranks := 0, 0, 0
	var shown []verdict.Cell
	for _, c := range col.Cells {
		if c.Absent != "" {
			continue
		}
		shown = append(shown, c)
		names = max(names, textWidth(p.text(c.Candidate)))
		figures = max(figures, textWidth(p.text(figureText(col, c))))
		ranks = max(ranks, textWidth(p.text(places(c.RankLow, c.RankHigh))))
	}
	names = min(names, max(16, p.width()*3/8), max(12, p.width()-figures-ranks-14))
	wide := max(8, min(40, p.width()-names-figures-ranks-8))
	top := scaleOf(col)
	for i, c := range shown {
		bar := pad(p.bar(part(c.Estimate.Value, top), wide), wide, false)
		for k, l := range wrap(p.text(c.Candidate), names) {
			if k > 0 {
				p.line("  %s %s", strings.Repeat(" ", ranks), l)
				continue
			}
			name := pad(l, names, false)
			if i == 0 {
				name, bar = p.bold(name), p.green(bar)
			}
			p.line("  %s %s %s  %s", pad(p.text(places(c.RankLow, c.RankHigh)), ranks, true), name, bar, pad(p.text(figureText(col, c)), figures, false))
		}
	}
	var order []string
	for _, c := range shown {
		order = append(order, c.Candidate)
	}
	for _, t := range ties(order, func(n string) []string { return cellOf(col, n).TiedWith }) {
		p.para(2, "≈", "tied with each other: "+strings.Join(t, ", "), p.faint)
	}
	for _, r := range absentees(v, col) {
		p.para(2, "–", "no figure for "+strings.Join(r.Names, ", ")+": "+r.Text, p.faint)
	}
}

// figureText is an estimate, with the rate that it amounts to.
func figureText(col verdict.Column, c verdict.Cell) string {
	text := estimate(c.Estimate, col.Unit)
	if r := rateText(col, c); r != "" {
		text += ", " + r
	}
	return text
}

func (p *printer) observations(v verdict.Verdict) {
	names := measured(v)
	if len(names) == 0 {
		return
	}
	p.head("Observations, best first")
	n := &notes{}
	t := Table{Columns: []TableColumn{{Head: "", Flex: true}}}
	grades := make([][]verdict.Grade, len(names))
	for _, col := range ranked(v) {
		t.Columns = append(t.Columns, TableColumn{Head: col.Name})
	}
	for i, name := range names {
		row := []string{name}
		for _, col := range ranked(v) {
			c := cellOf(col, name)
			text := c.Grade.String()
			if c.Absent != "" {
				text = "(" + n.mark(c.Absent) + ")"
			}
			row = append(row, text)
			grades[i] = append(grades[i], c.Grade)
		}
		t.Rows = append(t.Rows, row)
	}
	t.Paint = func(row, column int, line string) string {
		if column == 0 {
			return line
		}
		switch g := grades[row][column-1]; {
		case g >= verdict.VeryGood:
			return p.green(line)
		case g == 0:
			return p.faint(line)
		case g <= verdict.Bad:
			return p.red(line)
		}
		return line
	}
	p.table(t)
	p.line("")
	for i, text := range n.texts {
		p.para(0, "("+letter(i)+")", text, p.faint)
	}
	p.para(0, "", "Grades show the ratio to the best of the column; nothing is decided by them.", nil)
}
