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

// methodSection explains how the figures were measured.
func methodSection(v verdict.Verdict) doc.Section {
	return doc.Section{ID: "method", Title: "How the figures were measured", Nav: "Method", In: doc.Page, Body: []doc.Block{doc.Facts{List: method(v)}}}
}

// conditionsSection lists all conditions of the run.
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
	s := doc.Section{ID: "conditions", Title: "Conditions", In: doc.Page, Body: []doc.Block{doc.Para{Text: "Two runs that differ in a condition marked ◆ must not be compared silently."}, parts}}
	var notes []doc.Item
	for _, n := range v.Run.Notes {
		notes = append(notes, doc.Item{Mark: "·", Lead: n.Phase, Text: n.Text})
	}
	if len(notes) > 0 {
		s.Body = append(s.Body, doc.Section{Title: "Notes", Body: []doc.Block{doc.Items{List: notes}}})
	}
	return s
}

// method explains how the figures were measured: first in general, then column
// by column.
func method(v verdict.Verdict) []doc.Fact {
	margin := "the margin of interest"
	if v.Run.Margin > 0 {
		margin = "the margin of interest (" + units.Share(v.Run.Margin) + ")"
	}
	out := []doc.Fact{
		{Name: "Trials", Text: "Each trial makes a fresh filesystem on discarded storage and runs one scenario on it. Every round tries every candidate once, in a new order shuffled from the recorded seed, so that drift of the machine affects all alike."},
		{Name: "The clock", Text: "Data to be written is in memory before the clock starts. Writing ends when the filesystem reports that the data is on storage; unmounting is timed separately. Time is wall time on the monotonic clock."},
		{Name: "Estimates", Text: "An estimate is the geometric mean over rounds, with its 95 % interval. A single figure has no interval."},
		{Name: "Ranks", Text: "Candidates are compared in pairs, round by round, and corrected for the number of comparisons. A rank such as 2–4 gives all places that the figures leave open. Two candidates are tied when their difference is shown to lie within " + margin + "; where neither a difference nor a tie is shown, the pair is undecided."},
		{Name: "Grades", Text: "A grade shows the ratio to the best of its column, in the words of the study. Grades decide nothing."},
	}
	if v.Reliability != nil {
		if len(v.Columns)+len(v.Extra) == 0 {
			out = out[:1] // nothing is timed
		}
		out = append(out, doc.Fact{Name: "What survives", Text: methodOfFaults})
	}
	if len(v.Effects) > 0 {
		out = append(out, doc.Fact{Name: "Options", Text: aboutEffects + " A level has no effect when its own 95 % interval lies within " + margin +
			"; it is slower or faster when the estimate is beyond that and chance is ruled out for all levels of the factor."})
	}
	if v.Settling != nil {
		out = append(out, doc.Fact{Name: "Rounds", Text: "After each round, from the third on, each question is tested: which candidate is best, to within " + margin +
			". All tests of a question share one error of 5 %. A candidate that is shown to be worse than another in every question takes no part in further rounds; its figures are those of its own rounds."})
	}
	if v.Drift != nil {
		out = append(out, doc.Fact{Name: "Drift", Text: v.Drift.Text})
	}
	if v.Run.Counts() {
		out[1].Text = "The clock counts instructions: everything that the guest's only processor executes while a phase runs (the work itself, the tools, the kernel with its threads and interrupts), except the idle loop and the agent's other threads. Storage is a disk in memory. Writing ends when the filesystem reports that the data is on storage. None of these figures is a time."
	}
	if v.Run.Virtual() {
		passes := "it passes only while the guest waits, for as long as the model of the storage says,"
		if v.Run.Processor != "" {
			passes = "it passes while the guest waits, for as long as the model of the storage says, and with each instruction that its kernel executes, byte that it copies, system call and page fault, as the conditions say of the processor " + v.Run.Processor + ","
		}
		out[1].Text = "Data to be written is in memory before the clock starts. Writing ends when the filesystem reports that the data is on storage; unmounting is timed separately. Time is the guest's: " + passes + " and each reading of the clock takes 256 ns. Rounds differ by what the guest's kernel and programs draw at random (identifiers, hash seeds, where allocation begins), which the seed determines."
	}
	for _, c := range slices.Concat(v.Columns, v.Extra) {
		if c.About != "" {
			out = append(out, doc.Fact{Name: c.Name, Text: sentence(c.About)})
		}
	}
	return out
}

const methodOfFaults = "Every iteration makes a fresh filesystem, works on it, injects the fault, and then checks the kernel's messages, whether it mounts and can be written, a check without repair, " +
	"every promised file, and everything again after a repair, if its own tool was needed or complained. An iteration counts with its worst outcome. " +
	"Limits are exact (Clopper and Pearson), one-sided where none or all ended that way. Two candidates differ where an exact test within the same cases rules out chance, " +
	"corrected for the number of pairs (Holm); a single broken promise needs no test."

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
