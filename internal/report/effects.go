package report

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"whichfs/internal/units"
	"whichfs/internal/verdict"
)

// What the options change: factors against their reference.

// effectWord says in a word what a level does to a measure.
func effectWord(outcome, unit string) string {
	switch {
	case outcome == verdict.MoreThanReference && unit == "s":
		return "slower"
	case outcome == verdict.LessThanReference && unit == "s":
		return "faster"
	}
	return outcome
}

// effectRows are the columns that some level of a factor has an effect on, or
// lacks one for another reason than all levels share; each with one effect per
// level. Columns where nothing could be compared are gathered by their reason.
func effectRows(f verdict.Factor) (rows [][]verdict.Effect, without []reason) {
	if len(f.Levels) == 0 {
		return nil, nil
	}
	for i := range f.Levels[0].Effects {
		var row []verdict.Effect
		there := false
		for _, l := range f.Levels {
			if i < len(l.Effects) {
				row = append(row, l.Effects[i])
				there = there || l.Effects[i].Absent == ""
			}
		}
		if there {
			rows = append(rows, row)
			continue
		}
		at := slices.IndexFunc(without, func(r reason) bool { return r.Text == row[0].Absent })
		if at < 0 {
			without = append(without, reason{Text: row[0].Absent})
			at = len(without) - 1
		}
		without[at].Names = append(without[at].Names, row[0].Name)
	}
	for i, w := range without {
		if more := len(w.Names) - mostNamed; more > 1 {
			without[i].Names = append(w.Names[:mostNamed:mostNamed], fmt.Sprintf("%d more", more))
		}
	}
	return rows, without
}

// lively keeps the measures that some level does something to, or might; calm
// names the others.
func lively(rows [][]verdict.Effect) (kept [][]verdict.Effect, calm []string) {
	for _, row := range rows {
		if slices.ContainsFunc(row, func(e verdict.Effect) bool { return e.Outcome != verdict.NoEffect || e.Differs }) {
			kept = append(kept, row)
		} else {
			calm = append(calm, row[0].Name)
		}
	}
	return kept, calm
}

// mostNamed is how many measures are named that lack a figure for one reason.
const mostNamed = 3

const aboutEffects = "Each level against the reference, within the same candidate and the same round, over all candidates that have both; " +
	"where a level does less of the same work, for each byte, file or operation. The intervals hold for all levels of a factor at once."

func (p *printer) effects(v verdict.Verdict) {
	if len(v.Effects) == 0 {
		return
	}
	p.head("What the options change")
	p.para(0, "", aboutEffects, nil)
	for _, f := range v.Effects {
		p.line("")
		p.para(0, "", fmt.Sprintf("%s, against %s", f.Name, f.Reference), p.bold)
		p.factor(f)
	}
}

func (p *printer) factor(f verdict.Factor) {
	rows, without := effectRows(f)
	var calm []string
	if len(rows) > mostPictures {
		rows, calm = lively(rows)
	}
	n := &notes{}
	var differ []string
	t := Table{Columns: []TableColumn{{Head: "", Flex: true}}}
	for _, l := range f.Levels {
		t.Columns = append(t.Columns, TableColumn{Head: l.Name}, TableColumn{})
	}
	words := make([][]string, len(rows))
	for i, row := range rows {
		line := []string{row[0].Name}
		for k, e := range row {
			word := effectWord(e.Outcome, e.Unit)
			if e.Absent != "" {
				line = append(line, "("+n.mark(e.Absent)+")", "")
			} else {
				line = append(line, ratio(e.Ratio), word)
			}
			words[i] = append(words[i], e.Outcome)
			if e.Differs {
				differ = append(differ, fmt.Sprintf("%s, %s: the candidates differ: %s", f.Levels[k].Name, e.Name, ownEffects(e)))
			}
		}
		t.Rows = append(t.Rows, line)
	}
	t.Paint = func(row, column int, line string) string {
		at := (column - 1) / 2
		if column == 0 || at >= len(words[row]) {
			return line
		}
		switch words[row][at] {
		case verdict.MoreThanReference:
			return p.red(line)
		case verdict.LessThanReference:
			return p.green(line)
		}
		return p.faint(line)
	}
	if len(t.Rows) > 0 {
		p.table(t)
	}
	for i, text := range n.texts {
		p.para(0, "("+letter(i)+")", text, p.faint)
	}
	if len(calm) > 0 {
		p.para(0, "=", "no effect beyond the margin on "+strings.Join(calm, ", "), p.faint)
	}
	for _, d := range differ {
		p.para(0, "≠", d, p.yellow)
	}
	for _, r := range without {
		p.para(0, "–", "nothing to compare in "+strings.Join(r.Names, ", ")+": "+r.Text, p.faint)
	}
}

