package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"whichfs/internal/judge/stats"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
)

// KernelMargin is the least change between kernels that is listed. With the virtual clock their figures
// have no noise of measuring, and differ where the kernels do, or what they drew at random. By wall clock
// a change is listed if the noise of the rounds, at 95 % for each figure alone, does not explain it.
const KernelMargin = 0.01

// Kernel compares one kernel with the reference, on which everything else in the verdict was measured:
// the same trials, on the same storage.
type Kernel struct {
	Reference string `json:"reference"` // "Linux 6.1"
	Name      string `json:"name"`      // "Linux 6.12"
	// Compared is the number of figures that both have: one for each column and candidate.
	Compared int `json:"compared"`
	// Timed: by wall clock.
	Timed bool `json:"timed,omitempty"`
	// Changes above KernelMargin and, of times, above result.VirtualSlack, largest first.
	Changes []KernelChange `json:"changes"`
	// Missing are figures that only one of the two has.
	Missing []KernelMissing `json:"missing,omitempty"`
}

// KernelChange is a figure that changed.
type KernelChange struct {
	Column    string `json:"column"` // key, or the phase
	Title     string `json:"name"`
	Unit      string `json:"unit"`
	Candidate string `json:"candidate"`
	// Then and Now are means over the rounds that both kernels have; the ratio is paired by round.
	Then  Interval `json:"then"`
	Now   Interval `json:"now"`
	Ratio Interval `json:"ratio"`
}

// Varies reports whether the rounds differ by more than the kernels do.
func (c KernelChange) Varies() bool { return !c.Ratio.Single && c.Ratio.Low <= 1 && 1 <= c.Ratio.High }

// KernelMissing is a figure that one kernel lacks.
type KernelMissing struct {
	Title     string `json:"name"` // of the column
	Candidate string `json:"candidate"`
	Reason    string `json:"reason"`
}

// kernels compares every kernel of the plan with the reference.
func (f *figures) kernels() ([]Kernel, error) {
	var out []Kernel
	for _, factor := range f.plan.Factors {
		if !factor.Kernels() {
			continue
		}
		for _, level := range factor.Levels {
			k, err := f.kernel(factor, level.Name)
			if err != nil {
				return nil, err
			}
			out = append(out, k)
		}
	}
	return out, nil
}

func (f *figures) kernel(factor scenario.Factor, level string) (Kernel, error) {
	k := Kernel{Reference: factor.Reference, Name: level, Timed: !f.run.Virtual(), Changes: []KernelChange{}}
	figures := func(s *subject, def study.Column) (stats.Sample, string) {
		if k.Timed {
			return s.quiet(def, s.sample)
		}
		return s.sample(def)
	}
	for _, def := range f.measures() {
		for _, s := range f.subjects {
			one := f.known(s.Name, level)
			if one == nil {
				continue
			}
			then, lacks := figures(s, def)
			now, lost := figures(one, def)
			switch {
			case lacks != "" && lost != "":
				continue
			case lacks != "":
				k.Missing = append(k.Missing, KernelMissing{def.Name, s.Name, "on " + factor.Reference + ": " + lacks})
				continue
			case lost != "":
				k.Missing = append(k.Missing, KernelMissing{def.Name, s.Name, "on " + level + ": " + lost})
				continue
			}
			c := KernelChange{Column: def.Key, Title: def.Name, Unit: def.Unit, Candidate: s.Name}
			rounds, err := c.compare(then, now)
			if err != nil {
				return k, fmt.Errorf("%s, column %s, %s: %w", level, def.Key, s.Name, err)
			}
			switch {
			case rounds == 0:
				k.Missing = append(k.Missing, KernelMissing{def.Name, s.Name, "no round has figures of both kernels"})
				continue
			case k.Timed && c.Ratio.Single:
				k.Missing = append(k.Missing, KernelMissing{def.Name, s.Name, "only one round has figures of both kernels, which shows no noise"})
				continue
			}
			k.Compared++
			if k.Timed && c.Varies() {
				continue
			}
			if c.size() > math.Log1p(KernelMargin) && !(def.Unit == "s" && math.Abs(c.Now.Value-c.Then.Value) < result.VirtualSlack) {
				k.Changes = append(k.Changes, c)
			}
		}
	}
	slices.SortStableFunc(k.Changes, func(a, b KernelChange) int { return cmp.Compare(b.size(), a.size()) })
	return k, nil
}

// compare fills in the figures, from the rounds that both samples have, and returns their number.
func (c *KernelChange) compare(then, now stats.Sample) (rounds int, err error) {
	var before, after, ratios []float64
	for r := range then {
		if v, ok := now[r]; ok {
			before, after, ratios = append(before, then[r]), append(after, v), append(ratios, v/then[r])
		}
	}
	if len(ratios) == 0 {
		return 0, nil
	}
	for _, one := range []struct {
		values []float64
		to     *Interval
	}{{before, &c.Then}, {after, &c.Now}, {ratios, &c.Ratio}} {
		slices.Sort(one.values) // sums do not depend on the order of a map
		e, err := stats.GeoMean(one.values)
		if err != nil {
			return 0, err
		}
		*one.to = IntervalOf(e)
	}
	return len(ratios), nil
}

// size is the change on the logarithmic scale, whatever its direction.
func (c KernelChange) size() float64 { return math.Abs(math.Log(c.Ratio.Value)) }
