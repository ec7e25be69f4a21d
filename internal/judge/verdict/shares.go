package verdict

import (
	"whichfs/internal/judge/stats"
	"whichfs/internal/plan/study"
)

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
