package verdict

import (
	"fmt"
	"slices"
	"strings"

	"whichfs/internal/judge/stats"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
)

// sample adds up the terms of a column, for figures that are compared by their
// ratios. A candidate with a figure of 0 or below has none of them: leaving out
// the rounds in which it was would bias the others.
func (s *subject) sample(def study.Column) (sample stats.Sample, absent string) {
	if sample, absent = s.sums(def); absent != "" {
		return nil, absent
	}
	for _, v := range sample.Values() {
		if v <= 0 {
			return nil, fmt.Sprintf("measured as %s, which has no ratio", units.Value(v, def.Unit))
		}
	}
	return sample, ""
}

// bootPhase and loginPhase are the prefixes of phases that are no step of a
// scenario: boots from the filesystem, to its first process and to its login
// prompt, which follow a trial of the reference in the lab.
const (
	bootPhase  = "boot "
	loginPhase = "login "
)

// boots reports whether a phase is one of these.
func boots(phase string) bool {
	return strings.HasPrefix(phase, bootPhase) || strings.HasPrefix(phase, loginPhase)
}

// of is the figures of a term. The boots of a study are with the lab's own kernel: on a board whose kernel is another one,
// they are with that, or with the oldest of several.
func (s *subject) of(t study.Term) *series {
	x := s.figures[key{t.Phase, t.Metric}]
	if x != nil || !boots(t.Phase) {
		return x
	}
	prefix, oldest := t.Phase[:strings.IndexByte(t.Phase, ' ')+1], ""
	for k, one := range s.figures {
		if kernel, ok := strings.CutPrefix(k.phase, prefix); ok && k.metric == t.Metric && (x == nil || compareKernels(kernel, oldest) < 0) {
			x, oldest = one, kernel
		}
	}
	return x
}

// sums adds up the terms of a column, whatever their sign, for every round that
// has all of them; absent says why there is none. A term of an
// optional phase for which the candidate never has a figure adds nothing.
func (s *subject) sums(def study.Column) (sums stats.Sample, absent string) {
	if s.Done == 0 {
		return nil, "no trial of it counts: " + s.Reason
	}
	sums = stats.Sample{}
	have, needed, without := map[int]int{}, 0, ""
	for _, t := range def.Terms {
		x := s.of(t)
		switch {
		case slices.Contains(def.Optional, t.Phase) && (x == nil || len(x.values) == 0):
			if without = "no figure for any phase of this sum"; x != nil {
				without = x.absent
			}
			continue
		case x == nil && boots(t.Phase):
			return nil, "nothing was booted"
		case x == nil && s.lacks(t.Phase) && s.ReadOnly:
			return nil, "not part of the work with a read-only filesystem"
		case x == nil && s.lacks(t.Phase) && s.Imaged:
			return nil, "not part of the work with a filesystem that is made as an image"
		case x == nil && s.lacks(t.Phase):
			return nil, "only filesystems that are made as an image have this phase"
		case x == nil:
			if whole := s.of(study.Term{Phase: t.Phase, Metric: result.Wall}); whole != nil && len(whole.values) == 0 {
				return nil, whole.absent // the whole phase was not measured
			}
			return nil, fmt.Sprintf("phase %s has no such figure", t.Phase)
		case len(x.values) == 0:
			return nil, x.absent
		}
		needed++
		for i, r := range x.rounds {
			sums[r] += x.values[i]
			have[r]++
		}
	}
	if needed == 0 && without != "" {
		return nil, without
	}
	for r := range sums {
		if have[r] < needed {
			delete(sums, r)
		}
	}
	if len(sums) == 0 {
		return nil, "no round has all the figures of this sum"
	}
	return s.shares(sums, def)
}

// shares divides the sums of a column's terms by those of its Over, round by
// round; without any it returns them as they are.
func (s *subject) shares(sums stats.Sample, def study.Column) (stats.Sample, string) {
	if len(def.Over) == 0 {
		return sums, ""
	}
	whole, why := s.sums(study.Column{Terms: def.Over, Optional: def.Optional})
	if why != "" {
		return nil, why
	}
	out := stats.Sample{}
	for r, v := range sums {
		if w := whole[r]; w > 0 {
			out[r] = v / w
		}
	}
	if len(out) == 0 {
		return nil, "no round has both figures of this share"
	}
	return out, ""
}

// Sampled is one measure of a run with the figures that count, for callers that
// weigh measures in their own way.
type Sampled struct {
	study.Column
	// Of are the figures by candidate, each by round.
	Of map[string]stats.Sample
	// Absent gives the reason for every candidate without figures.
	Absent map[string]string
}

// Samples returns the columns of the study as the run has them, then its other
// phases by name, without trials of variants.
func Samples(run result.Run, support []result.Support, trials []result.Trial, st study.Study) []Sampled {
	if run.Counts() {
		st = counting(st)
	}
	f := gather(run, support, trials, st)
	var out []Sampled
	for i, c := range f.measures() {
		s := f.sampledBy(c)
		if i < len(st.Columns) || len(s.Of) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// PhaseTimes returns the time of every phase that has one, without trials of variants.
func PhaseTimes(run result.Run, support []result.Support, trials []result.Trial, st study.Study) []Sampled {
	f := gather(run, support, trials, st)
	var out []Sampled
	for _, phase := range f.phases() {
		c := study.Column{Key: phase, Name: phase, Unit: "s", Terms: []study.Term{{Phase: phase, Metric: result.Wall}}}
		if s := f.sampledBy(c); len(s.Of) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// sampledBy is a column with the figures of every candidate.
func (f *figures) sampledBy(c study.Column) Sampled {
	s := Sampled{Column: c, Of: map[string]stats.Sample{}, Absent: map[string]string{}}
	for _, one := range f.subjects {
		if sample, why := one.quiet(c, one.sample); why != "" {
			s.Absent[one.Name] = why
		} else {
			s.Of[one.Name] = sample
		}
	}
	return s
}

// measures are the columns of the study, then the run's other phases by name.
func (f *figures) measures() []study.Column {
	columns := slices.Clone(f.study.Columns)
	for _, phase := range f.phases() {
		if c, ok := phaseColumn(f.run, phase, columns); ok {
			columns = append(columns, c)
		}
	}
	return columns
}

// phaseColumn is the time of a phase that is not a column already, under its
// own name or another.
func phaseColumn(run result.Run, phase string, columns []study.Column) (study.Column, bool) {
	c := study.Column{Key: phase, Name: phase, Unit: "s", Terms: []study.Term{{Phase: phase, Metric: result.Wall}},
		About: "the phase of this name", Extra: true}
	if run.Counts() {
		c.Unit, c.Terms[0].Metric = instructionUnit, result.Instructions
	}
	for _, other := range columns {
		if other.Key == phase || len(other.Terms) == 1 && other.Terms[0] == c.Terms[0] {
			return c, false
		}
	}
	return c, true
}

// Judged is one run with its verdict.
type Judged struct {
	Verdict Verdict
	Study   study.Study
	Columns []Sampled
	Phases  []Sampled // times
	// Scenarios is the work of the run's plan, to tell whether two runs did the
	// same; empty where the plan is unknown.
	Scenarios string
}
