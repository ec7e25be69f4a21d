package plan

import (
	"errors"
	"fmt"
	"slices"

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
