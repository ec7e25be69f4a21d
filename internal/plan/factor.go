package plan

import (
	"fmt"
	"slices"

	"whichfs/internal/filesystem"
	"whichfs/internal/plan/scenario"
)

// varied returns the candidates for which a factor is varied, in plan order.
func (p Plan) varied(f scenario.Factor) []filesystem.Candidate {
	var out []filesystem.Candidate
	for _, c := range p.Candidates {
		if len(f.Candidates) > 0 && !slices.Contains(f.Candidates, c.String()) {
			continue
		}
		if c.Imaged() && !f.Below() {
			continue
		}
		out = append(out, c)
	}
	return out
}

// Variant finds a level of a factor by its name; "" is the reference.
func (p Plan) Variant(name string) (scenario.Variant, bool) {
	if name == "" {
		return scenario.Variant{}, true
	}
	for _, f := range p.Factors {
		for _, level := range f.Levels {
			if level.Name == name {
				return level, true
			}
		}
	}
	return scenario.Variant{}, false
}

// checkFactors: figures are stored under the name of the variant, so no two
// levels may share one, and each must result in a valid candidate.
func (p Plan) checkFactors() error {
	seen := map[string]bool{}
	for _, f := range p.Factors {
		if f.Name == "" || len(f.Levels) == 0 {
			return fmt.Errorf("factor %q has no name or no levels", f.Name)
		}
		for _, level := range f.Levels {
			if level.Name == "" || seen[level.Name] {
				return fmt.Errorf("factor %s: level %q has no name or appears twice", f.Name, level.Name)
			}
			seen[level.Name] = true
			if level.Part != nil && (level.Part.Start < 0 || level.Part.Start >= 1 || level.Part.Length < 0 ||
				level.Part.Length > 1 || level.Part.Shift < 0 || level.Part.Shift%512 != 0) {
				return fmt.Errorf("factor %s, level %s: %+v is not a part of any storage", f.Name, level.Name, *level.Part)
			}
			for _, c := range p.varied(f) {
				if _, err := c.With(level.Make, level.Mount); err != nil {
					return fmt.Errorf("factor %s, level %s: %w", f.Name, level.Name, err)
				}
			}
		}
	}
	return nil
}
