package verdict

import (
	"fmt"
	"math"

	"whichfs/internal/plan/study"
	"whichfs/internal/sys/units"
)

// sameSpace is how far free space may be from the published and count as the
// same: it is published with two digits.
const sameSpace = 0.10

// checkSmallest compares the smallest storage then and now. The published size
// is in whole MiB or KiB, so that ours is rounded up to that. Free space and
// inodes belong to a size, and only decide where the size is the same.
func (f *figures) checkSmallest(out *Claim, k study.SmallestCheck) {
	size := f.columns[study.SmallestKey]
	if size == nil || !size.has(k.Candidate) {
		out.Figures = f.lacking(size, k.Candidate)
		return
	}
	unit := int64(1 << 20)
	if k.Size%unit != 0 {
		unit = 1 << 10
	}
	now := math.Round(size.value(k.Candidate).Value) // a mean of logarithms is not exact
	rounded := int64(math.Ceil(now/float64(unit))) * unit
	out.Figures = fmt.Sprintf("%s: %s then, %s now", k.Candidate, units.Size(k.Size), units.Size(rounded))
	same := rounded == k.Size
	results := []string{decided(same)}
	also := func(key, what string, then float64, show func(float64) string, tolerance float64) {
		c := f.columns[key]
		switch {
		case then == 0:
		case c == nil || !c.has(k.Candidate):
			out.Figures += fmt.Sprintf("; %s %s then", what, show(then))
			results = append(results, Undecided)
		default:
			v := c.value(k.Candidate).Value
			out.Figures += fmt.Sprintf("; %s %s then, %s now", what, show(then), show(v))
			if same {
				results = append(results, decided(math.Abs(v/then-1) <= tolerance))
			}
		}
	}
	also(study.SmallestFreeKey, "free on it:", k.Free, func(v float64) string { return units.Value(v, "B") }, sameSpace)
	also(study.SmallestInodesKey, "inodes on it:", float64(k.Inodes), func(v float64) string { return fmt.Sprintf("%.0f", v) }, 0)
	out.Result = allOf(results)
}

func decided(holds bool) string {
	if holds {
		return Agrees
	}
	return Disagrees
}
