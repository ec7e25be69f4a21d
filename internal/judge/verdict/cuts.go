package verdict

import (
	"cmp"
	"slices"

	"whichfs/internal/result"
)

// Cuts shows what became of the candidates when the power was cut during
// writes: all cuts of all trials together.
type Cuts struct {
	// Rows are ordered by what was lost, least first, then by the mount after a
	// cut, fastest first.
	Rows  []CutRow `json:"rows"`
	About string   `json:"about"`
}

// CutRow is one candidate's. Files are sums over all cuts.
type CutRow struct {
	Candidate string  `json:"candidate"`
	Cuts      float64 `json:"cuts"`
	Mounted   float64 `json:"mounted"`    // after which it mounted
	WithLoss  float64 `json:"with_loss"`  // after which something was not as promised
	Unfinish  float64 `json:"unfinished"` // that left traces of work in flight
	Promises  float64 `json:"promises"`   // operations that the filesystem promised to keep
	Whole     float64 `json:"files_whole"`
	// Lost counts promised files that are missing, wrong or unreadable, and
	// removed names that are back.
	Lost float64 `json:"files_lost"`
	// Mount after a cut: its mean over all cuts and the longest, in seconds,
	// without UBI's attach.
	Mount        Figure `json:"mount"`
	MountLongest Figure `json:"mount_longest"`
}

const aboutCuts = "Each cut kills a guest at a random instant while files are written, synced, replaced by renaming and removed; all data that was not durable is lost. " +
	"Another guest then mounts the rest. Promises are operations whose fsync had returned. The mount time excludes UBI's attach. " +
	"Data that was not synced may be lost, and is not counted. " +
	"A cut in the middle of a merge makes some cards lose a whole segment (power.merge_loses of their models), whatever the filesystem: notes and cuts.merges say when that happened."

// cuts collects the results of the power cuts; nil where there were none.
func (f *figures) cuts() *Cuts {
	c := &Cuts{About: aboutCuts}
	for _, s := range f.subjects {
		sum := func(metrics ...string) float64 {
			total := 0.0
			for _, m := range metrics {
				if x := s.figures[key{result.CutPhase, m}]; x != nil {
					for _, v := range x.values {
						total += v
					}
				}
			}
			return total
		}
		r := CutRow{
			Candidate: s.Name, Cuts: sum(result.CutsDone), Mounted: sum(result.CutsMounted), WithLoss: sum(result.CutsWithLoss),
			Unfinish: sum(result.CutsUnfinished), Promises: sum(result.CutsOps), Whole: sum(result.FilesWhole),
			Lost:  sum(result.FilesLost...),
			Mount: s.cutTime(result.CutsMount, false), MountLongest: s.cutTime(result.CutsMountMost, true),
		}
		if r.Cuts > 0 {
			c.Rows = append(c.Rows, r)
		}
	}
	if len(c.Rows) == 0 {
		return nil
	}
	slices.SortStableFunc(c.Rows, func(a, b CutRow) int {
		return cmp.Or(cmp.Compare(a.WithLoss/a.Cuts, b.WithLoss/b.Cuts), cmp.Compare(a.Mount.Estimate.Value, b.Mount.Estimate.Value))
	})
	return c
}

// cutTime is a time after cuts: the mean over the trials, or the longest.
func (s *subject) cutTime(metric string, longest bool) Figure {
	x := s.figures[key{result.CutPhase, metric}]
	switch {
	case x == nil:
		return Figure{Unit: "s", Absent: "it was not measured"}
	case len(x.values) == 0:
		return Figure{Unit: "s", Absent: x.absent}
	case longest:
		return Figure{Unit: "s", Estimate: Interval{Value: slices.Max(x.values)}}
	}
	return Figure{Unit: "s", Estimate: Interval{Value: x.mean()}}
}
