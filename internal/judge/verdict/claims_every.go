package verdict

import (
	"slices"
	"strings"

	"whichfs/internal/plan/study"
)

// checkEvery agrees if every one of the checks does, and disagrees if any does.
// One that cannot be tested leaves a claim undecided unless another disagrees.
func (f *figures) checkEvery(out *Claim, c study.Claim, k study.EveryCheck) error {
	var results, texts []string
	for _, one := range k {
		c.Check = one
		part, err := f.claim(c)
		if err != nil {
			return err
		}
		if results = append(results, part.Result); !slices.Contains(texts, part.Figures) {
			texts = append(texts, part.Figures)
		}
	}
	out.Figures = strings.Join(texts, "; ")
	tested := func(r string) bool { return r != NotTested }
	switch {
	case !slices.ContainsFunc(results, tested):
		return nil
	case !slices.Contains(results, Disagrees) && slices.Contains(results, NotTested):
		out.Result = Undecided
	default:
		out.Result = allOf(results)
	}
	return nil
}
