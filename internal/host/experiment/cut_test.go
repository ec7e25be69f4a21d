package experiment

import (
	"strings"
	"testing"

	"whichfs/internal/host/machine/fake"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
)

// The power is cut after the trials of the reference, and only then. A filesystem's loss is a
// finding beside the trial's figures, an impossible cut is a note, and a failing machine is tried
// once more.
func TestCuts(t *testing.T) {
	script := fake.Script{Faults: []fake.Fault{
		{Candidate: "xfs", Phase: result.CutPhase, Kind: fake.Subject},
		{Candidate: "f2fs", Phase: result.CutPhase, Kind: fake.Die, Times: 1},
	}}
	e, st, _ := setUp(t, script, "ext4", "xfs", "erofs", "f2fs")
	e.Plan.Cuts, e.Plan.Rounds, e.Evidence = 3, 1, "/evidence"
	e.Plan.Factors = []scenario.Factor{{Name: "mount options", Reference: "defaults", Levels: []scenario.Variant{{Name: "noatime", Mount: []string{"noatime"}}}}}
	if err := e.Carry(t.Context()); err != nil {
		t.Fatal(err)
	}
	trials, err := st.Trials("r")
	if err != nil {
		t.Fatal(err)
	}
	failed := 0
	for _, x := range trials {
		cuts, lost, notes := -1.0, 0.0, ""
		for _, m := range x.Measurements {
			switch {
			case m.Phase != result.CutPhase:
			case m.Metric == result.CutsDone:
				cuts = m.Value
			case m.Metric == result.CutsWithLoss:
				lost = m.Value
			}
		}
		for _, n := range x.Notes {
			notes += n.Text + "\n"
		}
		wantCuts, wantLost, wantNote := 3.0, 0.0, ""
		switch {
		case x.Outcome == result.LabFailed && x.Candidate == "f2fs":
			failed++
			continue
		case x.Candidate == "erofs":
			wantCuts, wantNote = -1, "the power was not cut: "
		case x.Variant != "":
			wantCuts = -1
		case x.Candidate == "xfs":
			wantLost, wantNote = 3, "/evidence/round-1"
		}
		if x.Outcome != result.Done || cuts != wantCuts || lost != wantLost || !strings.Contains(notes, wantNote) {
			t.Errorf("%s: %s %s, %v cuts, %v with losses, notes %q", x.Named(), x.Outcome, x.Reason, cuts, lost, notes)
		}
	}
	if failed != 1 {
		t.Errorf("the machine failed in %d trials", failed)
	}
}
