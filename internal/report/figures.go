package report

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/report/doc"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
)

// The order of candidates and the wording of figures, for all sections.

func estimate(iv verdict.Interval, unit string) string {
	if iv.Single {
		return units.Value(iv.Value, unit)
	}
	return units.Interval(iv.Value, iv.Low, iv.High, unit)
}

func ratio(iv verdict.Interval) string {
	if iv.Single {
		return units.Ratio(iv.Value)
	}
	return units.RatioInterval(iv.Value, iv.Low, iv.High)
}

// places prints a range of ranks: "1", "2–4".
func places(low, high int) string {
	switch {
	case low <= 0:
		return "–"
	case high <= low:
		return fmt.Sprint(low)
	}
	return fmt.Sprintf("%d–%d", low, high)
}

// order names all candidates in the order of the observations table: writable
// ones, best first, then those made as an image, best first, then those without
// a place.
func order(v verdict.Verdict) []string {
	var names []string
	add := func(name string) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, u := range v.Uses {
		for _, p := range u.Ranks {
			add(p.Candidate)
		}
	}
	for _, c := range v.Candidates {
		add(c.Name)
	}
	for _, col := range v.Columns {
		for _, cell := range col.Cells {
			add(cell.Candidate)
		}
	}
	return names
}

func candidateOf(v verdict.Verdict, name string) verdict.Candidate {
	for _, c := range v.Candidates {
		if c.Name == name {
			return c
		}
	}
	return verdict.Candidate{Name: name}
}

func cellOf(col verdict.Column, name string) verdict.Cell {
	for _, c := range col.Cells {
		if c.Candidate == name {
			return c
		}
	}
	return verdict.Cell{Candidate: name, Absent: "not measured"}
}

// measured lists the candidates with at least one figure in a column.
func measured(v verdict.Verdict) []string {
	var names []string
	for _, name := range order(v) {
		for _, col := range v.Columns {
			if cellOf(col, name).Absent == "" {
				names = append(names, name)
				break
			}
		}
	}
	return names
}

// scaleOf is the figure at a full bar of a column; 0 if it has no figure.
func scaleOf(col verdict.Column) float64 {
	there := slices.DeleteFunc(slices.Clone(col.Cells), func(c verdict.Cell) bool { return c.Absent != "" })
	return topOf(there, func(c verdict.Cell) verdict.Interval { return c.Estimate })
}

