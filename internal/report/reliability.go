package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"whichfs/internal/fault"
	"whichfs/internal/judge/verdict"
	"whichfs/internal/report/doc"
	"whichfs/internal/sys/units"
)

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

// survivalAnswer says which candidates keep their promises, and gives the other
// findings.
func survivalAnswer(r *verdict.Reliability) []doc.Block {
	var list []doc.Item
	for _, text := range r.Findings {
		list = append(list, doc.Item{Mark: "·", Text: text})
	}
	return []doc.Block{doc.Para{Role: doc.Answer, Text: r.Answer}, doc.Items{List: list}}
}

// survivalSection is the matrix of outcomes: for each class of cases, the
// outcomes of its iterations and their sum.
func survivalSection(v verdict.Verdict) doc.Section {
	r := v.Reliability
	if !judgedAny(r) {
		return doc.Section{}
	}
	s := doc.Section{ID: "survival", Title: "What survived"}
	if len(v.Uses) > 0 { // otherwise it is in the verdict
		s.Body = survivalAnswer(r)
	}
	s.Body = append(s.Body, doc.Para{Text: r.About})
	var words []doc.Fact
	for _, o := range r.Outcomes {
		words = append(words, doc.Fact{Name: o.Key, Text: o.About, Tone: outcomeTone(o.Key), Sample: doc.Share{Class: o.Key, Letter: o.Letter, Share: 1}})
	}
	if len(words) > 0 {
		s.Body = append(s.Body, doc.Part{Title: "What the words mean, worst first", Body: []doc.Block{doc.Facts{List: words}}})
	}
	for i, class := range r.Classes {
		s.Body = append(s.Body, doc.Part{ID: "survival-" + doc.Slug(class), Title: sentenceCase(class), Body: append(outcomeTables(r, class), sumTable(r, i))})
	}
	if t := mountTable(r); len(t.Rows) > 0 {
		s.Body = append(s.Body, doc.Part{ID: "survival-mounts", Title: "First mount after the fault", Small: "before any repair: the median, and the longest; the disks are in memory, which takes no time, and with the virtual clock the processor takes none either",
			Body: []doc.Block{t}})
	}
	if t := promiseTable(r); len(t.Rows) > 0 {
		s.Body = append(s.Body, doc.Part{ID: "survival-promises", Title: "Promises kept and broken", Small: "each one that was tested, in every iteration", Body: []doc.Block{t}})
	}
	return s
}

