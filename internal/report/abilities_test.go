package report

import (
	"strings"
	"testing"

	"whichfs/internal/filesystem"
	"whichfs/internal/judge/verdict"
	"whichfs/internal/result"
)

// The table has a row for each candidate and a column for each ability that was tried, and says why
// one is missing.
func TestAbilitiesSection(t *testing.T) {
	figure := func(absent string) map[string]verdict.Figure {
		return map[string]verdict.Figure{result.Able: {Absent: absent, Estimate: verdict.Interval{Value: 1}}}
	}
	v := verdict.Verdict{
		Candidates: []verdict.Candidate{{Name: "ext4"}, {Name: "xfs"}, {Name: "nilfs2"}},
		Phases: []verdict.Phase{
			{Name: string(filesystem.GrowOnline), Rows: []verdict.PhaseCost{{Candidate: "ext4", Figures: figure("")}, {Candidate: "xfs", Figures: figure("")}}},
			{Name: string(filesystem.Snapshot), Rows: []verdict.PhaseCost{{Candidate: "ext4", Figures: figure("it has no such tool")}, {Candidate: "xfs", Figures: figure("the files are no longer the same")}}},
			{Name: "mkfs", Rows: []verdict.PhaseCost{{Candidate: "ext4", Figures: map[string]verdict.Figure{result.Wall: {}}}}},
		},
		Trials: verdict.Trials{Done: 2, Planned: 2},
	}
	var out strings.Builder
	if err := Text(&out, v, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"nothing is ranked", "What can be done to each filesystem", "grow-online", "snapshot", "it has no such tool",
		"the files are no longer the same", "not tried", "grows while it is mounted. Shown if its size by statfs is larger",
	} {
		if !strings.Contains(strings.Join(strings.Fields(out.String()), " "), want) {
			t.Errorf("%q is missing in:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), nothingCompared) {
		t.Error("a run of abilities is said to compare nothing")
	}
	v.Phases = v.Phases[2:]
	if s := abilitiesSection(v); len(s.Body) > 0 {
		t.Errorf("a run without them has a section: %+v", s)
	}
}
