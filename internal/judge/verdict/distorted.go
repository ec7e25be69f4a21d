package verdict

import (
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
)

// distortion is what an emulated processor does to a claim about compressors.
const distortion = "; the processor is emulated, which distorts compressors against each other by up to five times: only hardware decides this"

// distorted says whether a claim is about times of candidates that do not all
// compress alike, measured by an emulated processor: whatever the figures show
// decides nothing then. Instructions are counted, and not distorted; a trend
// over storages is the same with every ratio off by the same factor.
func (f *figures) distorted(c study.Claim) bool {
	if !f.run.Emulated || f.run.ClockName() == result.ClockInstructions {
		return false
	}
	key, names := "", []string(nil)
	switch k := c.Check.(type) {
	case study.BestCheck:
		// Without Among it is about filesystems as they are made by default.
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

// alike says whether all candidates compress by the same method, or none does.
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
