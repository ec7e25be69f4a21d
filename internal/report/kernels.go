package report

import (
	"fmt"
	"strconv"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/report/doc"
	"whichfs/internal/sys/units"
)

const aboutKernels = "Every trial is repeated on each kernel"

const aboutVirtualKernels = ", with the same seed. The host adds no noise: figures differ because the kernels do, or because they draw other random numbers, as rounds do. " +
	"The interval of a ratio is over the rounds; where it contains 1, the rounds differ by more than the kernels. Times that differ by less than a hundred readings of the clock (26 µs) are not listed."

const aboutTimedKernels = ", in a guest of its own. A change is listed if the interval of its ratio over the rounds excludes 1. Each interval holds for its figure alone: of twenty figures that did not change, one is listed by chance."

// mostKernelChanges is how many changes a text lists; the page lists all.
const mostKernelChanges = 25

// kernelsSection lists the figures that differ between kernels.
func kernelsSection(v verdict.Verdict) doc.Section {
	if len(v.Kernels) == 0 {
		return doc.Section{}
	}
	about := aboutKernels + aboutVirtualKernels
	if v.Kernels[0].Timed {
		about = aboutKernels + aboutTimedKernels
	}
	s := doc.Section{ID: "kernels", Title: "What the kernel changes", Nav: "Kernels", Body: []doc.Block{doc.Para{Text: about + " Everything else in this report was measured on " + v.Kernels[0].Reference + "."}}}
	for i, k := range v.Kernels {
		s.Body = append(s.Body, kernelPart(k, fmt.Sprintf("kernel-%d", i+1)))
	}
	return s
}

func kernelPart(k verdict.Kernel, id string) doc.Part {
	t := doc.Table{ID: id + "-table", Style: doc.Scroll, Name: k.Name + " against " + k.Reference, Columns: []doc.Column{
		{Head: "Candidate", Kind: doc.Names}, {Head: "Column"}, {Head: k.Reference, Kind: doc.Figures}, {Head: k.Name, Kind: doc.Figures}, {Head: "Ratio", Kind: doc.Estimates}}}
	for i, c := range k.Changes {
		change := doc.Cell{Text: ratio(c.Ratio), Tail: effectWord(verdict.LessThanReference, c.Unit), Tone: doc.Good}
		if c.Ratio.Value > 1 {
			change.Tail, change.Tone = effectWord(verdict.MoreThanReference, c.Unit), doc.Bad
		}
		if c.Varies() {
			change.Tail = "rounds differ by more"
		}
		if c.Varies() || c.Unit != "s" { // more is not worse in every other unit
			change.Tone = doc.Plain
		}
		row := doc.Row{Muted: c.Varies(), Cells: []doc.Cell{doc.T(c.Candidate), doc.T(c.Title), doc.T(units.Value(c.Then.Value, c.Unit)), doc.T(units.Value(c.Now.Value, c.Unit)), change}}
		if i >= mostKernelChanges {
			row.In = doc.Page
		}
		t.Rows = append(t.Rows, row)
	}
	var below []doc.Item
	if more := len(k.Changes) - mostKernelChanges; more > 0 {
		below = append(below, doc.Item{Mark: "·", Muted: true, In: doc.Full, Text: fmt.Sprintf("and %s, which the page and the JSON list", units.Count(more, "smaller change"))})
	}
	var missing doc.Groups
	for _, m := range k.Missing {
		missing.Add(m.Reason, m.Title+" of "+m.Candidate)
	}
	for _, m := range missing {
		below = append(below, doc.Item{Mark: "–", Muted: true, Text: "nothing to compare in " + units.List(m.Names, mostNamed) + ": " + m.Text})
	}
	return doc.Part{ID: id, Title: k.Name, Small: "against " + k.Reference, Body: []doc.Block{
		doc.Para{Role: doc.Answer, Text: kernelAnswer(k)}, kernelColumns(k, id), t, doc.Footnotes{}, doc.Items{List: below}}}
}

// kernelColumns has the changes by column: for how many candidates its figures grew and shrank, by more than
// the rounds differ.
func kernelColumns(k verdict.Kernel, id string) doc.Table {
	t := doc.Table{ID: id + "-columns", In: doc.Page, Style: doc.Scroll, Name: "By column, " + k.Name + " against " + k.Reference, Columns: []doc.Column{
		{Head: "Column"}, {Head: "More", Kind: doc.Figures}, {Head: "Less", Kind: doc.Figures}, {Head: "Largest change", Kind: doc.Figures}, {Head: "Of"}}}
	seen := map[string]bool{}
	for _, first := range k.Changes { // the largest of its column
		if seen[first.Column] || first.Varies() {
			continue
		}
		seen[first.Column] = true
		more, less := 0, 0
		for _, c := range k.Changes {
			switch {
			case c.Column != first.Column || c.Varies():
			case c.Ratio.Value > 1:
				more++
			default:
				less++
			}
		}
		t.Rows = append(t.Rows, doc.Row{Cells: []doc.Cell{doc.T(first.Title), doc.T(strconv.Itoa(more)), doc.T(strconv.Itoa(less)), doc.T(ratio(first.Ratio)), doc.T(first.Candidate)}})
	}
	return t
}

// kernelAnswer is the comparison in a sentence.
func kernelAnswer(k verdict.Kernel) string {
	beyond := fmt.Sprintf("by more than %g %%", 100*verdict.KernelMargin)
	switch {
	case k.Compared == 0:
		return "There is no figure to compare."
	case len(k.Changes) == 0:
		return fmt.Sprintf("None of %s changed %s.", units.Count(k.Compared, "figure"), beyond)
	}
	c := k.Changes[0]
	return fmt.Sprintf("%d of %s changed %s. The largest change: %s of %s, from %s to %s, %s.", len(k.Changes), units.Count(k.Compared, "figure"), beyond,
		c.Title, c.Candidate, units.Value(c.Then.Value, c.Unit), units.Value(c.Now.Value, c.Unit), ratio(c.Ratio))
}
