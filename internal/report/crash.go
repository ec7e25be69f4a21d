package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"whichfs/internal/fault"
	"whichfs/internal/fault/finding"
	"whichfs/internal/report/doc"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
)

// Crash is the result of an exploration of crash states.
type Crash struct {
	Format   int       `json:"format"` // 1
	Version  string    `json:"version"`
	Machine  string    `json:"machine"`
	Clock    string    `json:"clock,omitempty"` // of the guests; empty: wall
	Kernel   string    `json:"kernel"`
	Emulated bool      `json:"emulated,omitempty"`
	Started  time.Time `json:"started"`
	Seconds  float64   `json:"seconds"`
	Seed     uint64    `json:"seed"`
	// Asked describes the request in words: how many states, which scripts.
	Asked string `json:"asked"`
	// Given is the file of a log recorded elsewhere, if it was one.
	Given      string           `json:"given,omitempty"`
	Candidates []CrashCandidate `json:"candidates"`
	// Partial says why the exploration ended early, if it did.
	Partial  string   `json:"partial,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// CrashCandidate is the result of one candidate.
type CrashCandidate struct {
	Candidate string `json:"candidate"`
	// Failed says why the exploration is incomplete; Scripts has the explored
	// part.
	Failed string `json:"failed,omitempty"`
	// Source of the promises that it was tested for, beyond POSIX.
	Source string `json:"source,omitempty"`
	// Unknown: the operations are unknown, and so are the promises.
	Unknown bool `json:"unknown_script,omitempty"`
	// Loose are the names of scripts that rely on more than is promised.
	Loose    []string        `json:"careless_scripts,omitempty"`
	Scripts  []finding.Tally `json:"scripts"`
	Findings []CrashFinding  `json:"findings,omitempty"`
	// Looking is how long the checking of states took, in seconds of wall time:
	// less than the sum of the scripts' stages where several guests checked at the
	// same time. 0: that sum.
	Looking float64 `json:"looking_seconds,omitempty"`
}

// CrashFinding is a finding and the file that holds it.
type CrashFinding struct {
	finding.Finding
	File string `json:"file,omitempty"`
	// Excused: see finding.Finding.Excused.
	Excused bool `json:"excused,omitempty"`
}

// Broken are the findings with a loss of promised data, worst first.
func (c CrashCandidate) Broken() []CrashFinding {
	return c.some(func(f CrashFinding) bool { return !f.Excused && !f.Mended() })
}

// Mended are those in which all promised data was available in the end, but
// only after complaints or repair.
func (c CrashCandidate) Mended() []CrashFinding {
	return c.some(func(f CrashFinding) bool { return !f.Excused && f.Mended() })
}

// Careless are those in which a program lost only data that it took for granted
// and that was never promised.
func (c CrashCandidate) Careless() []CrashFinding {
	return c.some(func(f CrashFinding) bool { return f.Excused })
}

func (c CrashCandidate) some(want func(CrashFinding) bool) []CrashFinding {
	var out []CrashFinding
	for _, f := range c.Findings {
		if want(f) {
			out = append(out, f)
		}
	}
	slices.SortStableFunc(out, func(a, b CrashFinding) int { return cmp.Compare(b.Outcome, a.Outcome) })
	return out
}

// Found reports whether any promise was broken.
func (c Crash) Found() bool {
	return slices.ContainsFunc(c.Candidates, func(c CrashCandidate) bool { return len(c.Broken()) > 0 })
}

// Looked is the number of states checked, of all candidates.
func (c Crash) Looked() int64 {
	n := int64(0)
	for _, one := range c.Candidates {
		n += one.total().States
	}
	return n
}

// total adds up the scripts of a candidate.
func (c CrashCandidate) total() finding.Tally {
	var sum finding.Tally
	for _, t := range c.Scripts {
		sum.Add(t)
	}
	return sum
}

// loose reports whether a script relies on more than is promised: what it takes
// for granted is listed with its promises, and does not count.
func (c CrashCandidate) loose(t finding.Tally) bool { return slices.Contains(c.Loose, t.Script) }

// promised is the number of single promises checked, without those that only
// careless scripts take for granted.
func (c CrashCandidate) promised() int64 {
	n := int64(0)
	for _, t := range c.Scripts {
		if !c.loose(t) {
			n += t.Promises
		}
	}
	return n
}

// CrashJSON writes an exploration for programs.
func CrashJSON(w io.Writer, c Crash) error {
	c.Format = 1
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(c)
}

// CrashDoc is an exploration of crash states.
func CrashDoc(c Crash) doc.Doc {
	began := ""
	if !c.Started.IsZero() {
		began = c.Started.UTC().Format("2006-01-02 15:04 UTC")
	}
	machine := c.Machine
	if c.Clock == result.ClockVirtual {
		machine += ", guests with the virtual clock"
	}
	if c.Emulated {
		machine += ", emulated processor"
	}
	d := doc.Doc{Title: "What survives a power cut: crash states", Kicker: "whichfs crash explore", Version: c.Version, Warnings: c.Warnings, Foot: "whichfs " + c.Version,
		Facts: []doc.Fact{
			{Name: "machine", Text: machine}, {Name: "kernel", Text: c.Kernel}, {Name: "log", Text: c.Given}, {Name: "requested", Text: c.Asked},
			{Name: "seed", Text: fmt.Sprint(c.Seed)}, {Name: "began", Text: began}, {Name: "took", Text: units.Value(c.Seconds, "s")},
		}}
	if c.Partial != "" {
		d.Reach = "partial: " + c.Partial + "; the results below are from before"
	}
	states := doc.Section{ID: "states", Title: "Every crash state", Body: []doc.Block{doc.Para{Text: aboutStates}}}
	for _, one := range c.Candidates {
		states.Body = append(states.Body, crashCandidate(c, one))
	}
	d.Sections = append(d.Sections, states)
	number := 0
	for _, k := range []struct {
		id, title, about string
		which            func(CrashCandidate) []CrashFinding
	}{{"broken", brokenTitle, brokenAbout, CrashCandidate.Broken}, {"mended", mendedTitle, mendedAbout, CrashCandidate.Mended}, {"careless", carelessTitle, carelessAbout, CrashCandidate.Careless}} {
		s := doc.Section{ID: k.id, Title: k.title, Body: []doc.Block{doc.Para{Text: k.about}}}
		if number == 0 {
			s.Body = append(s.Body, fateLegend())
		}
		n := 0
		for _, one := range c.Candidates {
			for _, f := range k.which(one) {
				number++
				n++
				s.Body = append(s.Body, findingPart(f, n, number))
			}
		}
		if n > 0 {
			d.Sections = append(d.Sections, s)
		}
	}
	if rate := crashRate(c); rate != "" {
		d.Sections = append(d.Sections, doc.Section{ID: "rate", Title: "Rate", Body: []doc.Block{doc.Para{Text: rate}}})
	}
	return d
}

const aboutStates = "A crash state is what a power loss at one moment can leave: everything that a flush had made durable, plus any subset of the writes sent since. " +
	"Each such state was mounted and checked against the promises."

// crashCandidate shows the result of a candidate, script by script.
func crashCandidate(c Crash, one CrashCandidate) doc.Section {
	answer := doc.Item{Mark: "✓", Tone: doc.Good, Text: crashAnswer(c, one)}
	state := &doc.State{Word: "kept", Tone: doc.Good}
	switch {
	case len(one.Broken()) > 0:
		answer.Mark, answer.Tone, state = "✗", doc.Bad, &doc.State{Word: "broken", Tone: doc.Bad}
	case one.Failed != "" || one.total().States == 0:
		answer.Mark, answer.Tone, state = "?", doc.Warn, &doc.State{Word: "not settled", Tone: doc.Warn}
	}
	list := []doc.Item{answer}
	if one.Failed != "" {
		list = append(list, doc.Item{Mark: "!", Tone: doc.Warn, Text: one.Failed})
	}
	if one.Source != "" {
		list = append(list, doc.Item{Text: "Promises: " + one.Source, Muted: true})
	}
	return doc.Section{Title: one.Candidate, State: state, Body: []doc.Block{doc.Items{List: list}, scriptTable(one)}}
}

// scriptTable shows the states of each script by outcome: on the page in a
// column for each outcome, in a text only the worst.
func scriptTable(one CrashCandidate) doc.Table {
	t := doc.Table{Style: doc.Scroll, Name: "Scripts and outcomes of " + one.Candidate, Columns: []doc.Column{{Head: "Script"}}}
	sum := one.total()
	var occur []fault.Outcome // worst first
	for i := len(fault.Outcomes) - 1; i >= 0; i-- {
		if o := fault.Outcomes[i]; sum.Outcomes[o.Key()] > 0 {
			occur = append(occur, o)
			t.Columns = append(t.Columns, doc.Column{Head: o.Words(), Kind: doc.Figures, In: doc.Page})
		}
	}
	t.Columns = append(t.Columns, doc.Heads(doc.Figures, false, "Writes", "Flushes", "Possible", "States")...)
	t.Columns = append(t.Columns, doc.Column{Head: "Which"})
	t.Columns = append(t.Columns, doc.Heads(doc.Figures, false, "Equal", "Checked", "Kept", "Broken")...)
	t.Columns = append(t.Columns, doc.Column{Head: "Worst"})
	for _, s := range crashRows(one) {
		tone := doc.Good
		o := worst(s)
		switch {
		case o == 0:
			tone = doc.Plain
		case one.loose(s) && !o.Kept():
			tone = doc.Warn
		case s.Broken > 0 || !o.Kept():
			tone = doc.Bad
		}
		row := doc.Texts(scriptText(one, s))
		for _, o := range occur {
			cell := doc.T("·")
			if n := s.Outcomes[o.Key()]; n > 0 {
				cell = doc.Cell{Text: whole(n), Shade: outcomeShade(o, one.loose(s))}
			}
			row.Cells = append(row.Cells, cell)
		}
		row.Cells = append(row.Cells, doc.Texts(fmt.Sprint(s.Writes), fmt.Sprint(s.Flushes), possible(s.Possible), whole(s.States), sampled(s), whole(s.Equal), whole(s.Checked), whole(s.Promises-s.Broken)).Cells...)
		row.Cells = append(row.Cells, doc.Cell{Text: whole(s.Broken), Tone: tone}, doc.Cell{Text: worstText(s), Tone: tone})
		t.Rows = append(t.Rows, row)
		if s.Stopped != "" {
			t.Below = append(t.Below, doc.Item{Mark: "!", Tone: doc.Warn, Text: s.Script + ": " + s.Stopped})
		}
	}
	return t
}

// outcomeShade is the colour behind a count of states: a loss of careless
// programs counts against no filesystem.
func outcomeShade(o fault.Outcome, loose bool) int {
	switch {
	case o <= fault.Recovered:
		return 6
	case o.Kept():
		return 3
	case loose:
		return 0
	}
	return 1
}

// mostScripts is the largest number of scripts with a row each; there are
// hundreds of sequences.
const mostScripts = 40

// crashRows are the scripts of a candidate; if there are too many, those with
// findings and the sum of the others.
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

// Titles of the kinds of findings, and their descriptions.
const (
	brokenTitle   = "Promises broken"
	brokenAbout   = "Each is the smallest state that shows it. Its file reproduces it on any machine; whichfs help findings has what is known of their causes."
	mendedTitle   = "What needed repair"
	mendedAbout   = "All promised data is there in the end, but only after complaints or repair. That breaks no promise."
	carelessTitle = "What careless programs lose"
	carelessAbout = "These scripts rely on more than is promised. Their losses are not the filesystem's fault and do not count above."
)

// possible formats a number of states that is given as a logarithm to base 2.
func possible(log2 float64) string {
	switch {
	case math.IsNaN(log2) || math.IsInf(log2, 0) || log2 < 0:
		return "–"
	case log2 < 20:
		return whole(int64(math.Round(math.Exp2(log2))))
	}
	return fmt.Sprintf("2^%.0f", log2)
}

func whole(n int64) string { return units.Value(float64(n), "1") }

// sampled says how the states of a script were chosen.
func sampled(t finding.Tally) string {
	switch {
	case t.Stopped != "":
		return "stopped"
	case t.All:
		return "all"
	}
	return "drawn"
}

// worst is the costliest outcome of a tally.
func worst(t finding.Tally) fault.Outcome {
	for i := len(fault.Outcomes) - 1; i >= 0; i-- {
		if t.Outcomes[fault.Outcomes[i].Key()] > 0 {
			return fault.Outcomes[i]
		}
	}
	return 0
}

// scriptText is a script's name, with a word if its losses are its own fault.
func scriptText(c CrashCandidate, t finding.Tally) string {
	if c.loose(t) {
		return t.Script + " (careless)"
	}
	return t.Script
}

func worstText(t finding.Tally) string {
	o := worst(t)
	if o == 0 {
		return "–"
	}
	return o.Words()
}

// crashAnswer summarises a candidate in one sentence.
func crashAnswer(c Crash, one CrashCandidate) string {
	sum, broken := one.total(), one.Broken()
	drawn := false
	for _, t := range one.Scripts {
		drawn = drawn || !t.All
	}
	how := "every state that a cut can leave, without torn writes"
	if drawn {
		how = fmt.Sprintf("drawn with seed %d where there are too many", c.Seed)
	}
	seen := fmt.Sprintf("%s of %s (%s)", plural(sum.States, "state"), units.Count(len(one.Scripts), "script"), how)
	if c.Given != "" {
		seen = fmt.Sprintf("%s of the log (%s)", plural(sum.States, "state"), how)
	}
	switch {
	case sum.States == 0:
		return "No state was explored; nothing is known."
	case len(broken) > 0:
		return fmt.Sprintf("Promises were broken in %s. Explored: %s.", scriptNames(broken), seen)
	case one.Failed != "" || c.Partial != "":
		return fmt.Sprintf("No promise was broken before the exploration ended early. Explored: %s.", seen)
	}
	if one.Unknown {
		return fmt.Sprintf("Every state mounts and can be read; the promises about its files are unknown. Explored: %s.", seen)
	}
	if len(one.Mended()) > 0 {
		return fmt.Sprintf("No promise was broken, but some states needed repair. Explored: %s; %s held.", seen, plural(one.promised(), "single promise"))
	}
	return fmt.Sprintf("No promise was broken. Explored: %s; %s held.", seen, plural(one.promised(), "single promise"))
}

func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return whole(n) + " " + noun + "s"
}

// scriptNames lists the scripts of findings, each once.
func scriptNames(found []CrashFinding) string {
	var names []string
	for _, f := range found {
		if !slices.Contains(names, f.Script.Name) {
			names = append(names, f.Script.Name)
		}
	}
	return units.List(names, 5)
}

// crashStages are the parts of the time of a state, in their order.
var crashStages = []string{"make", "mount", "judge", "unmount", "check"}

// crashRate says how fast the states were checked, by wall time, and how all
// guests spent their time.
func crashRate(c Crash) string {
	sum := finding.Tally{}
	wall, known := 0.0, true
	for _, one := range c.Candidates {
		t := one.total()
		sum.Add(t)
		wall, known = wall+one.Looking, known && (one.Looking > 0 || t.States == 0)
	}
	all := 0.0
	for _, stage := range slices.Sorted(maps.Keys(sum.Seconds)) { // in order, so that the last digit is reproducible
		all += sum.Seconds[stage]
	}
	if !known {
		wall = all
	}
	if sum.States == 0 || wall <= 0 || all <= 0 {
		return ""
	}
	rate := fmt.Sprintf("%s in %s: %s states per second.", plural(sum.States, "state"), units.Value(wall, "s"), units.Value(float64(sum.States)/wall, "1"))
	if c.Clock == result.ClockVirtual {
		return rate // no time passes in a guest while it works
	}
	var parts []string
	for _, stage := range crashStages {
		if s := sum.Seconds[stage]; s > 0 {
			parts = append(parts, stage+" "+units.Share(s/all))
		}
	}
	return rate + " Time by stage: " + strings.Join(parts, ", ") + "."
}
