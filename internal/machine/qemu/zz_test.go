package qemu

import (
	"strings"
	"testing"

	"whichfs/internal/machine"
	"whichfs/internal/result"
	"whichfs/internal/scenario"
)

// A disk that is taken away under a mounted filesystem is no fault of the
// filesystem: the trial is a failure of the lab, and the guest says so at once
// to every trial that follows.
func TestZZVanish(t *testing.T) {
	plan := scenario.Scenario{
		{Work: "mkfs"},
		{Work: "mount"},
		{Work: "tree-copy", Phase: "write", Data: "tree", Dir: "1"},
		// Its figures are the guest's cue.
		{Work: "tree-copy", Phase: "write-on", Data: "tree", Dir: "2"},
		{Work: "unmount"},
	}
	for _, fs := range []string{"xfs", "btrfs -m dup", "f2fs", "nilfs2", "jfs", "reiserfs", "vfat", "exfat", "ext2"} {
		m := theLab(t, Options{Append: []string{"whichfs.fault=unplug@figures"}})
		s := begin(t, m, machine.Spec{Storage: "disk:400M", Data: tinyData(t)})
		for _, phase := range []string{"write-on", "storage"} {
			got := carryOut(t, s, fs, plan)
			if d := got.done; d.Outcome != result.LabFailed || d.Phase != phase ||
				!strings.Contains(d.Reason, "is no longer the device that was claimed: it vanished") || d.Hint == "" {
				t.Errorf("%s %+v", fs, d)
			} else {
				t.Log(fs, d)
			}
		}
		_ = s.Close()
	}
}
