package verdict

import (
	"fmt"
	"slices"
	"strings"

	"whichfs/internal/fault"
	"whichfs/internal/sys/units"
)

// mostNamed is how many candidates a sentence names.
const mostNamed = 6

// words returns the answer and the other findings.
func (r *Reliability) words() (answer string, findings []string) {
	for _, list := range [][]string{r.cutWords(), r.stateWords(), r.resetWords(), r.detectionWords(), r.byteWords()} {
		if answer == "" && len(list) > 0 {
			answer, list = list[0], list[1:]
		}
		findings = append(findings, list...)
	}
	if answer == "" {
		answer = "No answer: no iteration of any case has an outcome."
	}
	findings = append(findings, r.differences(PowerCuts, "lose promised data after power cuts")...)
	findings = append(findings, r.differences(Corruption, "return corrupt data silently")...)
	if text := r.unjudged(); text != "" {
		findings = append(findings, text)
	}
	if findings == nil {
		findings = []string{}
	}
	return answer, findings
}

// sayTogether groups candidates that share a remark: "ext4 and xfs (0 of 40: at
// most 7.2 %)".
func sayTogether(names, said []string) string {
	var order []string
	who := map[string][]string{}
	for i, text := range said {
		if who[text] == nil {
			order = append(order, text)
		}
		who[text] = append(who[text], names[i])
	}
	var out []string
	for _, text := range order {
		out = append(out, fmt.Sprintf("%s (%s)", units.List(who[text], mostNamed), text))
	}
	return strings.Join(out, "; ")
}

// cutWords says which candidates keep their promises through a power cut: one
// summary, then each breach in detail.
func (r *Reliability) cutWords() []string {
	var out, names, said, broke, how []string
	for _, row := range r.Rows {
		c := row.Sum(PowerCuts)
		switch {
		case c.Kept():
			names, said = append(names, row.Candidate), append(said, "lost after "+c.Lost.String())
		case c.Tried > 0 && c.Lost.Hits > 0:
			broke, how = append(broke, row.Candidate), append(how, c.Lost.Count())
			out = append(out, fmt.Sprintf("%s broke its promises after %s (%s); the worst outcome: %s.", row.Candidate, powerCuts(c.Lost), c.Lost.Limits(), c.Worst))
		case c.Tried > 0:
			broke, how = append(broke, row.Candidate), append(how, fmt.Sprintf("%d of %s", c.Broken, units.Count(c.Promises, "promise")))
			out = append(out, fmt.Sprintf("%s broke %d of %s after power cuts.", row.Candidate, c.Broken, units.Count(c.Promises, "promise")))
		}
	}
	var all []string
	if len(names) > 0 {
		all = append(all, fmt.Sprintf("All promised data survived every power cut on %s.", sayTogether(names, said)))
	}
	if len(broke) > 0 {
		all = append(all, fmt.Sprintf("Some promised data was lost after power cuts on %s.", sayTogether(broke, how)))
	}
	if len(all) == 0 {
		return nil
	}
	return append([]string{strings.Join(all, " ")}, out...)
}

func powerCuts(r Rate) string { return fmt.Sprintf("%d of %s", r.Hits, units.Count(r.Of, "power cut")) }

func (r *Reliability) stateWords() []string {
	var out, names, said []string
	for _, row := range r.Rows {
		c := row.Sum(CrashStates)
		switch {
		case c.Kept():
			names, said = append(names, row.Candidate), append(said, c.Lost.Count()+" broke one")
		case c.Tried > 0 && c.Lost.Hits > 0:
			out = append(out, fmt.Sprintf("%s broke a promise in %s crash states; the worst outcome: %s.", row.Candidate, c.Lost.Count(), c.Worst))
		case c.Tried > 0:
			out = append(out, fmt.Sprintf("%s broke %d of %s in crash states.", row.Candidate, c.Broken, units.Count(c.Promises, "promise")))
		}
	}
	if len(names) > 0 {
		out = append([]string{fmt.Sprintf("Every explored crash state kept every promise on %s.", sayTogether(names, said))}, out...)
	}
	return out
}

