package verdict

import (
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
)

// distortion explains what an emulated processor does to a claim about
// compressors.
const distortion = "; the processor is emulated, which distorts the speeds of compressors relative to each other by up to five times: only hardware can decide this"

// distorted reports whether a claim is about times, measured on an emulated
// processor, of candidates that do not all compress alike; such figures decide
// nothing. Counts of instructions are not distorted, and a trend over storages
// stays the same when every ratio is off by the same factor.
func (f *figures) distorted(c study.Claim) bool {
	if !f.run.Emulated || f.run.ClockName() == result.ClockInstructions {
		return false
	}
	key, names := "", []string(nil)
	switch k := c.Check.(type) {
	case study.BestCheck:
		// Without Among the claim is about filesystems made with their defaults.
		key, names = k.Column, append([]string{k.Candidate}, k.Among...)
	case study.RatioCheck:
		key, names = k.Column, append([]string{k.A}, k.B...)
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
	return known && column.Unit == "s" && !alike(names)
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
