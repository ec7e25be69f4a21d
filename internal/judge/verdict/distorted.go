package verdict

import (
	"fmt"
	"slices"
	"strconv"

	"whichfs/internal/plan/study"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
)

// What the processor of a machine does to a claim about compressors, and to one
// about a time in seconds.
const (
	emulatedDistortion = "; the processor is emulated, which distorts the speeds of compressors relative to each other by up to five times: only hardware can decide this"
	freeDistortion     = "; the processor takes no time on this clock, and compressing is its work: --cpu, --clock wall or hardware can decide this"
	emulatedTime       = "; the processor is emulated, and its times do not transfer to hardware: only hardware can decide this"
	freeTime           = "; the processor takes no time on this clock: --cpu or hardware can decide this"
)

// distortion explains why a claim about times cannot be decided because of the
// processor, an emulated one or one that takes no time: the candidates do not
// all compress alike; or one that compresses is compared with itself at other
// work, of which compressing is another share; or the claim names seconds. It
// is empty for others. Counts of instructions are not distorted; nor is the
// growth of one candidate's same work along an axis.
func (f *figures) distortion(c study.Claim) string {
	why, seconds := "", ""
	switch {
	case f.run.Virtual() && f.run.Processor == "":
		why, seconds = freeDistortion, freeTime
	case f.run.Emulated && f.run.ClockName() != result.ClockInstructions:
		why, seconds = emulatedDistortion, emulatedTime
	default:
		return ""
	}
	if _, value := c.Check.(study.ValueCheck); value && f.timed(c) {
		return seconds
	}
	if f.compressors(c) {
		return why
	}
	return ""
}

// fewerProcessors says that what compresses had fewer processors than in the study; it is empty if it had
// not, or if either number is unknown.
func (f *figures) fewerProcessors() string {
	had := 0
	for _, c := range f.run.Conditions {
		if c.Group == "machine" && c.Name == "processors" {
			had, _ = strconv.Atoi(c.Value)
		}
	}
	if had < 1 || had >= f.study.Processors {
		return ""
	}
	return fmt.Sprintf("; compressing had %s here and %d in the study", units.Count(had, "processor"), f.study.Processors)
}

// timed reports whether a claim is about times.
func (f *figures) timed(c study.Claim) bool {
	keys, _ := f.compared(c)
	return slices.ContainsFunc(keys, func(key string) bool {
		column, known := f.study.Column(key)
		return known && column.Unit == "s"
	})
}

// compressors reports whether a claim is about times of candidates, or of a candidate's kinds of work,
// that do not all compress alike.
func (f *figures) compressors(c study.Claim) bool {
	_, names := f.compared(c)
	return len(names) > 0 && !alike(names) && f.timed(c)
}

// compared are the columns of a claim and the candidates that it compares, "" for one that compresses
// nothing; no candidates: it compares none.
func (f *figures) compared(c study.Claim) (keys, names []string) {
	if c.Check == nil {
		return nil, nil
	}
	keys = c.Check.Columns()
	switch k := c.Check.(type) {
	case study.BestCheck:
		rivals, _ := f.rivals(k)
		names = append(rivals, k.Candidate)
	case study.RatioCheck:
		names = append([]string{k.A}, k.B...)
	case study.OrderCheck:
		names, _ = f.order(k.Column, k.Measured())
	case study.TrendCheck:
		names = []string{k.A, k.B}
	case study.LevelsCheck:
		names = []string{k.A, k.B}
	case study.PlaceCheck:
		names = k.Among
	case study.SeveralCheck:
		names = []string{k.A, k.B}
	case study.ChoiceCheck:
		names = k.Among
	case study.SpreadCheck:
		names = f.named(k.Candidates)
	case study.EffectCheck:
		names = f.changed(k)
	case study.ColumnsCheck:
		names = append(f.named(k.Candidates), "") // nothing compresses in "", as in other work
	case study.NumbersCheck:
		for _, t := range f.study.Numbers {
			if t.Key == k.Table {
				keys = []string{t.Column}
				for _, cell := range t.Cells {
					names = append(names, cell.Candidate)
				}
			}
		}
	}
	return keys, names
}

// beatenByAlike reports whether a claim that a candidate is best, or worst, is
// refuted by others that compress as it does: no processor changes that.
func (f *figures) beatenByAlike(found string, c study.Claim) bool {
	k, best := c.Check.(study.BestCheck)
	if !best || found != Disagrees {
		return false
	}
	rivals, _ := f.rivals(k)
	k.Among = slices.DeleteFunc(rivals, func(n string) bool { return !alike([]string{k.Candidate, n}) })
	again := Claim{}
	return len(k.Among) > 0 && f.checkBest(&again, k) == nil && again.Result == Disagrees
}

// changed is a candidate of a claim about a factor's level without and with
// the level, where that changes how it compresses; nil where none does.
func (f *figures) changed(k study.EffectCheck) []string {
	factor, level := f.levelOf(k.Variant)
	for _, s := range f.subjects {
		if level < 0 || !varied(factor, s) || len(k.Candidates) > 0 && !slices.Contains(k.Candidates, s.Name) {
			continue
		}
		with, err := s.Parsed.With(factor.Levels[level].Make, factor.Levels[level].Mount)
		if both := []string{s.Name, with.String()}; err == nil && !alike(both) {
			return both
		}
	}
	return nil
}

// named are the candidates of a claim; empty: all of the run.
func (f *figures) named(names []string) []string {
	if len(names) == 0 {
		return slices.Clone(f.run.Candidates)
	}
	return slices.Clone(names)
}

// alike reports whether all candidates compress by the same method, or none
// does.
func alike(names []string) bool {
	method := func(name string) string {
		c := newSubject(name, "").Parsed
		if c.Err() != nil {
			return ""
		}
		if p := c.Properties().Compression; p.Has {
			return p.Why
		}
		return ""
	}
	for _, n := range names {
		if method(n) != method(names[0]) {
			return false
		}
	}
	return true
}