// resetWords says what a reset of the processor loses.
func (r *Reliability) resetWords() []string {
	var names, said []string
	for _, row := range r.Rows {
		if c := row.Sum(ProcessorResets); c.Tried > 0 {
			names, said = append(names, row.Candidate), append(said, "lost after "+c.Lost.String())
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("Resets of the processor, with the storage still powered: %s.", sayTogether(names, said))}
}

// byteWords says in how many cells of the matrix of corruption a filesystem
// became unmountable.
func (r *Reliability) byteWords() []string {
	var names, said []string
	for _, row := range r.Rows {
		fatal, cells := 0, 0
		for i, c := range row.Cells {
			if r.Cases[i].Class != CorruptBytes || c.Tried == 0 {
				continue
			}
			cells++
			if slices.ContainsFunc(c.Counts, func(n OutcomeCount) bool { return n.Key == fault.Unmountable.Key() }) {
				fatal++
			}
		}
		if cells > 0 {
			names, said = append(names, row.Candidate), append(said, fmt.Sprintf("%d of %d", fatal, cells))
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("Corrupt bytes were fatal, with no mount even after a repair, in this many cells of their matrix: %s.", sayTogether(names, said))}
}

// detectionWords says which candidates detect corruption of stored data.
func (r *Reliability) detectionWords() []string {
	var out, good, said, bad, how, idle, tried []string
	for _, row := range r.Rows {
		c := row.Detection
		switch {
		case c.Tried == 0:
		case c.Silent.Hits > 0:
			bad = append(bad, row.Candidate)
			how = append(how, fmt.Sprintf("silent in %s; reported in %d", c.Silent, c.Unnoticed.Of-c.Silent.Hits))
		case c.Unnoticed.Of == 0:
			idle, tried = append(idle, row.Candidate), append(tried, units.Count(c.Tried, "iteration"))
		default:
			good = append(good, row.Candidate)
			said = append(said, fmt.Sprintf("silent in %s with damage%s", c.Unnoticed.Count(), atLimits(c.Unnoticed)))
		}
	}
	if len(good) > 0 {
		out = append(out, fmt.Sprintf("No silent corruption on %s.", sayTogether(good, said)))
	}
	if len(bad) > 0 {
		out = append(out, fmt.Sprintf("Silent corruption (wrong, zeroed, short or missing files without an error) on %s.", sayTogether(bad, how)))
	}
	if len(idle) > 0 {
		out = append(out, fmt.Sprintf("Unknown whether %s detects corruption: no injected corruption did any damage.", sayTogether(idle, tried)))
	}
	return out
}

// differences says which candidates are shown to differ, and which differ in
// the sample without being shown to.
func (r *Reliability) differences(class, what string) []string {
	worse := map[string][]string{} // candidate → those that are worse
	var order, open []string
	least := 0
	for _, p := range r.Pairs {
		better, other := p.A, p.B
		if p.RateA.Value > p.RateB.Value {
			better, other = other, better
		}
		switch {
		case p.Class != class:
		case p.Settled:
			if worse[better] == nil {
				order = append(order, better)
			}
			worse[better] = append(worse[better], other)
		case p.RateA.Value != p.RateB.Value:
			open = append(open, better+" and "+other)
			if n := min(p.RateA.Of, p.RateB.Of); least == 0 || n < least {
				least = n
			}
		}
	}
	var names, said []string
	for _, n := range order {
		names, said = append(names, n), append(said, "than "+units.List(worse[n], mostNamed))
	}
	var out []string
	if len(names) > 0 {
		out = append(out, fmt.Sprintf("Shown to %s less often, beyond chance: %s.", what, sayTogether(names, said)))
	}
	if len(open) > 0 {
		slices.Sort(open)
		out = append(out, fmt.Sprintf("Not settled which is likelier to %s: %s; %s cannot tell.", what, strings.Join(open[:min(len(open), 4)], ", ")+more(len(open)-4), units.Count(least, "iteration")))
	}
	return out
}

func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" and %s", units.Count(n, "other pair"))
}

// unjudged names the cases without an outcome: they must not pass for kept
// promises.
func (r *Reliability) unjudged() string {
	var names, said []string
	for _, row := range r.Rows {
		var cases []string
		for _, c := range row.Cells {
			if c.Absent != "" {
				cases = append(cases, c.Name)
			}
		}
		switch {
		case len(cases) == len(row.Cells):
			names, said = append(names, row.Candidate), append(said, "all cases")
		case len(cases) > 0:
			names, said = append(names, row.Candidate), append(said, units.List(cases, 3))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("Not tested: %s.", sayTogether(names, said))
}

// reason qualifies the order of a use: what the candidates that could be first
// in it lost.
func (r *Reliability) reason(ranks []Place) string {
	if r == nil {
		return ""
	}
	var names, said []string
	for _, p := range ranks {
		row, ok := r.Row(p.Candidate)
		if p.RankLow > 1 || !ok {
			continue
		}
		var parts []string
		if c := row.Sum(PowerCuts); c.Tried > 0 {
			parts = append(parts, "lost promised data after "+powerCuts(c.Lost)+atLimits(c.Lost))
		}
		if c := row.Sum(CrashStates); c.Tried > 0 {
			parts = append(parts, "in "+c.Lost.Count()+" crash states")
		}
		if c := row.Detection; c.Tried > 0 {
			parts = append(parts, "silent in "+c.Silent.String()+" iterations with corruption")
		}
		if len(parts) == 0 {
			parts = []string{"not tested"}
		}
		names, said = append(names, p.Candidate), append(said, strings.Join(parts, "; "))
	}
	if len(names) == 0 {
		return ""
	}
	return "What survives on those that could be first: " + sayTogether(names, said) + "."
}

func atLimits(r Rate) string {
	if l := r.Limits(); l != "" {
		return ", " + l
	}
	return ""
}