func sentenceCase(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// outcomeTone is good if all data was there, bad if the loss is silent or the
// filesystem is gone, and a warning if the loss is reported.
func outcomeTone(key string) doc.Tone {
	switch o, _ := fault.OutcomeOf(key); {
	case o.Kept():
		return doc.Good
	case o.Silent(), o != fault.IOError:
		return doc.Bad
	}
	return doc.Warn
}

// outcomeTables show the outcomes of each case of a class, a table for each group.
func outcomeTables(r *verdict.Reliability, class string) (tables []doc.Block) {
	var groups []string
	for _, c := range r.Cases {
		if c.Class == class && !slices.Contains(groups, c.Group) {
			groups = append(groups, c.Group)
		}
	}
	for _, group := range groups {
		t := doc.Table{Style: doc.Grid, Columns: []doc.Column{{Head: cmp.Or(sentenceCase(group), "Candidate")}}}
		for _, row := range r.Rows {
			t.Rows = append(t.Rows, doc.Texts(row.Candidate))
		}
		for i, c := range r.Cases {
			if c.Class != class || c.Group != group {
				continue
			}
			t.Columns = append(t.Columns, doc.Column{Head: cmp.Or(c.Short, c.Name), Flex: true})
			for k, row := range r.Rows {
				t.Rows[k].Cells = append(t.Rows[k].Cells, outcomeCell(row.Cells[i]))
			}
		}
		tables = append(tables, t)
	}
	return tables
}

// mountTable has the times of the first mount, by case and candidate.
func mountTable(r *verdict.Reliability) doc.Table {
	t := doc.Table{Style: doc.Scroll, Name: "First mount after the fault", Columns: []doc.Column{{Head: "Case"}}}
	for _, row := range r.Rows {
		t.Columns = append(t.Columns, doc.Column{Head: row.Candidate, Kind: doc.Figures})
	}
	for i, c := range r.Cases {
		line, some := doc.Texts(c.Name), false
		for _, row := range r.Rows {
			text := "–"
			if m := row.Cells[i].Mount; m != nil {
				text, some = units.Value(m.Median, "s")+", "+units.Value(m.Longest, "s"), true
			}
			line.Cells = append(line.Cells, doc.T(text))
		}
		if some {
			t.Rows = append(t.Rows, line)
		}
	}
	return t
}

func outcomeCell(c verdict.FaultCell) doc.Cell {
	if c.Absent != "" {
		return doc.Cell{Absent: c.Absent}
	}
	cell := doc.Cell{Text: fmt.Sprintf("%s of %d", outcomesText(c.Counts), c.Tried), Tone: outcomeTone(c.Worst), Detail: c.Note}
	var under []string
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
	cell.Under = strings.Join(under, "; ")
	for _, o := range c.Counts {
		known, _ := fault.OutcomeOf(o.Key)
		cell.Stack = append(cell.Stack, doc.Share{Class: o.Key, Letter: known.Letter(), Share: float64(o.N) / float64(c.Tried)})
	}
	return cell
}

// sumTable sums up the cases of a class.
func sumTable(r *verdict.Reliability, class int) doc.Table {
	t := doc.Table{Style: doc.Scroll, Name: sentenceCase(r.Classes[class]) + " together", Columns: []doc.Column{{Head: "Together"}, {Head: "Lost data", Flex: true}, {Head: "Lost silently", Flex: true},
		{Head: "Mounted without repair", Kind: doc.Figures}, {Head: "Check complained", Kind: doc.Figures}, {Head: "After repair", Flex: true}}}
	states := r.Classes[class] == verdict.CrashStates
	if states {
		t.Columns = append(t.Columns, doc.Column{Head: "Further equal states", Kind: doc.Figures})
	}
	for _, row := range r.Rows {
		s := row.Sums[class]
		if s.Absent != "" {
			continue // the table above gives the reason
		}
		lost := doc.Cell{Text: ratesText(s.Lost)}
		switch {
		case s.Kept():
			lost.Tone = doc.Good
		case s.Lost.Hits > 0:
			lost.Tone = doc.Bad
		}
		if len(s.Missing) > 0 {
			lost.Foot = "without " + strings.Join(s.Missing, "; ")
		}
		line := doc.Row{Cells: []doc.Cell{doc.T(row.Candidate), lost, doc.T(ratesText(s.Silent)), doc.T(fmt.Sprint(s.Mounted)), doc.T(checkText(s)), doc.T(dash(outcomesText(s.After)))}}
		if states {
			line.Cells = append(line.Cells, doc.T(fmt.Sprint(s.Equal)))
		}
		t.Rows = append(t.Rows, line)
	}
	return t
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

// checkText is how often the check without repair complained, out of its
// results.
func checkText(c verdict.FaultCell) string {
	if c.Dirty+c.Clean == 0 {
		return "–"
	}
	return fmt.Sprintf("%d of %d", c.Dirty, c.Dirty+c.Clean)
}

// promiseTable shows how many single promises were tested, kept and broken.
func promiseTable(r *verdict.Reliability) doc.Table {
	t := doc.Table{Style: doc.Grid, Columns: append([]doc.Column{{Head: "Candidate"}}, doc.Heads(doc.Words, true, r.Classes...)...)}
	some := false
	for _, row := range r.Rows {
		line := doc.Texts(row.Candidate)
		for _, s := range row.Sums {
			some = some || s.Promises > 0
			cell := doc.T(promisesText(s))
			switch {
			case s.Broken > 0:
				cell.Tone = doc.Bad
			case s.Promises > 0:
				cell.Tone = doc.Good
			}
			line.Cells = append(line.Cells, cell)
		}
		t.Rows = append(t.Rows, line)
	}
	if !some {
		t.Rows = nil
	}
	return t
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
