package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/report/doc"
	"whichfs/internal/sys/units"
)

// Effects of the options: factors compared with their reference.

// effectWord is the effect of a level on a measure, in a word.
func effectWord(outcome, unit string) string {
	switch {
	case outcome == verdict.MoreThanReference && unit == "s":
		return "slower"
	case outcome == verdict.LessThanReference && unit == "s":
		return "faster"
	}
	return outcome
}

// effectRows are the columns in which any level of a factor has an effect, or
// lacks one for a reason that not all levels share; each with one effect per
// level. Columns in which nothing could be compared are grouped by reason.
func effectRows(f verdict.Factor) (rows [][]verdict.Effect, without doc.Groups) {
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
		without.Add(row[0].Absent, row[0].Name)
	}
	for i, w := range without {
		if more := len(w.Names) - mostNamed; more > 1 {
			without[i].Names = append(w.Names[:mostNamed:mostNamed], fmt.Sprintf("%d more", more))
		}
	}
	return rows, without
}

// lively keeps the measures on which any level has, or may have, an effect;
// calm names the others.
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

// mostNamed is the largest number of measures named with one reason for a
// missing figure.
const mostNamed = 3

const aboutEffects = "Each level is compared with the reference within the same candidate and round, over all candidates that have both; " +
	"per byte, file or operation where a level does less of the same work. The intervals hold for all levels of a factor at once."

func effectsSection(v verdict.Verdict) doc.Section {
	if len(v.Effects) == 0 {
		return doc.Section{}
	}
	s := doc.Section{ID: "options", Title: "What the options change", Nav: "Options", Body: []doc.Block{doc.Para{Text: aboutEffects},
		doc.Para{In: doc.Page, Text: "A bar to the right of its line means that the measure takes more, to the left that it takes less; the scale is logarithmic."}}}
	for i, f := range v.Effects {
		s.Body = append(s.Body, factorPart(f, fmt.Sprintf("factor-%d", i+1)))
	}
	return s
}

// factorPart has a column for each level of a factor. A text with many measures
// leaves out those without an effect.
func factorPart(f verdict.Factor, id string) doc.Part {
	rows, without := effectRows(f)
	top := effectTop(rows)
	var calm []string
	if len(rows) > mostPictures {
		_, calm = lively(rows)
	}
	t := doc.Table{ID: id + "-table", Style: doc.Grid, Columns: []doc.Column{{Head: "Measure"}}}
	for _, l := range f.Levels {
		t.Columns = append(t.Columns, doc.Column{Head: l.Name})
	}
	own := doc.Table{Style: doc.Scroll, Name: f.Name + ", each candidate", Columns: append(doc.Heads(doc.Words, false, "Measure", "Level", "Candidate"), doc.Column{Head: "Ratio", Kind: doc.Figures}, doc.Column{Head: "Outcome"})}
	var differ []doc.Item
	for _, row := range rows {
		line := doc.Texts(row[0].Name)
		if slices.Contains(calm, row[0].Name) {
			line.In = doc.Page
		}
		for k, e := range row {
			line.Cells = append(line.Cells, effectCell(e, top))
			if e.Differs {
				differ = append(differ, doc.Item{Mark: "≠", Tone: doc.Warn, Text: fmt.Sprintf("%s, %s: the candidates differ: %s", f.Levels[k].Name, e.Name, ownEffects(e))})
			}
			for _, c := range e.Candidates {
				figure := doc.Cell{Absent: c.Absent, Text: ratio(c.Ratio)}
				own.Rows = append(own.Rows, doc.Row{Cells: []doc.Cell{doc.T(e.Name), doc.T(f.Levels[k].Name), doc.T(c.Candidate), figure, doc.T(effectWord(c.Outcome, e.Unit))}})
			}
		}
		t.Rows = append(t.Rows, line)
	}
	body := []doc.Block{doc.Para{Role: doc.Small, In: doc.Page, Text: fmt.Sprintf("The full range of the bars is %s and its inverse.", units.Ratio(math.Exp(top)))}, t, doc.Footnotes{}}
	var below []doc.Item
	if len(calm) > 0 {
		below = append(below, doc.Item{Mark: "=", Muted: true, In: doc.Full, Text: "no effect beyond the margin on " + strings.Join(calm, ", ")})
	}
	below = append(below, differ...)
	for _, r := range without {
		below = append(below, doc.Item{Mark: "–", Muted: true, Text: "nothing to compare in " + strings.Join(r.Names, ", ") + ": " + r.Text})
	}
	body = append(body, doc.Items{List: below})
	if len(own.Rows) > 0 {
		body = append(body, doc.Fold{In: doc.Page, Summary: "Each candidate", Small: units.Count(len(rows), "measure"), Body: []doc.Block{own, doc.Footnotes{}}})
	}
	return doc.Part{ID: id, Title: f.Name, Small: "against " + f.Reference, Body: body}
}

func effectCell(e verdict.Effect, top float64) doc.Cell {
	if e.Absent != "" {
		return doc.Cell{Absent: e.Absent}
	}
	cell := doc.Cell{Text: ratio(e.Ratio), Tail: effectWord(e.Outcome, e.Unit), Bar: effectBar(e.Ratio, top), Tone: doc.Muted}
	switch e.Outcome {
	case verdict.MoreThanReference:
		cell.Tone = doc.Bad
	case verdict.LessThanReference:
		cell.Tone = doc.Good
	}
	if e.Differs {
		cell.Tag = "candidates differ"
	}
	return cell
}

// ownEffects lists the effect of a level on each candidate.
func ownEffects(e verdict.Effect) string {
	var parts []string
	for _, c := range e.Candidates {
		if c.Absent == "" {
			parts = append(parts, fmt.Sprintf("%s %s %s", c.Candidate, units.Ratio(c.Ratio.Value), effectWord(c.Outcome, e.Unit)))
		}
	}
	return strings.Join(parts, ", ")
}

// effectTop is the logarithm at the edges of a factor's charts: its largest
// effect, or a quarter more if that is larger.
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

// effectBar is a bar from the middle (a ratio of 1) to the ratio, on a
// logarithmic scale.
func effectBar(iv verdict.Interval, top float64) *doc.Span {
	at := func(x float64) float64 {
		if !(x > 0) {
			return 0
		}
		return min(max(0.5+math.Log(x)/top/2, 0), 1)
	}
	low, high := iv.Low, iv.High
	if iv.Single || !(low < high) {
		low, high = iv.Value, iv.Value
	}
	return &doc.Span{Value: at(iv.Value), Low: at(low), High: at(high), Whisker: !iv.Single, Mid: true}
}
