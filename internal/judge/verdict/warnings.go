package verdict

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"whichfs/internal/judge/stats"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
)

// Limits beyond which the report warns.
const (
	mostDrift    = 1.20 // of the sentinel, last rounds over first
	mostOverhead = 0.25 // of the active time
	mostNotes    = 8    // kinds of kernel warning listed
)

// warnings are whole sentences, most serious first.
func (f *figures) warnings(t Trials) []string {
	var out []string
	out = append(out, f.warnRun(t)...)
	if l := f.load(); l != nil && l.Text != "" {
		out = append(out, l.Text)
	}
	out = append(out, f.warnCandidates()...)
	out = append(out, f.warnNotes()...)
	out = append(out, f.warnLeftOut()...)
	out = append(out, f.warnDrift()...)
	out = append(out, f.warnCaches()...)
	out = append(out, f.warnMallocs()...)
	if t.Overhead > mostOverhead && !f.untimed() {
		out = append(out, fmt.Sprintf("%s of the running time was spent outside the measured phases.", units.Share(t.Overhead)))
	}
	for _, n := range f.run.Notes {
		if n.Level == result.Warning {
			out = append(out, sentence(n.Text))
		}
	}
	return out
}

func (f *figures) warnRun(t Trials) []string {
	var out []string
	if t.Done == 0 {
		out = append(out, "No trial of this run counts: it shows nothing.")
	}
	if f.run.State != result.Finished {
		out = append(out, fmt.Sprintf("The run is not finished: %d of %s counted so far.", t.Done, units.Count(t.Planned, "trial")))
	}
	if t.Lab > 0 {
		out = append(out, fmt.Sprintf("The lab failed in %s even after a retry; these are left out.", units.Count(t.Lab, "trial")))
	}
	most := 0
	for _, s := range f.subjects {
		most = max(most, len(s.rounds))
	}
	switch {
	case t.Done == 0 || f.untimed(): // iterations count there, not rounds
	case most == 1:
		out = append(out, "One round does not show the noise: nothing is settled, however clear the figures look. Settling anything takes at least three rounds.")
	case most == 2:
		out = append(out, "Two rounds show little of the noise: they settle only very large differences.")
	}
	return out
}

func (f *figures) warnCandidates() []string {
	var failed, short, options, checks []string
	most := 0
	for _, s := range f.subjects {
		most = max(most, len(s.rounds))
	}
	for _, s := range f.all() {
		bad, phase, reason := 0, "", ""
		for _, t := range s.trials {
			if t.Outcome == result.SubjectFailed {
				bad++
				phase, reason = t.Phase, t.Reason
			}
		}
		if bad > 0 && !f.told(s) {
			failed = append(failed, fmt.Sprintf("%s failed in %s, at %s: %s", s.label(), units.Count(bad, "trial"), phase, strings.TrimRight(reason, ".")))
		}
		if s.Done > 0 && !f.told(s) && len(s.rounds) < min(most, f.due(s)) {
			short = append(short, fmt.Sprintf("%s (%d of %d)", s.label(), len(s.rounds), min(most, f.due(s))))
		}
		for _, o := range s.Options {
			switch o.State {
			case result.Ignored:
				options = append(options, fmt.Sprintf("%s: the option %s was accepted but is not in force (%s).", s.label(), o.Text, o.Evidence))
			case result.Altered:
				options = append(options, fmt.Sprintf("%s: the option %s was altered (%s).", s.label(), o.Text, o.Evidence))
			}
		}
		if strings.HasPrefix(s.Checks, "not clean") {
			checks = append(checks, fmt.Sprintf("%s: check %s.", s.label(), strings.TrimRight(s.Checks, ".")))
		}
	}
	var out []string
	for _, text := range failed {
		out = append(out, sentence(text))
	}
	out = append(out, options...)
	out = append(out, checks...)
	if len(short) > 0 {
		out = append(out, "Fewer rounds count for "+units.List(short, len(short))+".")
	}
	return out
}

