package qemu

import (
	"strings"
	"testing"

	"whichfs/internal/machine"
	"whichfs/internal/result"
	"whichfs/internal/scenario"
)

// The least guest that is allowed makes and mounts every filesystem; and each
// one's kernel threads are all known as its own: the difference between before
// and after holds no other. The numbers are Linux 6.1's.
func TestThreadsAndLeastMemory(t *testing.T) {
	t.Parallel()
	plan := scenario.Scenario{
		{Work: "threads"},
		{Work: "module-load", Phase: "module-load"},
		{Work: "mkfs", Phase: "mkfs"},
		{Work: "mount", Phase: "mount"},
		{Work: "threads", Phase: "threads"},
		{Work: "unmount", Phase: "unmount"},
		{Work: "threads", Phase: "unmounted"},
	}
	s := begin(t, theLab(t, Options{}), machine.Spec{Storage: "disk:512M,bps=1G,iops=100000", Memory: leastMemory})
	if got := s.Facts().Memory; got > leastMemory || got < leastMemory/2 {
		t.Errorf("the guest has %d bytes of memory", got)
	}
	for _, x := range []struct {
		candidate string
		threads   float64
		held      float64 // at least, B
	}{
		{"ext4", 2, 1 << 20}, {"ext3", 2, 1 << 20}, {"ext2", 1, 1 << 20},
		{"xfs", 10, 4 << 20}, {"btrfs", 17, 6 << 20}, {"f2fs", 4, 1 << 20},
		{"nilfs2", 1, 256 << 10}, {"jfs", 3, 400 << 10}, {"reiserfs", 1, 1 << 20},
		// These hold less than the accounts' own noise.
		{"vfat", 0, 0}, {"exfat", 0, 0},
	} {
		t.Run(x.candidate, func(t *testing.T) {
			got := carryOut(t, s, x.candidate, plan)
			if got.done.Outcome != result.Done {
				t.Fatalf("%+v", got.done)
			}
			f, module := got.figures["threads"], got.figures["module-load"][result.ModuleRAM].Value
			if n := f[result.KernelThreads]; n.Absent != "" || n.Value != x.threads {
				t.Errorf("threads %+v, want %v", n, x.threads)
			}
			for _, n := range got.notes {
				if strings.Contains(n.Text, "not known as the filesystem's") {
					t.Error(n.Text)
				}
			}
			if m := f[result.MemHeld]; m.Absent != "" && x.held > 0 || m.Value < x.held || m.Value > 16<<20 {
				t.Errorf("memory held %+v, the modules alone take %v", m, module)
			}
			if m := got.figures["unmounted"][result.KernelThreads]; m.Absent == "" {
				t.Errorf("with nothing mounted: %+v", m)
			}
			t.Logf("%v threads, %.2f MiB held, %.2f of them modules", f[result.KernelThreads].Value, f[result.MemHeld].Value/(1<<20), module/(1<<20))
		})
	}
}
