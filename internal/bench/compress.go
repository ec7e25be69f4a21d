package bench

import (
	"context"
	"fmt"
	"io"
	"math"
	"text/tabwriter"

	"whichfs/internal/filesystem"
	"whichfs/internal/host/lab"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
	"whichfs/internal/wire"
)

// The compression of our trees by btrfs is compared with published figures of similar trees, to
// show how representative ours are. Nothing is timed.

// compressionStudy has the published figures, and compressionLimit is how far ours may differ from
// them, in percentage points.
const (
	compressionStudy = "devbuild-gist"
	compressionLimit = 3.0
)

// compression copies each tree of the quick run to a fresh filesystem of each candidate with
// published figures, in a guest, and reads the compression.
func compression(ctx context.Context, c Config, out io.Writer) error {
	if err := lab.Missing(lab.Native()); err != nil {
		return unavailable("%v", err)
	}
	p, err := labFor(ctx, c, compressionStudy)
	if err != nil {
		return err
	}
	p.spec.Storage = "sim:free,1G"
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "tree\tcandidate\tours\tpublished\tdifference\tlimit\t")
	ours := map[string]map[string]result.Measurement{} // candidate → phase → ratio
	for _, d := range p.scale.Data {
		for _, row := range publishedRatios(p.study, d.Name) {
			if ours[row.Candidate] == nil {
				if ours[row.Candidate], err = p.ratios(ctx, row.Candidate); err != nil {
					return err
				}
			}
			m, ok := ours[row.Candidate][d.Name]
			switch {
			case !ok:
				m.Absent = "the trial has no figure"
				fallthrough
			case m.Absent != "":
				fmt.Fprintf(table, "%s\t%s\t%s\t%.0f %%\t\t\t\n", d.Name, row.Candidate, m.Absent, row.Value)
			default:
				points := 100*m.Value - row.Value
				fmt.Fprintf(table, "%s\t%s\t%.1f %%\t%.0f %%\t%+.1f points\tat most %.0f\t%s\n", d.Name, row.Candidate,
					100*m.Value, row.Value, points, compressionLimit, holds(math.Abs(points) <= compressionLimit))
			}
		}
	}
	return table.Flush()
}

// publishedRatios are the published percentages of a tree.
func publishedRatios(st study.Study, tree string) []study.Published {
	for _, n := range st.Numbers {
		if n.Column == tree+"-ratio" && n.Unit == "%" {
			return n.Cells
		}
	}
	return nil
}

// ratios runs a trial that copies every tree and reads how it was compressed; the results are keyed
// by the trees' names.
func (p *place) ratios(ctx context.Context, candidate string) (map[string]result.Measurement, error) {
	s := scenario.Scenario{{Work: "mkfs"}, {Work: "mount"}}
	for _, d := range p.scale.Data {
		s = append(s, scenario.Scenario{
			{Work: "tree-preserve", Data: d.Name, Dir: d.Name},
			{Work: "compression", Phase: d.Name, Data: d.Name, Dir: d.Name},
		}...)
	}
	done, figures, err := p.trial(ctx, wire.Trial{Candidate: filesystem.Kept(candidate), Scenario: s, StepLimit: p.scale.StepLimit})
	switch {
	case err != nil:
		return nil, fmt.Errorf("trial of %s: %w", candidate, err)
	case done.Outcome != result.Done:
		return nil, fmt.Errorf("trial of %s ended in phase %s: %s", candidate, done.Phase, done.Reason)
	}
	out := map[string]result.Measurement{}
	for _, m := range figures {
		if m.Metric == result.CompressRatio {
			out[m.Phase] = m
		}
	}
	return out, nil
}
