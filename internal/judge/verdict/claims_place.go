package verdict

import (
	"fmt"
	"strings"

	"whichfs/internal/judge/stats"
	"whichfs/internal/plan/study"
	"whichfs/internal/sys/units"
)

// checkPlace agrees if every place that the candidate may have is a claimed one,
// and disagrees if none is, or if all candidates are equal within the margin and
// the claim excludes that.
func (f *figures) checkPlace(out *Claim, k study.PlaceCheck) error {
	c, err := f.together(out, k.Keys, k.Candidate, k.Among)
	if c == nil || err != nil {
		return err
	}
	if !c.has(k.Candidate) {
		out.Figures = "no round has all the figures of " + k.Candidate
		return nil
	}
	better, worse, equal, others := 0, 0, 0, 0
	var open, missing []string
	for _, n := range k.Among {
		switch {
		case n == k.Candidate:
			continue
		case !c.has(n):
			missing = append(missing, n)
			continue
		}
		others++
		switch c.pair(k.Candidate, n).Outcome {
		case stats.Higher:
			better++
		case stats.Lower:
			worse++
		case stats.Tied:
			equal++
		default:
			open = append(open, n)
		}
	}
	if others == 0 {
		out.Figures = "this run has nothing to compare " + k.Candidate + " with"
		return nil
	}
	low, high := 1+better, 1+better+len(open)+len(missing)
	switch {
	case equal == others && len(missing) == 0 && !k.Shared:
		out.Result = Disagrees
	case low >= k.From && high <= k.To && (equal < others || k.Shared):
		out.Result = Agrees
	case high < k.From || low > k.To:
		out.Result = Disagrees
	default:
		out.Result = Undecided
	}
	place := fmt.Sprintf("%d", low)
	if high > low {
		place += fmt.Sprintf(" to %d", high)
	}
	out.Figures = fmt.Sprintf("%s has place %s of %d in %s (better: %d, equal within %s: %d, worse: %d)",
		k.Candidate, place, 1+others+len(missing), strings.Join(f.titles(k.Keys), ", "), better, units.Share(f.margin), equal, worse)
	if len(open) > 0 {
		out.Figures += "; not settled against " + units.List(open, 3) + ", " + f.whenSettled(c, k.Candidate, open)
	}
	if len(missing) > 0 {
		out.Figures += "; without a figure: " + units.List(missing, 3)
	}
	return nil
}

// together is the product of columns over the candidates of a claim; nil, and the
// claim says so, if its own has no figure in one of them, or one has no ratios.
func (f *figures) together(out *Claim, keys []string, candidate string, among []string) (*column, error) {
	var columns []*column
	for _, key := range keys {
		c := f.columns[key]
		if c == nil || !c.has(candidate) {
			out.Figures = f.lacking(c, candidate)
			return nil, nil
		}
		if c.additive {
			out.Figures = lowered(c.def.Name) + ": " + noRatios
			return nil, nil
		}
		columns = append(columns, c)
	}
	product := f.product(columns, among)
	return product, product.compute(f.margin)
}

// titles are the names of columns as a sentence has them.
func (f *figures) titles(keys []string) []string {
	var out []string
	for _, key := range keys {
		c, _ := f.study.Column(key)
		out = append(out, lowered(c.Name))
	}
	return out
}
