package verdict

import (
	"slices"

	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
)

// planLevels adds every level of the plan, so that a level that was never
// reached is reported as missing.
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

// varied reports whether a plan varies the factor for this candidate.
func varied(factor scenario.Factor, s *subject) bool {
	return (!s.Imaged || factor.Below()) && (len(factor.Candidates) == 0 || slices.Contains(factor.Candidates, s.Name))
}

// level returns the candidate with a level of a factor, adding it if it is new.
func (f *figures) level(name, variant string) *subject {
	if s := f.known(name, variant); s != nil {
		return s
	}
	s := newSubject(name, variant)
	f.levels = append(f.levels, s)
	return s
}

// known is the candidate with this level ("": without one), or nil.
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

// all returns the plain candidates, then those with levels of factors.
func (f *figures) all() []*subject { return slices.Concat(f.subjects, f.levels) }

// label names a candidate with its level.
func (s *subject) label() string { return result.Named(s.Name, s.variant) }

// tried reports whether the candidate can run here, as far as is known.
func (f *figures) tried(name string) bool {
	s := f.byName[name]
	return s == nil || s.Done > 0 || s.Outcome != result.Unsupported && s.Outcome != result.Refused
}

// told reports whether the outcome of the level's trials is shown elsewhere: in
// the table of faults, or as the reason for a missing point of a curve.
func (f *figures) told(s *subject) bool {
	factor, level := f.levelOf(s.variant)
	return level >= 0 && (factor.Medium || factor.Axis != "" && s.Done == 0)
}

// due is the number of rounds planned for a candidate, or for one with a level.
func (f *figures) due(s *subject) int {
	if factor, level := f.levelOf(s.variant); level >= 0 && factor.Once {
		return min(1, f.rounds(s.Name))
	}
	return f.rounds(s.Name)
}

// rounds is the number of rounds planned for a candidate, unless the run
// dropped it after some round, or stopped, because its questions were settled.
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
