package qemu

import (
	"math"
	"testing"

	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/machinetest"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
)

// Two guests, one after the other, count the same for the same work, and
// neither knows a time.
func TestInstructionsRepeat(t *testing.T) {
	t.Parallel()
	plan := scenario.Scenario{
		{Work: "discard"},
		{Work: "module-load", Phase: "module-load"},
		{Work: "mkfs", Phase: "mkfs"},
		{Work: "mount", Phase: "mount"},
		{Work: "tree-copy", Phase: "fill", Data: "tree", Dir: "root"},
		{Work: "stream-write", Phase: "seq-write", Data: machinetest.Data(t)[1].Name, Dir: "streams"},
		{Work: "tree-remove", Phase: "remove", Dir: "root"},
		{Work: "unmount", Phase: "unmount"},
	}
	var runs [2]machinetest.Trial
	for i := range runs {
		s := begin(t, theLab(t, Options{}), machine.Spec{Storage: "ram:64M", Data: machinetest.Data(t), Instructions: true})
		runs[i] = machinetest.CarryOut(t, s, "ext4", plan)
		if runs[i].Done.Outcome != result.Done {
			t.Fatalf("%+v", runs[i].Done)
		}
		_ = s.Close()
	}
	var sums [2]float64
	for _, phase := range plan.Phases() {
		a, b := runs[0].Figures[phase][result.Instructions], runs[1].Figures[phase][result.Instructions]
		if a.Absent != "" || b.Absent != "" || a.Value <= 0 {
			t.Fatalf("phase %s: %+v, %+v", phase, a, b)
		}
		// An interrupt, a worker of the kernel that comes due or a page for its
		// tables, more or less, is some ten thousand instructions: where a phase
		// has few, that is more than a hundredth of it.
		const chance = 100_000
		sums[0] += a.Value
		sums[1] += b.Value
		if apart := math.Abs(a.Value - b.Value); apart > 0.01*a.Value && apart > chance {
			t.Errorf("phase %s: %.0f and %.0f instructions", phase, a.Value, b.Value)
		}
		t.Logf("%s: %.0f instructions, %+.3f %%", phase, a.Value, 100*(b.Value-a.Value)/a.Value)
		for metric, m := range runs[0].Figures[phase] {
			if m.Unit == "s" && m.Absent == "" {
				t.Errorf("phase %s: %s of %v s on a clock without time", phase, metric, m.Value)
			}
		}
		if m := runs[0].Figures[phase][result.DeviceWritten]; m.Absent == "" {
			t.Errorf("phase %s: the traffic of a disk in memory is said to be %v", phase, m.Value)
		}
	}
	if apart := math.Abs(sums[0]-sums[1]) / sums[0]; apart > 0.005 {
		t.Errorf("all phases: %.0f instructions, %.3f %% apart", sums, 100*apart)
	}
	fill := runs[0].Figures["fill"]
	if op := fill[result.InstructionsOp]; op.Absent != "" || math.Abs(op.Value*fill[result.DataFiles].Value-fill[result.Instructions].Value) > 1 {
		t.Errorf("per file: %+v", op)
	}
	if m := runs[0].Figures["mkfs"][result.InstructionsByte]; m.Absent == "" {
		t.Errorf("per byte of mkfs: %+v", m)
	}
}
