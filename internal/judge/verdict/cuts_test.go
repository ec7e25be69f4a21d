package verdict

import (
	"testing"

	"whichfs/internal/result"
)

// Figures of cuts add up over all trials, and the candidate that lost least
// comes first.
func TestCuts(t *testing.T) {
	lost := map[string]float64{"ext4": 1, "f2fs": 0, "xfs": 0}
	mount := map[string]float64{"ext4": 0.1, "f2fs": 0.3, "xfs": 0.2}
	f := fake{candidates: []string{"ext4", "f2fs", "xfs", "erofs"}, rounds: 3, noise: 0.01, seed: 1, change: func(t *result.Trial) {
		if t.Candidate == "erofs" {
			return
		}
		for metric, v := range map[string]float64{result.CutsDone: 20, result.CutsMounted: 20, result.CutsOps: 500, result.FilesWhole: 300,
			result.CutsWithLoss: lost[t.Candidate], result.FilesMissing: 2 * lost[t.Candidate], result.FilesReturned: lost[t.Candidate]} {
			t.Measurements = append(t.Measurements, result.Measurement{Phase: result.CutPhase, Metric: metric, Value: v, Unit: "1"})
		}
		longest := mount[t.Candidate] * float64(1+t.Round)
		t.Measurements = append(t.Measurements,
			result.Measurement{Phase: result.CutPhase, Metric: result.CutsMount, Value: mount[t.Candidate], Unit: "s"},
			result.Measurement{Phase: result.CutPhase, Metric: result.CutsMountMost, Value: longest, Unit: "s"})
	}}
	run, trials, st := f.make()
	v, err := Compute(run, nil, trials, st, Beside{})
	if err != nil {
		t.Fatal(err)
	}
	if v.Cuts == nil || len(v.Cuts.Rows) != 3 {
		t.Fatalf("%+v", v.Cuts)
	}
	for i, want := range []string{"xfs", "f2fs", "ext4"} {
		if v.Cuts.Rows[i].Candidate != want {
			t.Errorf("place %d has %s, not %s", i+1, v.Cuts.Rows[i].Candidate, want)
		}
	}
	r := v.Cuts.Rows[2]
	if r.Cuts != 60 || r.Promises != 1500 || r.WithLoss != 3 || r.Lost != 9 || r.Whole != 900 || r.MountLongest.Estimate.Value != 0.4 {
		t.Errorf("%+v", r)
	}
	f.change = nil
	run, trials, st = f.make()
	if v, err = Compute(run, nil, trials, st, Beside{}); err != nil || v.Cuts != nil {
		t.Errorf("without cuts: %+v, %v", v.Cuts, err)
	}
}
