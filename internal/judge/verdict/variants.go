package verdict

import (
	"slices"

	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
)

// planLevels makes every level that the plan has known, so that one that was
// never reached is missed.
func (f *figures) planLevels() {
	for _, factor := range f.plan.Factors {
		for _, s := range f.subjects {
			if !varied(factor, s) {
				continue
			}
			for _, level := range factor.Levels {
				f.level(s.Name, level.Name)
			}
		}
	}
}

// varied: the factor is varied for this candidate, as plans have it. What is
// varied is how a filesystem is written, but for raw flash: there it is the chip.
func varied(factor scenario.Factor, s *subject) bool {
	return (!s.Imaged || apart(factor)) && (len(factor.Candidates) == 0 || slices.Contains(factor.Candidates, s.Name))
}

// apart: the levels are no options whose effect is asked for; they are shown as
// curves or as faults of the medium.
func apart(factor scenario.Factor) bool { return factor.Axis != "" || factor.Medium }

// level returns the candidate with a level of a factor, making it known if it
// is not.
func (f *figures) level(name, variant string) *subject {
	if s := f.known(name, variant); s != nil {
		return s
	}
	s := newSubject(name, variant)
	f.levels = append(f.levels, s)
	return s
}

// known is the candidate with this level ("": as it is), or nil.
func (f *figures) known(name, variant string) *subject {
	if variant == "" {
		return f.byName[name]
	}
	for _, s := range f.levels {
		if s.Name == name && s.variant == variant {
			return s
		}
	}
	return nil
}

// all are the candidates as they are, then with levels of factors.
func (f *figures) all() []*subject { return slices.Concat(f.subjects, f.levels) }

// label names a candidate with its level.
func (s *subject) label() string { return result.Named(s.Name, s.variant) }

// tried: the candidate can run here, as far as is known.
func (f *figures) tried(name string) bool {
	s := f.byName[name]
	return s == nil || s.Done > 0 || s.Outcome != result.Unsupported && s.Outcome != result.Refused
}

// told: what became of the level's trials is shown by itself, in the table of
// faults, or as the reason of a point that a curve lacks.
func (f *figures) told(s *subject) bool {
	factor, level := f.levelOf(s.variant)
	return level >= 0 && (factor.Medium || factor.Axis != "" && s.Done == 0)
}

// due is how many rounds a candidate, or one with a level, was to have.
func (f *figures) due(s *subject) int {
	if factor, level := f.levelOf(s.variant); level >= 0 && factor.Once {
		return min(1, f.rounds(s.Name))
	}
	return f.rounds(s.Name)
}

// rounds is how many a candidate was to have: those planned, unless the run
// left it out from some round on, or stopped, because it knew enough.
func (f *figures) rounds(name string) int {
	most := f.run.Rounds
	if s := f.settling; s != nil {
		if s.Done && s.Look > 0 {
			most = min(most, s.Look)
		}
		if last, dropped := s.Dropped[name]; dropped {
			most = min(most, last)
		}
	}
	return most
}
