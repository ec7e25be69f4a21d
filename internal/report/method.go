package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/report/doc"
	"whichfs/internal/sys/units"
)

// methodSection explains how the figures were made.
func methodSection(v verdict.Verdict) doc.Section {
	return doc.Section{ID: "method", Title: "How the figures were made", Nav: "Method", In: doc.Page, Body: []doc.Block{doc.Facts{List: method(v)}}}
}

// conditionsSection is all that the run was made under.
func conditionsSection(v verdict.Verdict) doc.Section {
	parts := doc.Parts{Style: doc.FactLists}
	add := func(group string, f doc.Fact) {
		i := slices.IndexFunc(parts.List, func(p doc.Part) bool { return p.Title == group })
		if i < 0 {
			parts.List = append(parts.List, doc.Part{Title: group, Body: []doc.Block{doc.Facts{}}})
			i = len(parts.List) - 1
		}
		facts, _ := parts.List[i].Body[0].(doc.Facts)
		facts.List = append(facts.List, f)
		parts.List[i].Body[0] = facts
	}
	for _, c := range v.Run.Conditions {
		add(c.Group, doc.Fact{Name: c.Name, Text: c.Value, Mark: c.Matters})
	}
	add("order", doc.Fact{Name: "seed", Text: fmt.Sprint(v.Run.Seed)})
	add("order", doc.Fact{Name: "rounds planned", Text: fmt.Sprint(v.Run.Rounds)})
	add("order", doc.Fact{Name: "margin of interest", Text: units.Share(v.Run.Margin)})
	add("order", doc.Fact{Name: "whichfs", Text: v.Run.Version})
	s := doc.Section{ID: "conditions", Title: "Conditions", In: doc.Page, Body: []doc.Block{doc.Para{Text: "Two runs that differ in what is marked ◆ must not be compared silently."}, parts}}
	var notes []doc.Item
	for _, n := range v.Run.Notes {
		notes = append(notes, doc.Item{Mark: "·", Lead: n.Phase, Text: n.Text})
	}
	if len(notes) > 0 {
		s.Body = append(s.Body, doc.Section{Title: "Notes", Body: []doc.Block{doc.Items{List: notes}}})
	}
	return s
}

// method explains how the figures were made: first in general, then column by
// column.
func method(v verdict.Verdict) []doc.Fact {
	margin := "the margin of interest"
	if v.Run.Margin > 0 {
		margin = "the margin of interest (" + units.Share(v.Run.Margin) + ")"
	}
	out := []doc.Fact{
		{Name: "Trials", Text: "Each trial makes a fresh filesystem on discarded storage and goes through one scenario on it. Every round tries every candidate once, in an order shuffled anew from the recorded seed, so that a drift of the machine falls on all alike."},
		{Name: "The clock", Text: "Data to be written is in memory before the clock starts. Writing ends when the filesystem says that the data is on storage; unmounting is timed apart. Time is wall time on the monotonic clock."},
		{Name: "Estimates", Text: "An estimate is the geometric mean over rounds, with its 95 % interval. Where only one figure exists it stands without an interval."},
		{Name: "Ranks", Text: "Candidates are compared in pairs, round by round, and corrected for the number of comparisons. A rank such as 2–4 names all places that the figures leave open. Two candidates are tied when their difference is shown to lie within " + margin + "; where neither a difference nor a tie is shown, it is undecided."},
		{Name: "Grades", Text: "A grade shows the ratio to the best of its column, in the words of the study. Nothing is decided by grades."},
	}
	if v.Reliability != nil {
		if len(v.Columns)+len(v.Extra) == 0 {
			out = out[:1] // nothing is timed
		}
		out = append(out, doc.Fact{Name: "What survives", Text: methodOfFaults})
	}
	if len(v.Effects) > 0 {
		out = append(out, doc.Fact{Name: "Options", Text: aboutEffects + " An effect is called none when its own 95 % interval lies within " + margin +
			"; slower or faster when it is larger than that as estimated and chance is ruled out for all levels of the factor."})
	}
	if v.Settling != nil {
		out = append(out, doc.Fact{Name: "Rounds", Text: "After each round, from the third on, each question is looked at: who is best, to within " + margin +
			". All looks at a question share one error of 5 %. A candidate that is shown to be worse than another in every question takes no part in further rounds; its own figures are those of the rounds that it had."})
	}
	if v.Drift != nil {
		out = append(out, doc.Fact{Name: "Drift", Text: v.Drift.Text})
	}
	if v.Run.Counts() {
		out[1].Text = "The clock counts instructions: all that the guest's only processor executes while a phase runs (the work itself, the tools, the kernel with its threads and interrupts), but for the idle processor and the agent's other threads. Storage is a disk in memory. Writing ends when the filesystem says that the data is on storage. Nothing here is a time."
	}
	for _, c := range slices.Concat(v.Columns, v.Extra) {
		if c.About != "" {
			out = append(out, doc.Fact{Name: c.Name, Text: sentence(c.About)})
		}
	}
	return out
}

const methodOfFaults = "Every iteration makes a fresh filesystem, works on it, does the fault, and then looks: at the kernel's messages, at whether it mounts and can be written, at a check without repair, " +
	"at every file that had been promised, and once more after a repair where its own tool was needed or complained. An iteration counts with the worst that it showed. " +
	"Limits are exact (Clopper and Pearson), one-sided where none or all ended so. Two candidates are said to differ where an exact test within the same cases rules out chance, " +
	"corrected for the number of pairs (Holm); one broken promise needs no test."

// sentence begins text with a capital and ends it with a full stop.
func sentence(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return ""
	}
	text = string(unicode.ToUpper(first)) + text[size:]
	if !strings.ContainsAny(text[len(text)-1:], ".!?") {
		text += "."
	}
	return text
}
