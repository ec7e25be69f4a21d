package verdict

import (
	"slices"
	"strings"
	"testing"

	"whichfs/internal/result"
)

func sampledOf(t *testing.T, list []Sampled, key string) Sampled {
	t.Helper()
	i := slices.IndexFunc(list, func(s Sampled) bool { return s.Key == key })
	if i < 0 {
		t.Fatalf("no column %s", key)
	}
	return list[i]
}

// Samples are the figures behind the columns of a verdict, and those of the
// other phases, without trials of variants and failed trials.
func TestSamples(t *testing.T) {
	f := fake{candidates: []string{"ext4", "xfs", "erofs"}, rounds: 3, noise: 0.1, seed: 4, change: func(x *result.Trial) {
		if x.Candidate == "xfs" && x.Round == 2 {
			x.Outcome, x.Phase, x.Reason = result.SubjectFailed, "write", "input/output error"
		}
	}}
	run, trials, st := f.make()
	for _, x := range slices.Clone(trials) {
		if x.Candidate == "ext4" {
			x.Variant, x.Measurements = "noatime", slices.Clone(x.Measurements)
			for i := range x.Measurements {
				x.Measurements[i].Value *= 100
			}
			trials = append(trials, x)
		}
	}
	list := Samples(run, nil, trials, st)
	v, err := Compute(run, nil, trials, st, Beside{})
	if err != nil {
		t.Fatal(err)
	}
	for _, col := range v.Columns {
		s := sampledOf(t, list, col.Key)
		for _, cell := range col.Cells {
			if cell.Absent != "" {
				if s.Of[cell.Candidate] != nil || s.Absent[cell.Candidate] != cell.Absent {
					t.Errorf("%s of %s: %v, %q", col.Key, cell.Candidate, s.Of[cell.Candidate], s.Absent[cell.Candidate])
				}
				continue
			}
			if len(s.Of[cell.Candidate]) != cell.Estimate.N {
				t.Errorf("%s of %s: %v for an estimate of %d", col.Key, cell.Candidate, s.Of[cell.Candidate], cell.Estimate.N)
			}
		}
	}
	write := sampledOf(t, list, "write")
	if _, there := write.Of["xfs"][2]; there || len(write.Of["xfs"]) != 2 || write.Of["ext4"][1] > 50 {
		t.Errorf("write: %v", write.Of)
	}
	if !strings.Contains(write.Absent["erofs"], "read-only filesystem") {
		t.Errorf("erofs: %q", write.Absent["erofs"])
	}
	// A phase that is a column under another name appears once.
	if s := sampledOf(t, list, "settle-unmount"); !s.Extra || s.Unit != "s" || len(s.Of["ext4"]) != 3 {
		t.Errorf("%+v", s)
	}
	for _, key := range []string{"remove", "sentinel"} {
		if slices.ContainsFunc(list, func(s Sampled) bool { return s.Key == key }) {
			t.Errorf("%s is a column", key)
		}
	}
}

// In a run that counts instructions they are instructions.
func TestSamplesOfInstructions(t *testing.T) {
	f := fake{candidates: []string{"ext4"}, rounds: 2, change: func(x *result.Trial) {
		for i, m := range x.Measurements {
			if m.Metric == result.Wall {
				x.Measurements[i] = result.Measurement{Phase: m.Phase, Metric: result.Instructions, Value: 1e6, Unit: "1"}
			}
		}
	}, run: func(r *result.Run) { r.Clock = result.ClockInstructions }}
	run, trials, st := f.make()
	list := Samples(run, nil, trials, st)
	for _, key := range []string{"write", "settle-unmount"} {
		if s := sampledOf(t, list, key); s.Unit != instructionUnit || s.Of["ext4"][1] != 1e6 {
			t.Errorf("%s: %+v", key, s)
		}
	}
}