// topOf is the figure at a full bar: the largest upper end of an interval, but
// at most three times the largest figure (with few rounds an interval can be
// too wide to leave room for any bar).
func topOf[T any](list []T, of func(T) verdict.Interval) float64 {
	top, largest := 0.0, 0.0
	finite := func(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
	for _, one := range list {
		iv := of(one)
		if finite(iv.Value) {
			top, largest = max(top, iv.Value), max(largest, iv.Value)
		}
		if finite(iv.High) {
			top = max(top, iv.High)
		}
	}
	return min(top, 3*largest)
}

// bar shows an estimate with its interval, as shares of top.
func bar(iv verdict.Interval, top float64) *doc.Span {
	low, high := iv.Low, iv.High
	if iv.Single || !(low < high) {
		low, high = iv.Value, iv.Value
	}
	return &doc.Span{Value: part(iv.Value, top), Low: part(low, top), High: part(high, top), Whisker: !iv.Single && iv.Low < iv.High}
}

// rankTable is an order of candidates, without rows.
func rankTable(caption, score string, more ...doc.Column) doc.Table {
	columns := []doc.Column{{Head: "Rank", Kind: doc.Ranks}, {Head: "Candidate", Kind: doc.Names}, {Kind: doc.Bar, In: doc.Page}, {Head: score, Kind: doc.Estimates, Flex: true}}
	return doc.Table{Style: doc.Bars, Caption: caption, Columns: append(append(columns, more...), doc.Column{Head: "Tied with", Flex: true, In: doc.Full})}
}

// rankRow is a place in it. The page lists the ties below the name.
func rankRow(low, high int, candidate string, tied []string, score verdict.Interval, top float64, more ...doc.Cell) doc.Row {
	name, others := doc.T(candidate), strings.Join(tied, ", ")
	if others != "" {
		name.Under = "tied with " + others
	}
	cells := []doc.Cell{doc.T(places(low, high)), name, {Bar: bar(score, top)}, doc.T(ratio(score))}
	return doc.Row{Cells: append(append(cells, more...), doc.T(others))}
}

// part is x as a share of top, within 0 and 1.
func part(x, top float64) float64 {
	if top <= 0 || math.IsNaN(x) {
		return 0
	}
	return min(max(x/top, 0), 1)
}

// absentees leaves out candidates without any figure: their reason is given
// once, not in every column.
func absentees(v verdict.Verdict, col verdict.Column) doc.Groups {
	var out doc.Groups
	for _, c := range col.Cells {
		if o := candidateOf(v, c.Candidate).Outcome; c.Absent != "" && (o == result.Done || o == "") {
			out.Add(c.Absent, c.Candidate)
		}
	}
	return out
}

// noFigure lists the candidates without a figure, and why.
func noFigure(groups doc.Groups) []doc.Item {
	var out []doc.Item
	for _, g := range groups {
		out = append(out, doc.Item{Mark: "–", Muted: true, Text: "no figure for " + strings.Join(g.Names, ", ") + ": " + g.Text})
	}
	return out
}

// ties collects tied candidates into groups in which all are tied with each
// other; each pair is in at least one group.
func ties(names []string, tied func(string) []string) [][]string {
	pair := func(a, b string) bool { return slices.Contains(tied(a), b) }
	var groups [][]string
	together := func(a, b string) bool {
		return slices.ContainsFunc(groups, func(g []string) bool { return slices.Contains(g, a) && slices.Contains(g, b) })
	}
	for i, a := range names {
		for _, b := range names[i+1:] {
			if !pair(a, b) || together(a, b) {
				continue
			}
			group := []string{a, b}
			for _, c := range names {
				if !slices.Contains(group, c) && !slices.ContainsFunc(group, func(m string) bool { return !pair(m, c) && !pair(c, m) }) {
					group = append(group, c)
				}
			}
			slices.SortFunc(group, func(x, y string) int { return slices.Index(names, x) - slices.Index(names, y) })
			groups = append(groups, group)
		}
	}
	return groups
}

// condition finds a condition by a word of its name, within a group if one is
// given.
func condition(run result.Run, group, word string) string {
	for _, c := range run.Conditions {
		if (group == "" || c.Group == group) && strings.Contains(strings.ToLower(c.Name), word) {
			return c.Value
		}
	}
	return ""
}

var digestPattern = regexp.MustCompile(`\b(?:sha256:)?([0-9a-f]{12})[0-9a-f]{20,}\b`)

// shorten cuts digests to twelve digits.
func shorten(s string) string { return digestPattern.ReplaceAllString(s, "$1…") }

// digests lists the data sets of a run with their shortened digests.
func digests(run result.Run) []string {
	var out []string
	for _, c := range run.Conditions {
		if c.Group == "data" {
			out = append(out, c.Name+": "+shorten(c.Value))
		}
	}
	return out
}

// tally counts claims by result, in the order of a reader's interest, and those
// that their own source contradicts.
func tally(claims []verdict.Claim) string {
	var parts []string
	for _, r := range []struct{ result, one, many string }{
		{verdict.Agrees, "agrees", "agree"},
		{verdict.Shares, "shares the place", "share the place"},
		{verdict.Disagrees, "disagrees", "disagree"},
		{verdict.Undecided, "undecided", "undecided"},
		{verdict.NotTested, "not tested", "not tested"},
	} {
		n := 0
		for _, c := range claims {
			if c.Result == r.result {
				n++
			}
		}
		switch n {
		case 0:
		case 1:
			parts = append(parts, "1 "+r.one)
		default:
			parts = append(parts, fmt.Sprintf("%d %s", n, r.many))
		}
	}
	text := strings.Join(parts, ", ")
	contradicted := 0
	for _, c := range claims {
		if c.Contradicted != "" {
			contradicted++
		}
	}
	if contradicted > 0 {
		text += fmt.Sprintf("; the source contradicts itself in %d", contradicted)
	}
	return text
}

func tauText(t verdict.Tau) string {
	if !t.Has {
		return "–"
	}
	return strings.Replace(fmt.Sprintf("%.2f", t.Value), "-", "−", 1)
}

// outcomeText says how a trial ended, in words.
func outcomeText(o result.Outcome) string {
	switch o {
	case result.Done:
		return "done"
	case result.SubjectFailed:
		return "the filesystem failed"
	case result.LabFailed:
		return "the lab failed"
	case result.Unsupported:
		return "unsupported here"
	case result.Refused:
		return "refused"
	}
	return "not finished"
}
