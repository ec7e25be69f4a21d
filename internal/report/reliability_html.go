package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"strings"

	"whichfs/internal/fault"
	"whichfs/internal/verdict"
)

// reliabilityTemplate has the matrix of what survived.
//
//go:embed reliability.gohtml
var reliabilityTemplate string

//go:embed reliability.css
var reliabilityStyle string

// leastLetter is the share of a bar that has room for a letter.
const leastLetter = 0.09

// pageSurvival is what the template sees of Reliability.
type pageSurvival struct {
	*verdict.Reliability
	// Told: the verdict above has the answer already.
	Told     bool
	Tables   []pageOutcomes
	Promises []pageRow
	Heads    []string
	Notes    []string
}

// pageOutcomes is the table of one class of cases.
type pageOutcomes struct {
	ID, Name string
	Heads    []string
	Rows     []pageOutcomeRow
}

type pageOutcomeRow struct {
	Name  string
	Cells []pageOutcomeCell
	Sum   pageSum
}

type pageOutcomeCell struct {
	Head, Words, Under, Note string
	Tone                     string // of the words: "kept", "told" where every loss was reported; "": neither
	Bar                      []pageEnd
}

// pageEnd is one part of a stacked bar.
type pageEnd struct {
	Class, Letter string
	Style         template.CSS
}

type pageSum struct {
	Absent, Lost, LostLimits, Silent, SilentLimits, Note string
	Tone                                                 string
}

func survivalOf(v verdict.Verdict) *pageSurvival {
	r := v.Reliability
	if r == nil {
		return nil
	}
	out := &pageSurvival{Reliability: r, Told: len(v.Uses) == 0, Heads: r.Classes}
	n := &notes{}
	for i, class := range r.Classes {
		t := pageOutcomes{ID: "survival-" + slug(class), Name: sentenceCase(class)}
		cases := casesOf(r, class)
		for _, k := range cases {
			t.Heads = append(t.Heads, r.Cases[k].Name)
		}
		for _, row := range r.Rows {
			line := pageOutcomeRow{Name: row.Candidate, Sum: sumOf(row.Sums[i], n)}
			for _, k := range cases {
				line.Cells = append(line.Cells, outcomeCell(row.Cells[k], n))
			}
			t.Rows = append(t.Rows, line)
		}
		out.Tables = append(out.Tables, t)
	}
	some := false
	for _, row := range r.Rows {
		line := pageRow{Name: row.Candidate}
		for _, s := range row.Sums {
			some = some || s.Promises > 0
			cell := pageCell{Head: s.Name, Figure: promisesText(s)}
			if s.Broken > 0 {
				cell.Grade = "broken"
			}
			line.Cells = append(line.Cells, cell)
		}
		out.Promises = append(out.Promises, line)
	}
	if !some {
		out.Promises = nil
	}
	out.Notes = n.texts
	return out
}

func outcomeCell(c verdict.FaultCell, n *notes) pageOutcomeCell {
	cell := pageOutcomeCell{Head: c.Name}
	if c.Absent != "" {
		cell.Note = n.mark(c.Absent)
		return cell
	}
	cell.Words, cell.Tone = outcomesText(c.Counts), toneOf(c)
	under := []string{fmt.Sprintf("of %d", c.Tried)}
	if l := c.Lost.Limits(); l != "" {
		under = append(under, "lost in "+l)
	}
	if c.Mounted < c.Tried {
		under = append(under, fmt.Sprintf("%d mounted without repair", c.Mounted))
	}
	if c.Dirty > 0 {
		under = append(under, fmt.Sprintf("check complained in %s", checkText(c)))
	}
	if len(c.After) > 0 {
		under = append(under, "after repair: "+outcomesText(c.After))
	}
	if c.Note != "" {
		under = append(under, c.Note)
	}
	cell.Under = strings.Join(under, "; ")
	for _, o := range c.Counts {
		share := float64(o.N) / float64(c.Tried)
		known, _ := fault.OutcomeOf(o.Key)
		end := pageEnd{Class: "f-" + slug(o.Key), Style: template.CSS(fmt.Sprintf("--s:%.3f%%", 100*share))} //nolint:gosec // a number of ours
		if share >= leastLetter {
			end.Letter = known.Letter()
		}
		cell.Bar = append(cell.Bar, end)
	}
	return cell
}

func toneOf(c verdict.FaultCell) string {
	switch {
	case c.Kept():
		return "kept"
	case c.Lost.Hits > 0 && c.Silent.Hits == 0:
		return "told"
	}
	return ""
}

func sumOf(s verdict.FaultCell, n *notes) pageSum {
	if s.Absent != "" {
		return pageSum{Absent: n.mark(s.Absent)}
	}
	out := pageSum{Lost: s.Lost.Count(), LostLimits: s.Lost.Limits(), Tone: toneOf(s)}
	if s.Lost.Hits > 0 {
		out.Silent, out.SilentLimits = s.Silent.Count(), s.Silent.Limits()
	}
	if len(s.Missing) > 0 {
		out.Note = n.mark("without " + strings.Join(s.Missing, "; "))
	}
	return out
}
