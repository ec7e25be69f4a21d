package plan

import (
	"fmt"
	"slices"

	"whichfs/internal/plan/scenario"
)

// OnKernels makes the plan run on guests' kernels of these versions, such as "6.12": the first is that of all trials, and
// every candidate has one more trial on each of the others, as the levels of a factor.
func (p *Plan) OnKernels(versions []string) {
	if len(versions) == 0 {
		return
	}
	p.Kernel = versions[0]
	if len(versions) == 1 {
		return
	}
	f := scenario.Factor{Name: "kernel", Reference: linux(p.Kernel)}
	for _, s := range versions[1:] {
		f.Levels = append(f.Levels, scenario.Variant{Name: linux(s), Kernel: s})
	}
	p.Factors = append(p.Factors, f)
}

func linux(version string) string { return "Linux " + version }

// checkKernels: instructions are counted only on the lab's own kernel.
func (p Plan) checkKernels() error {
	seen := []string{p.Kernel}
	for _, v := range p.Guests() {
		if v.Kernel == "" {
			continue
		}
		if slices.Contains(seen, v.Kernel) {
			return fmt.Errorf("kernel %s appears twice", v.Kernel)
		}
		seen = append(seen, v.Kernel)
	}
	if (p.Kernel != "" || len(seen) > 1) && p.Instructions() {
		return fmt.Errorf("guests whose clock counts instructions have only the lab's own kernel")
	}
	return nil
}
