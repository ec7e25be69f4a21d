package verdict

import (
	"fmt"
	"math"
	"slices"

	"whichfs/internal/result"
	"whichfs/internal/sys/units"
)

// tally counts the outcomes of the trials.
func (f *figures) tally() Trials {
	var t Trials
	t.Active = f.run.Active
	measured, lasted := 0.0, 0.0
	for _, s := range f.all() {
		switch {
		case s.variant != "" && !f.tried(s.Name):
			// reported for the candidate
		case s.Done == 0 && f.told(s) && (s.Outcome == result.Unsupported || s.Outcome == result.Refused):
			t.Points++
		case s.Done == 0 && s.Outcome == result.Unsupported:
			t.Unsupported++
		case s.Done == 0 && s.Outcome == result.Refused:
			t.Refused++
		default:
			t.Planned += f.due(s)
		}
		t.Done += s.Done
		last := map[int]result.Trial{}
		for _, x := range s.trials {
			if x.Outcome != "" && x.Outcome != result.Done {
				t.Failures = append(t.Failures, Failure{
					Candidate: x.Candidate, Variant: x.Variant, Round: x.Round, Attempt: x.Attempt, Outcome: x.Outcome,
					Phase: x.Phase, Reason: x.Reason, Hint: x.Hint, Console: x.Console,
				})
			}
			if !x.Ended.IsZero() && x.Ended.After(x.Started) {
				took := x.Ended.Sub(x.Started).Seconds()
				lasted += took
				measured += math.Max(0, took-x.Overhead)
			}
			// What became of a trial that is done, taken again, is a failure of its own.
			if before, ok := last[x.Round]; !ok || x.Attempt >= before.Attempt && (x.Outcome == result.Done || before.Outcome != result.Done) {
				if ok && before.Outcome == result.LabFailed && x.Outcome == result.Done {
					t.Retried++
				}
				last[x.Round] = x
			}
		}
		for _, x := range last {
			switch x.Outcome {
			case result.SubjectFailed:
				t.Subject++
			case result.LabFailed:
				t.Lab++
			}
		}
	}
	slices.SortStableFunc(t.Failures, func(a, b Failure) int {
		if a.Round != b.Round {
			return a.Round - b.Round
		}
		return a.Attempt - b.Attempt
	})
	// Time outside phases is overhead: starting guests, choosing, storing. A run
	// with unknown active time takes that of its trials.
	if t.Active <= 0 {
		t.Active = lasted
	}
	if f.run.Counts() {
		return t // its phases have no time to separate from the rest
	}
	if t.Active > 0 {
		t.Overhead = math.Min(1, math.Max(0, (t.Active-measured)/t.Active))
	}
	return t
}

// optionBadness orders the states of options, so that a candidate shows the
// worst of all its trials.
var optionBadness = map[result.OptionState]int{result.InForce: 0, result.Unverified: 1, result.Altered: 2, result.Ignored: 3}

func (s *subject) options() []result.Option {
	var out []result.Option
	for _, t := range counted(s.trials) {
		for _, o := range t.Options {
			i := slices.IndexFunc(out, func(have result.Option) bool { return have.Text == o.Text })
			switch {
			case i < 0:
				out = append(out, o)
			case optionBadness[o.State] > optionBadness[out[i].State]:
				out[i] = o
			}
		}
	}
	return out
}

// leftOut says which parts of the tree the filesystem could not hold. Every
// copy of the tree lacks the same parts, so the largest count of any phase is
// that of one copy.
func (s *subject) leftOut() []string {
	var out []string
	for _, k := range []struct{ metric, thing, why string }{
		{result.LeftOutLinks, "symbolic link", "%s cannot hold them"},
		{result.LeftOutNames, "name", "%s does not allow them"},
		{result.LeftOutOwners, "owner", "%s does not store owners and modes"},
		{result.LeftOutSpecials, "special file", "%s cannot hold them"},
		{result.LeftOutAttributes, "extended attribute", "%s cannot store them"},
	} {
		most := 0.0
		for key, x := range s.figures {
			if key.metric != k.metric {
				continue
			}
			for _, v := range x.values {
				most = math.Max(most, v)
			}
		}
		if most > 0 {
			out = append(out, units.Count(int(most), k.thing)+": "+fmt.Sprintf(k.why, s.title))
		}
	}
	return out
}

// checks reports the findings of the check tool over all trials.
func (s *subject) checks() string {
	var x *series
	for phase, kind := range s.work {
		if kind.Checks {
			x = s.figures[key{phase, result.Wall}]
		}
	}
	if x == nil || s.Done == 0 {
		return ""
	}
	if len(x.values) == 0 {
		return "not checked: " + x.absent
	}
	trouble := 0
	first := ""
	for _, t := range counted(s.trials) {
		for _, n := range t.Notes {
			if s.work[n.Phase].Checks && n.Level == result.Warning {
				trouble++
				if first == "" {
					first = n.Text
				}
				break
			}
		}
	}
	if trouble > 0 {
		return fmt.Sprintf("not clean or not checked in %d of %s: %s", trouble, units.Count(len(x.values), "trial"), first)
	}
	return "clean after " + units.Count(len(x.values), "trial")
}
