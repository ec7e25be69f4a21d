package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"whichfs/internal/fault"
	"whichfs/internal/fault/finding"
	"whichfs/internal/fault/picture"
	"whichfs/internal/fault/script"
	"whichfs/internal/units"
)

// What the text and the page of an exploration say in the same words.

// Titles of the kinds of findings, and what they are.
const (
	brokenTitle   = "Promises broken"
	brokenAbout   = "Each is the smallest state that shows it. Its file shows it again on any machine."
	mendedTitle   = "What needed repair"
	mendedAbout   = "All that was promised is there in the end, and not without complaints or repair. No promise is broken by that."
	carelessTitle = "What careless programs lose"
	carelessAbout = "These scripts rely on more than anybody has promised. What they lose is no fault of the filesystem, and does not count above."
)

// possible is a number of states that is kept as a logarithm to base 2.
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

// scriptText is a script's name, with the word that says that losses are its own.
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

// crashAnswer says in a sentence how a candidate came out.
func crashAnswer(c Crash, one CrashCandidate) string {
	sum, broken := one.total(), one.Broken()
	drawn := false
	for _, t := range one.Scripts {
		drawn = drawn || !t.All
	}
	how := "every state that a cut can leave, without torn writes"
	if drawn {
		how = fmt.Sprintf("drawn with seed %d where there are too many for all", c.Seed)
	}
	seen := fmt.Sprintf("%s of %s (%s)", plural(sum.States, "state"), units.Count(len(one.Scripts), "script"), how)
	if c.Given != "" {
		seen = fmt.Sprintf("%s of the log (%s)", plural(sum.States, "state"), how)
	}
	switch {
	case sum.States == 0:
		return "No state was looked at; nothing is known."
	case len(broken) > 0:
		return fmt.Sprintf("Promises were broken in %s. Looked at: %s.", scriptNames(broken), seen)
	case one.Failed != "" || c.Partial != "":
		return fmt.Sprintf("No promise was broken until the exploration ended early. Looked at: %s.", seen)
	}
	if one.Unknown {
		return fmt.Sprintf("Every state mounts and can be read; what was promised of its files is unknown. Looked at: %s.", seen)
	}
	if len(one.Mended()) > 0 {
		return fmt.Sprintf("No promise was broken, but some states needed repair. Looked at: %s; %s held.", seen, plural(one.promised(), "single promise"))
	}
	return fmt.Sprintf("No promise was broken. Looked at: %s; %s held.", seen, plural(one.promised(), "single promise"))
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

// findingTitle names a finding in a few words.
func findingTitle(f finding.Finding) string {
	return f.Candidate + ", " + f.Script.Name + ": " + f.Outcome.Words()
}

// when says how far the script had come when the power went.
func when(f finding.Finding) string {
	switch {
	case f.Began == 0:
		return "The power went before the first operation."
	case f.Acked == f.Began:
		return fmt.Sprintf("The power went after operation %d had returned (%s).", f.Acked, picture.Turn(f.Script, f.Acked))
	case f.Acked == 0:
		return fmt.Sprintf("The power went during operation %d (%s); none had returned.", f.Began, picture.Turn(f.Script, f.Began))
	}
	return fmt.Sprintf("The power went during operation %d (%s); operations up to %d had returned (the last: %s).",
		f.Began, picture.Turn(f.Script, f.Began), f.Acked, picture.Turn(f.Script, f.Acked))
}

// left says what of the volatile writes reached the medium.
func left(f finding.Finding, rows []picture.Row) string {
	n := map[picture.Fate]int{}
	for _, r := range rows {
		n[r.Fate]++
	}
	volatile := n[picture.Kept] + n[picture.Torn] + n[picture.Lost]
	switch {
	case volatile == 0 && n[picture.Durable] == 0:
		return "Nothing had been sent to the storage by then."
	case volatile == 0:
		return "Nothing was under way: all that had been sent was durable."
	}
	text := fmt.Sprintf("Of %s that no flush had made durable, %s reached the medium",
		units.Count(volatile, "request"), number(n[picture.Kept]+n[picture.Torn]))
	if n[picture.Torn] > 0 {
		text += ", one of them only in part"
	}
	switch {
	case f.Minimal:
		text += "; nothing can be left out of this finding"
	case f.Whole != "":
		text += "; not made smaller: " + f.Whole
	}
	return text + "."
}

func number(n int) string {
	if n == 0 {
		return "none"
	}
	return fmt.Sprint(n)
}

// breachLines are the broken promises of a finding, a sentence each.
func breachLines(f finding.Finding) []string {
	var out []string
	for _, b := range f.Breaches {
		text := b.Outcome.Words()
		if b.Path != "" {
			text = b.Path + ": " + text
		}
		if b.What != "" {
			text += ": " + b.What
		}
		if promised := script.PromiseTexts[b.Promise]; promised != "" {
			text += " (" + b.Promise + ": " + promised + ")"
		} else if b.Promise != "" {
			text += " (" + b.Promise + ")"
		}
		out = append(out, text)
	}
	return out
}

// sameText says how often an exploration saw the same.
func sameText(f finding.Finding) string {
	if f.Same <= 1 {
		return "No other state showed the same."
	}
	if !f.Minimal {
		return plural(f.Same, "state") + " showed the same; this is the first of them."
	}
	return plural(f.Same, "state") + " showed the same; this is the smallest."
}

// crashStages are the parts of the time of a state, in their order.
var crashStages = []string{"make", "mount", "judge", "unmount", "check"}

// crashRate says how fast the states were looked at, by wall time, and where the
// time of all guests went.
func crashRate(c Crash) string {
	sum := finding.Tally{}
	wall, known := 0.0, true
	for _, one := range c.Candidates {
		t := one.total()
		sum.Add(t)
		wall, known = wall+one.Looking, known && (one.Looking > 0 || t.States == 0)
	}
	all := 0.0
	for _, stage := range slices.Sorted(maps.Keys(sum.Seconds)) { // in order, for the same last digit
		all += sum.Seconds[stage]
	}
	if sum.States == 0 || all <= 0 {
		return ""
	}
	if !known {
		wall = all
	}
	var parts []string
	for _, stage := range crashStages {
		if s := sum.Seconds[stage]; s > 0 {
			parts = append(parts, stage+" "+units.Share(s/all))
		}
	}
	return fmt.Sprintf("%s in %s: %s states a second. Of the time: %s.", plural(sum.States, "state"), units.Value(wall, "s"),
		units.Value(float64(sum.States)/wall, "1"), strings.Join(parts, ", "))
}

// shellWord is a word as a shell takes it.
func shellWord(w string) string {
	plain := w != "" && strings.IndexFunc(w, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._-/+:,=@", r)
	}) < 0
	if plain {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}
