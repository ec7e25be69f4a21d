package qemu

import (
	"strings"
	"testing"

	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/machinetest"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
)

// The filesystem is not to blame for a disk that disappears under it: the trial is a failure of the
// lab, and the guest immediately reports that to every following trial.
func TestDiskVanishes(t *testing.T) {
	t.Parallel()
	plan := scenario.Scenario{
		{Work: "mkfs"},
		{Work: "mount"},
		{Work: "tree-copy", Phase: "write", Data: "tree", Dir: "1"},
		// Its figures are the guest's cue.
		{Work: "tree-copy", Phase: "write-on", Data: "tree", Dir: "2"},
		{Work: "unmount"},
	}
	m := theLab(t, Options{Append: []string{"whichfs.fault=unplug@figures"}})
	s := begin(t, m, machine.Spec{Storage: "disk:64M", Data: machinetest.TinyData(t)})
	for _, phase := range []string{"write-on", "storage"} {
		got := machinetest.CarryOut(t, s, "ext4", plan)
		if d := got.Done; d.Outcome != result.LabFailed || d.Phase != phase ||
			!strings.Contains(d.Reason, "is no longer the device that was claimed: it vanished") || d.Hint == "" {
			t.Errorf("%+v", d)
		}
	}
}
