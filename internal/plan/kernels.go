package plan

import (
	"fmt"
	"slices"

	"whichfs/internal/plan/scenario"
)

// OnKernels makes the plan run on guests' kernels of these series: the first is that of all trials, and
// every candidate has one more trial on each of the others, as the levels of a factor.
func (p *Plan) OnKernels(series []string) {
	if len(series) == 0 {
		return
	}
	p.Kernel = series[0]
	if len(series) == 1 {
		return
	}
	f := scenario.Factor{Name: "kernel", Reference: linux(p.Kernel)}
	for _, s := range series[1:] {
		f.Levels = append(f.Levels, scenario.Variant{Name: linux(s), Kernel: s})
	}
	p.Factors = append(p.Factors, f)
}

func linux(series string) string { return "Linux " + series }

// checkKernels: with other clocks than the virtual one a guest, and with it its kernel, serves more than
// one trial.
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
	if (p.Kernel != "" || len(seen) > 1) && !p.Virtual() {
		return fmt.Errorf("only guests with the virtual clock have a choice of kernels")
	}
	return nil
}