// warnNotes collects the warnings of trials, each kind once. Warnings of checks
// are reported above; kernel messages about a medium that was made faulty, or
// in a case of faults, belong to the tables of faults.
func (f *figures) warnNotes() []string {
	type kind struct {
		text  string
		names []string
		times int
	}
	var kinds []*kind
	for _, s := range f.all() {
		if f.told(s) {
			continue
		}
		for _, t := range s.trials {
			for _, n := range t.Notes {
				if n.Level != result.Warning || s.work[n.Phase].Checks || f.isCase(n.Phase) {
					continue
				}
				text := n.Text
				i := slices.IndexFunc(kinds, func(k *kind) bool { return k.text == text })
				if i < 0 {
					kinds = append(kinds, &kind{text: text})
					i = len(kinds) - 1
				}
				kinds[i].times++
				if !slices.Contains(kinds[i].names, s.Name) {
					kinds[i].names = append(kinds[i].names, s.Name)
				}
			}
		}
	}
	slices.SortStableFunc(kinds, func(a, b *kind) int { return b.times - a.times })
	var out []string
	for i, k := range kinds {
		if i == mostNotes {
			out = append(out, fmt.Sprintf("%s are not listed here.", units.Count(len(kinds)-mostNotes, "other warning")))
			break
		}
		out = append(out, sentence(fmt.Sprintf("%s, %s: %s", units.List(k.names, 3), times(k.times), k.text)))
	}
	return out
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func (f *figures) warnLeftOut() []string {
	var out []string
	for _, s := range f.subjects {
		if s.Done > 0 && len(s.LeftOut) > 0 {
			out = append(out, fmt.Sprintf("%s did less work than the others, and its figures are not adjusted for it (%s).", s.Name, strings.Join(s.LeftOut, "; ")))
		}
	}
	return out
}

// warnDrift compares the fixed raw work before each trial between the first
// and the last third of the rounds.
func (f *figures) warnDrift() []string {
	var out []string
	for _, k := range []struct{ metric, what string }{{result.SentinelWrite, "write"}, {result.SentinelRead, "read"}} {
		byRound := map[int][]float64{}
		for _, s := range f.all() {
			if x := s.figures[key{"sentinel", k.metric}]; x != nil {
				for i, r := range x.rounds {
					if x.values[i] > 0 {
						byRound[r] = append(byRound[r], x.values[i])
					}
				}
			}
		}
		var rounds []int
		for r := range byRound {
			rounds = append(rounds, r)
		}
		slices.Sort(rounds)
		if len(rounds) < 2 {
			continue
		}
		third := max(1, len(rounds)/3)
		gather := func(list []int) []float64 {
			var all []float64
			for _, r := range list {
				all = append(all, byRound[r]...)
			}
			return all
		}
		before, err1 := stats.Median(gather(rounds[:third]))
		after, err2 := stats.Median(gather(rounds[len(rounds)-third:]))
		if err1 != nil || err2 != nil {
			continue
		}
		drift := after / before
		if math.Max(drift, 1/drift) > mostDrift {
			text := fmt.Sprintf("The fixed raw %s before each trial took %s as long at the end of the run as at its beginning (%s against %s): "+
				"the storage or the machine drifted. Comparing round by round removes the drift that all candidates share.", k.what, units.Ratio(drift), units.Value(after, "s"), units.Value(before, "s"))
			if names := f.comparedBy(k.metric); len(names) > 0 {
				text += fmt.Sprintf(" Drift within rounds is also removed from %s.", units.List(names, 6))
			}
			out = append(out, text)
		}
	}
	return out
}

// warnCaches: a cold read that hardly reached the device was not cold, or
// something else served it.
func (f *figures) warnCaches() []string {
	var out []string
	for _, imaged := range []bool{false, true} {
		work := f.works(imaged)
		for _, phase := range f.phases() {
			least := work[phase].Cold
			if least == 0 {
				continue
			}
			var names []string
			for _, s := range f.subjects {
				data, ok1 := f.figureOf(s.Name, phase, result.DataBytes)
				read, ok2 := f.figureOf(s.Name, phase, result.DeviceRead)
				if s.Imaged == imaged && ok1 && ok2 && data.mean() > 0 && read.mean() < least*data.mean() {
					names = append(names, s.Name)
				}
			}
			if len(names) > 0 {
				out = append(out, fmt.Sprintf("In phase %s the device delivered less than %s of the data for %s: "+
					"these figures measure caches, not storage.", phase, units.Share(least), units.List(names, 3)))
			}
		}
	}
	return out
}

// fewMallocs are what Go's runtime may allocate for itself in a phase, for its threads and timers: microseconds in all.
const fewMallocs = 4

// warnMallocs: the agent must not allocate while the clock runs over work that
// it does itself (except in phases that start another tool).
func (f *figures) warnMallocs() []string {
	var where []string
	for _, s := range f.subjects {
		for _, phase := range f.phases() {
			if !s.work[phase].Own {
				continue
			}
			if x, ok := f.figureOf(s.Name, phase, result.AgentMallocs); ok && x.mean() > fewMallocs && !slices.Contains(where, phase) {
				where = append(where, phase)
			}
		}
	}
	if len(where) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("The agent allocated memory while the clock ran (phases %s): these figures include its own work.", units.List(where, 6))}
}

// sentence ends a text with a full stop. It keeps the case of the first letter,
// which may begin the name of a candidate.
func sentence(text string) string {
	text = strings.TrimSpace(text)
	if text == "" || strings.HasSuffix(text, ".") || strings.HasSuffix(text, "!") {
		return text
	}
	return text + "."
}