// ownEffects lists what a level does to each candidate.
func ownEffects(e verdict.Effect) string {
	var parts []string
	for _, c := range e.Candidates {
		if c.Absent == "" {
			parts = append(parts, fmt.Sprintf("%s %s %s", c.Candidate, units.Ratio(c.Ratio.Value), effectWord(c.Outcome, e.Unit)))
		}
	}
	return strings.Join(parts, ", ")
}

// pageFactor is a factor on the page: a small picture per level.
type pageFactor struct {
	verdict.Factor
	ID      string
	Levels  []pageLevel
	Without []reason
	Notes   []string
	Top     string // what the edge of a picture stands for
}

type pageLevel struct {
	Name, ID string
	Rows     []pageEffect
}

type pageEffect struct {
	verdict.Effect
	Word   string
	Figure string
	Bar    template.CSS
	Note   string
	Own    []pageOwn
}

type pageOwn struct {
	verdict.CandidateEffect
	Word, Figure string
	Bar          template.CSS
}

func factorsFor(v verdict.Verdict) []pageFactor {
	var out []pageFactor
	for i, f := range v.Effects {
		one := pageFactor{Factor: f, ID: fmt.Sprintf("factor-%d", i+1)}
		rows, without := effectRows(f)
		one.Without = without
		top := effectTop(rows)
		one.Top = units.Ratio(math.Exp(top))
		n := &notes{}
		for k, l := range f.Levels {
			level := pageLevel{Name: l.Name, ID: fmt.Sprintf("%s-%d", one.ID, k+1)}
			for _, row := range rows {
				if k < len(row) {
					level.Rows = append(level.Rows, effectRow(row[k], top, n))
				}
			}
			one.Levels = append(one.Levels, level)
		}
		one.Notes = n.texts
		out = append(out, one)
	}
	return out
}

func effectRow(e verdict.Effect, top float64, n *notes) pageEffect {
	row := pageEffect{Effect: e, Word: effectWord(e.Outcome, e.Unit)}
	if e.Absent != "" {
		row.Note = n.mark(e.Absent)
		return row
	}
	row.Figure, row.Bar = ratio(e.Ratio), effectBar(e.Ratio, top)
	for _, c := range e.Candidates {
		own := pageOwn{CandidateEffect: c, Word: effectWord(c.Outcome, e.Unit)}
		if c.Absent == "" {
			own.Figure, own.Bar = ratio(c.Ratio), effectBar(c.Ratio, top)
		}
		row.Own = append(row.Own, own)
	}
	return row
}

// effectTop is the logarithm that the edges of a factor's pictures stand for:
// its largest effect, at least a quarter more.
func effectTop(rows [][]verdict.Effect) float64 {
	top := math.Log(1.25)
	for _, row := range rows {
		for _, e := range row {
			if e.Absent == "" && e.Ratio.Value > 0 {
				top = max(top, math.Abs(math.Log(e.Ratio.Value)))
			}
		}
	}
	return top
}

// effectBar gives the style sheet a bar from the middle (a ratio of 1) to the
// ratio, on a logarithmic scale (--a its left end, --w its width), and the ends
// of the whisker. It is made of our own numbers only.
func effectBar(iv verdict.Interval, top float64) template.CSS {
	at := func(x float64) float64 {
		if !(x > 0) {
			return 0
		}
		return 100 * min(max(0.5+math.Log(x)/top/2, 0), 1)
	}
	low, high := iv.Low, iv.High
	if iv.Single || !(low < high) {
		low, high = iv.Value, iv.Value
	}
	v := at(iv.Value)
	return template.CSS(fmt.Sprintf("--a:%.3f%%;--w:%.3f%%;--l:%.3f%%;--h:%.3f%%", min(v, 50), math.Abs(v-50), at(low), at(high)))
}
