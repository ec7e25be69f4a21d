package verdict

import (
	"fmt"
	"math"

	"whichfs/internal/result"
	"whichfs/internal/stats"
	"whichfs/internal/study"
)

// converted is a candidate's figure of a column in a published unit, round by
// round.
func (f *figures) converted(def study.Column, unit, name, variant string) (stats.Sample, string) {
	s := f.known(name, variant)
	if s == nil && f.byName[name] != nil {
		return nil, "not tried with " + variant
	}
	if s == nil {
		return nil, "not tried"
	}
	sample, why := s.sample(def)
	if why != "" {
		return nil, why
	}
	to, ok := publishedUnits[unit]
	if !ok || to.rate != (def.Unit == "s" && to.base != "s") || !to.rate && to.base != def.Unit {
		return nil, fmt.Sprintf("figures in %s cannot be made of %s in %s", unit, lowered(def.Name), def.Unit)
	}
	if !to.rate {
		for r := range sample {
			sample[r] /= to.size
		}
		return sample, ""
	}
	amount, why := s.amount(def, to.base)
	if why != "" {
		return nil, why
	}
	for r, v := range sample {
		sample[r] = amount / v / to.size
	}
	return sample, ""
}

// publishedUnit is a unit that tables are published in: its base unit, and how
// many of those it is. A rate is of the base per second.
type publishedUnit struct {
	base string
	size float64
	rate bool
}

var publishedUnits = map[string]publishedUnit{
	"s": {"s", 1, false}, "ms": {"s", 1e-3, false}, "min": {"s", 60, false},
	"B": {"B", 1, false}, "kB": {"B", 1e3, false}, "MB": {"B", 1e6, false}, "GB": {"B", 1e9, false},
	"KiB": {"B", 1 << 10, false}, "MiB": {"B", 1 << 20, false}, "GiB": {"B", 1 << 30, false},
	"1": {"1", 1, false}, "%": {"1", 0.01, false},
	"B/s": {"B", 1, true}, "kB/s": {"B", 1e3, true}, "MB/s": {"B", 1e6, true}, "GB/s": {"B", 1e9, true},
	"KiB/s": {"B", 1 << 10, true}, "MiB/s": {"B", 1 << 20, true}, "GiB/s": {"B", 1 << 30, true},
	"/s": {"1", 1, true},
}

// amount is how much of a column's Per its phase did, in the base unit that is
// asked for.
func (s *subject) amount(def study.Column, base string) (float64, string) {
	if def.Per == "" || len(def.Terms) == 0 {
		return 0, "the study has no rate for it"
	}
	phase := def.Terms[0].Phase
	x := s.figures[key{phase, def.Per}]
	switch {
	case x == nil:
		return 0, fmt.Sprintf("no figure for %s of phase %s", def.Per, phase)
	case len(x.values) == 0:
		return 0, x.absent
	case rateBase(def.Per) != base:
		return 0, fmt.Sprintf("%s of phase %s is no rate of that kind", def.Per, phase)
	}
	m := x.mean()
	if m <= 0 || math.IsInf(m, 0) {
		return 0, fmt.Sprintf("phase %s did nothing that a rate could be made of", phase)
	}
	return m, ""
}

// rateBase is the unit of what a rate counts.
func rateBase(per string) string {
	if per == result.DataBytes {
		return "B"
	}
	return "1"
}
