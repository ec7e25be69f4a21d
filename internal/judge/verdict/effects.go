package verdict

import (
	"fmt"
	"math"
	"slices"

	"whichfs/internal/judge/stats"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/plan/study"
)

// Factor is what was varied besides the candidates, and what that changed.
type Factor struct {
	Name      string  `json:"name"`      // "mount options"
	Reference string  `json:"reference"` // "relatime"
	Levels    []Level `json:"levels"`
}

// Level of a factor, against the factor's reference.
type Level struct {
	Name string `json:"name"`
	// Effects by column, in the study's order.
	Effects []Effect `json:"effects"`
}

// Effect is what a level changes in one column: the ratio to the reference,
// paired by candidate and round.
type Effect struct {
	Column string `json:"column"` // key
	Name   string `json:"name"`
	Unit   string `json:"unit"`
	// Absent is why there is no ratio at all.
	Absent string `json:"absent,omitempty"`
	// Ratio pooled over the candidates. Its interval holds for all levels of the
	// factor at once; Single: the noise is unknown and there is no interval.
	Ratio   Interval `json:"ratio"`
	Outcome string   `json:"outcome,omitempty"`
	// Differs: the effect of the level is shown to differ between candidates, of
	// which one at least may have one, so that the pooled ratio need not hold for
	// any of them.
	Differs    bool              `json:"differs,omitempty"`
	Candidates []CandidateEffect `json:"candidates"`
}

// CandidateEffect is what a level does to one candidate.
type CandidateEffect struct {
	Candidate string   `json:"candidate"`
	Absent    string   `json:"absent,omitempty"`
	Ratio     Interval `json:"ratio"`
	Outcome   string   `json:"outcome,omitempty"`
}

// Outcomes of an effect.
const (
	LessThanReference = "less"        // of time: faster
	MoreThanReference = "more"        // of time: slower
	NoEffect          = "no effect"   // shown to be within the margin
	EffectOpen        = "not settled" // neither
)

var effectOutcomes = map[stats.Outcome]string{
	stats.Lower: LessThanReference, stats.Higher: MoreThanReference, stats.Tied: NoEffect, stats.Open: EffectOpen,
}

// effects returns those of every factor of the plan on every column.
func (f *figures) effects() ([]Factor, error) {
	var out []Factor
	for _, factor := range f.plan.Factors {
		if factor.Apart() {
			continue
		}
		one := Factor{Name: factor.Name, Reference: factor.Reference}
		for _, level := range factor.Levels {
			one.Levels = append(one.Levels, Level{Name: level.Name})
		}
		for _, def := range f.study.Columns {
			effects, err := f.effectsOn(factor, def, nil)
			if err != nil {
				return nil, fmt.Errorf("%s, column %s: %w", factor.Name, def.Key, err)
			}
			for i := range effects {
				one.Levels[i].Effects = append(one.Levels[i].Effects, effects[i])
			}
		}
		out = append(out, one)
	}
	return out, nil
}

// effectsOn returns the effects of a factor's levels on one column, over the
// candidates for which it is varied, restricted to only if that is not empty.
func (f *figures) effectsOn(factor scenario.Factor, def study.Column, only []string) ([]Effect, error) {
	e := f.experiment(factor, def, only)
	out := make([]Effect, len(factor.Levels))
	for l := range out {
		out[l] = Effect{Column: def.Key, Name: def.Name, Unit: def.Unit, Absent: "no candidate has figures with and without it"}
	}
	if len(e.cells) == 0 {
		for l := range out {
			if why := e.why(l + 1); why != "" {
				out[l].Absent = why
			}
		}
		return out, nil
	}
	all, err := stats.Effects(e.cells, f.margin)
	if err != nil {
		return nil, err
	}
	for _, p := range all.Pooled {
		one := &out[p.Level-1]
		one.Ratio, one.Outcome, one.Absent = effectRatio(p)
		one.Differs = all.Differs && one.Absent == ""
		if why := e.why(p.Level); one.Absent != "" && why != "" {
			one.Absent = why
		}
	}
	for _, own := range all.Own {
		c := CandidateEffect{Candidate: e.names[own.Candidate]}
		c.Ratio, c.Outcome, c.Absent = effectRatio(own)
		if why := e.absent[own.Candidate][own.Level-1]; why != "" {
			c.Absent, c.Outcome = why, ""
		}
		out[own.Level-1].Candidates = append(out[own.Level-1].Candidates, c)
	}
	for l := range out {
		out[l].Differs = out[l].Differs && slices.ContainsFunc(out[l].Candidates, func(c CandidateEffect) bool { return c.Absent == "" && c.Outcome != NoEffect })
	}
	return out, nil
}

// experiment is a factor's figures in one column. absent gives the reasons for
// missing figures, by candidate and level.
type experiment struct {
	names  []string
	cells  []stats.Cell
	absent [][]string
}

// why there are no figures at a level: the reason of the first candidate that
// has one.
func (e experiment) why(level int) string {
	for _, absent := range e.absent {
		if absent[level-1] != "" {
			return absent[level-1]
		}
	}
	return ""
}

func (f *figures) experiment(factor scenario.Factor, def study.Column, only []string) experiment {
	var e experiment
	for _, s := range f.subjects {
		if !varied(factor, s) || len(only) > 0 && !slices.Contains(only, s.Name) {
			continue
		}
		reference, why := s.perUnit(def)
		absent := make([]string, len(factor.Levels))
		var cells []stats.Cell
		at := len(e.names)
		for r, v := range reference {
			cells = append(cells, stats.Cell{Candidate: at, Round: r, Value: v})
		}
		for l, level := range factor.Levels {
			if why != "" {
				absent[l] = why
				continue
			}
			one := f.known(s.Name, level.Name)
			if one == nil {
				absent[l] = "no trial of it"
				continue
			}
			sample, lacks := one.perUnit(def)
			absent[l] = lacks
			for r, v := range sample {
				cells = append(cells, stats.Cell{Candidate: at, Level: l + 1, Round: r, Value: v})
			}
		}
		e.names, e.absent = append(e.names, s.Name), append(e.absent, absent)
		if len(cells) > len(reference) { // some level has figures
			e.cells = append(e.cells, cells...)
		}
	}
	return e
}

// perUnit is a column's sample per byte, file or operation where the study has
// a rate for it, since a level may do less of the same work.
func (s *subject) perUnit(def study.Column) (stats.Sample, string) {
	sample, why := s.quiet(def, s.sample)
	if why != "" || def.Per == "" {
		return sample, why
	}
	amount, why := s.amount(def, rateBase(def.Per))
	if why != "" {
		return nil, why
	}
	for r := range sample {
		sample[r] /= amount
	}
	return sample, ""
}

// effectRatio is the ratio of an effect with its simultaneous limits.
func effectRatio(e stats.Effect) (Interval, string, string) {
	if e.Reason != "" {
		return Interval{}, "", e.Reason
	}
	r := Interval{Value: e.Ratio, Low: e.SimLow, High: e.SimHigh, N: e.N}
	if math.IsInf(r.High, 1) || r.Low <= 0 {
		r.Low, r.High, r.Single = r.Value, r.Value, true
	}
	return r, effectOutcomes[e.Outcome], ""
}
