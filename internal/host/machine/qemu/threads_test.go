package qemu

import (
	"strconv"
	"strings"
	"testing"

	"whichfs/internal/host/machine"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
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
	for _, x := range triedWith(t, "count") {
		t.Run(x.Line, func(t *testing.T) {
			threads, held := number(t, x, "count"), number(t, x, "held")
			got := carryOut(t, s, x.Line, plan)
			if got.done.Outcome != result.Done {
				t.Fatalf("%+v", got.done)
			}
			f, module := got.figures["threads"], got.figures["module-load"][result.ModuleRAM].Value
			if n := f[result.KernelThreads]; n.Absent != "" || n.Value != threads {
				t.Errorf("threads %+v, want %v", n, threads)
			}
			for _, n := range got.notes {
				if strings.Contains(n.Text, "not known as the filesystem's") {
					t.Error(n.Text)
				}
			}
			// Those that are said to hold nothing hold less than the accounts' own noise.
			if m := f[result.MemHeld]; m.Absent != "" && held > 0 || m.Value < held || m.Value > 16<<20 {
				t.Errorf("memory held %+v, the modules alone take %v", m, module)
			}
			if m := got.figures["unmounted"][result.KernelThreads]; m.Absent == "" {
				t.Errorf("with nothing mounted: %+v", m)
			}
			t.Logf("%v threads, %.2f MiB held, %.2f of them modules", f[result.KernelThreads].Value, f[result.MemHeld].Value/(1<<20), module/(1<<20))
		})
	}
}

// number is a key's value.
func number(t *testing.T, x triedCandidate, key string) float64 {
	t.Helper()
	text, _ := x.Get(key)
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatalf("%s of %s: %v", key, x.Line, err)
	}
	return n
}
