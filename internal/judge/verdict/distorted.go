package verdict

import (
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
)

// What the processor of a machine does to a claim about compressors.
const (
	emulatedDistortion = "; the processor is emulated, which distorts the speeds of compressors relative to each other by up to five times: only hardware can decide this"
	freeDistortion     = "; the processor takes no time on this clock, and compressing is its work: --cpu, --clock wall or hardware can decide this"
)

// distortion explains why a claim cannot be decided that is about times of
// candidates that do not all compress alike: the processor was an emulated one,
// or took no time at all. It is empty for others. Counts of instructions are not
// distorted, and a trend over storages stays the same when every ratio is off by
// the same factor.
func (f *figures) distortion(c study.Claim) string {
	why := ""
	switch {
	case f.run.Virtual() && f.run.Processor == "":
		why = freeDistortion
	case f.run.Emulated && f.run.ClockName() != result.ClockInstructions:
		why = emulatedDistortion
	default:
		return ""
	}
	key, names := "", []string(nil)
	switch k := c.Check.(type) {
	case study.BestCheck:
		// Without Among the claim is about filesystems made with their defaults.
		key, names = k.Column, append([]string{k.Candidate}, k.Among...)
	case study.RatioCheck:
		key, names = k.Column, append([]string{k.A}, k.B...)
	case study.ChoiceCheck:
		key, names = k.Of[0], k.Among
	case study.NumbersCheck:
		for _, t := range f.study.Numbers {
			if t.Key == k.Table {
				key = t.Column
				for _, cell := range t.Cells {
					names = append(names, cell.Candidate)
				}
			}
		}
	}
	column, known := f.study.Column(key)
	if known && column.Unit == "s" && !alike(names) {
		return why
	}
	return ""
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
