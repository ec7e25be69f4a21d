package qemu

import (
	"strings"
	"testing"

	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/machinetest"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
)

// NILFS2's cleaner frees the space of a removed file, and only where it runs; it has ended when the
// filesystem is unmounted by a step, and when a trial ends without one.
func TestDaemon(t *testing.T) {
	t.Parallel()
	s := begin(t, theLab(t, Options{}), machine.Spec{Storage: "disk:512M", Data: machinetest.TinyData(t)})
	const size, hasty = 32 << 20, ",protection_period=0,min_clean_segments=0,clean_check_interval=1,cleaning_interval=0.1"
	work := scenario.Scenario{
		{Work: "discard"},
		{Work: "module-load", Phase: "module-load"},
		{Work: "mkfs", Phase: "mkfs"},
		{Work: "mount", Phase: "mount"},
		{Work: "remount"},
		{Work: "file-write", Phase: "write", Dir: "files", Size: size, Block: 1 << 20},
		{Work: "space", Phase: "full"},
		// The cleaner leaves alone what was written in the last second.
		{Work: "settle", Count: 3},
		{Work: "tree-remove", Dir: "files"},
		{Work: "settle", Count: 10, Only: "daemon"},
		{Work: "space", Phase: "removed"},
	}
	for _, x := range []struct {
		candidate string
		freed     bool
	}{
		{"nilfs2 -B 256 -o cleanerd=on" + hasty, true},
		{"nilfs2 -B 256 -o cleanerd=off", false},
		{"nilfs2 -B 256", false},
	} {
		got := machinetest.CarryOut(t, s, x.candidate, work)
		if got.Done.Outcome != result.Done {
			t.Fatalf("%s: %+v", x.candidate, got.Done)
		}
		freed := got.Figures["full"][result.SpaceUsed].Value - got.Figures["removed"][result.SpaceUsed].Value
		if freed > size/2 != x.freed {
			t.Errorf("%s: %.0f bytes came back of %d", x.candidate, freed, size)
		}
		for _, o := range got.Options {
			if strings.HasPrefix(o.Text, "-o cleanerd=") && o.State != result.InForce {
				t.Errorf("%s: %+v", x.candidate, o)
			}
		}
	}
}
