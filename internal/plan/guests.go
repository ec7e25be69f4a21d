package plan

import (
	"errors"
	"fmt"
	"slices"

	"whichfs/internal/plan/media"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/sys/units"
)

// MaxCPUs is more than any guest can have.
const MaxCPUs = 256

// OnCPUs makes the plan run on guests with these numbers of processors: the first is that of all trials,
// and every candidate has one more trial with each of the others, as the levels of a factor.
func (p *Plan) OnCPUs(numbers []int) {
	if len(numbers) == 0 {
		return
	}
	p.CPUs = numbers[0]
	if len(numbers) == 1 {
		return
	}
	f := scenario.Factor{Name: "processors of the guest", Reference: cpus(p.CPUs)}
	for _, n := range numbers[1:] {
		f.Levels = append(f.Levels, scenario.Variant{Name: cpus(n), CPUs: n})
	}
	p.Factors = append(p.Factors, f)
}

func cpus(n int) string { return units.Count(n, "processor") }

// OnMemory makes the plan run on guests with these amounts of memory, in bytes, likewise.
func (p *Plan) OnMemory(sizes []int64) {
	if len(sizes) == 0 {
		return
	}
	p.Memory = sizes[0]
	if len(sizes) == 1 {
		return
	}
	f := scenario.Factor{Name: "memory of the guest", Reference: memory(p.Memory)}
	for _, n := range sizes[1:] {
		f.Levels = append(f.Levels, scenario.Variant{Name: memory(n), Memory: n})
	}
	p.Factors = append(p.Factors, f)
}

func memory(n int64) string { return "memory " + media.FormatSize(n) }

// Guests are the levels with a guest of their own.
func (p Plan) Guests() (levels []scenario.Variant) {
	for _, f := range p.Factors {
		for _, v := range f.Levels {
			if v.Guest() != (scenario.Guest{}) {
				levels = append(levels, v)
			}
		}
	}
	return levels
}

// checkCPUs: only where real time passes do processors work at the same time.
func (p Plan) checkCPUs() error {
	seen := []int{max(1, p.CPUs)}
	for _, v := range append(p.Guests(), scenario.Variant{CPUs: p.CPUs}) {
		if v.CPUs < 0 || v.CPUs > MaxCPUs {
			return fmt.Errorf("processors of a guest must be from 1 to %d, not %d", MaxCPUs, v.CPUs)
		}
		if v.CPUs > 1 && (p.Repeats() || p.Processor != nil) {
			return errors.New("only guests with the clock wall and their own processors can have more than one")
		}
	}
	for _, v := range p.Guests() {
		if v.CPUs != 0 && slices.Contains(seen, v.CPUs) {
			return fmt.Errorf("%s: the number appears twice", cpus(v.CPUs))
		}
		seen = append(seen, v.CPUs)
	}
	return nil
}

// checkMemory: instruction counts do not depend on a cache's size.
func (p Plan) checkMemory() error {
	seen := []int64{}
	for _, v := range append([]scenario.Variant{{Memory: p.Memory}}, p.Guests()...) {
		switch {
		case v.Memory == 0:
			continue
		case v.Memory < 0:
			return fmt.Errorf("memory must be a number of bytes, not %d", v.Memory)
		case slices.Contains(seen, v.Memory):
			return fmt.Errorf("%s appears twice", memory(v.Memory))
		case p.Instructions() && len(seen) > 0:
			return errors.New("instruction counts do not depend on the memory of a guest")
		}
		seen = append(seen, v.Memory)
	}
	return nil
}
