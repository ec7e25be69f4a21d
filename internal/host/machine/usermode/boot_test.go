package usermode

import (
	"slices"
	"strings"
	"testing"

	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/machinetest"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/target/workload"
	"whichfs/internal/testing/parsed"
	"whichfs/internal/wire"
)

// A boot takes the storage's time, the same from the same storage, and the session goes on with the
// storage as if nothing had been booted; what cannot be booted says why.
func TestBoot(t *testing.T) {
	t.Parallel()
	m := theLab(t, Options{})
	root := machinetest.RootScenario()
	boot := func(s machine.Session, b machine.Boot) (figures []result.Measurement, d wire.Done) {
		t.Helper()
		b.Repeats = 1
		d, err := s.(machine.Booter).Boot(t.Context(), b, machine.Events{Figures: func(f wire.Figures) { figures = append(figures, f.Measurements...) }})
		if err != nil {
			t.Fatal(machinetest.Explain(err))
		}
		return figures, d
	}
	var figures [2][]result.Measurement
	var after [3]result.Trial
	for i := range after {
		s := begin(t, m, machine.Spec{Storage: "sim:sd-basic,128M", Data: machinetest.Data(t), Seed: 7})
		trial(t, s, "f2fs", root)
		if i < len(figures) {
			var d wire.Done
			if figures[i], d = boot(s, machine.Boot{Candidate: parsed.Candidate("f2fs")}); d.Outcome != result.Done {
				t.Fatalf("%+v", d)
			}
			if _, d := boot(s, machine.Boot{Candidate: parsed.Candidate("xfs")}); d.Outcome != result.SubjectFailed ||
				!strings.Contains(d.Reason, "mount -t xfs") || !strings.Contains(d.Reason, "console's last lines") {
				t.Errorf("xfs where f2fs is: %+v", d)
			}
			if _, d := boot(s, machine.Boot{Candidate: parsed.Candidate("f2fs"), Kernels: []string{"6.1", "porridge"}}); d.Outcome != result.Refused || !strings.Contains(d.Reason, "porridge") {
				t.Errorf("kernel porridge: %+v", d)
			}
		}
		after[i] = trial(t, s, "ext4", short)
		if i == 0 {
			trial(t, s, "ext4", slices.Concat(root[:3], scenario.Scenario{{Work: "unmount"}}))
			if _, d := boot(s, machine.Boot{Candidate: parsed.Candidate("ext4")}); d.Outcome != result.SubjectFailed ||
				!strings.Contains(d.Reason, "start /"+workload.FirstProcess+": no such file") {
				t.Errorf("without a first process: %+v", d)
			}
		}
	}
	if len(figures[0]) == 0 || !slices.Equal(figures[0], figures[1]) {
		t.Errorf("boots differ: %+v, %+v", figures[0], figures[1])
	}
	if d := difference(after[0], after[1]); d != "" {
		t.Errorf("a trial after a boot differs from the same one: %s", d)
	}
	for _, x := range after[0].Measurements {
		if x.Metric != result.Wall || x.Absent != "" {
			continue
		}
		for _, y := range after[2].Measurements {
			if y.Phase == x.Phase && y.Metric == x.Metric && (y.Value < 0.8*x.Value || y.Value > 1.25*x.Value) {
				t.Errorf("%s takes %v after a boot, and %v without", x.Phase, x.Value, y.Value)
			}
		}
	}

	s := begin(t, m, machine.Spec{Storage: "nand:32M"})
	if _, d := boot(s, machine.Boot{Candidate: parsed.Candidate("ext4")}); d.Outcome != result.Unsupported || !strings.Contains(d.Reason, "memory") {
		t.Errorf("storage in a guest's memory: %+v", d)
	}
}
