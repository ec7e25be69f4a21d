package usermode

import (
	"strconv"
	"strings"
	"testing"

	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/labguest"
	"whichfs/internal/host/machine/machinetest"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
)

// The smallest permitted guest makes and mounts every filesystem; and all of its kernel threads are
// known as its own: no other appears between before and after. The numbers are those of Linux 6.1.
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
	s := begin(t, theLab(t, Options{}), machine.Spec{Storage: "sim:nvme,512M", Memory: labguest.LeastMemory})
	if got := s.Facts().Memory; got > labguest.LeastMemory || got < labguest.LeastMemory/2 {
		t.Errorf("the guest has %d bytes of memory", got)
	}
	for _, x := range triedWith(t, "count") {
		t.Run(x.Line, func(t *testing.T) {
			threads, held := number(t, x, "count"), number(t, x, "held")
			got := machinetest.CarryOut(t, s, x.Line, plan)
			if got.Done.Outcome != result.Done {
				t.Fatalf("%+v", got.Done)
			}
			f, module := got.Figures["threads"], got.Figures["module-load"][result.ModuleRAM].Value
			if n := f[result.KernelThreads]; n.Absent != "" || n.Value != threads {
				t.Errorf("threads %+v, want %v", n, threads)
			}
			for _, n := range got.Notes {
				if strings.Contains(n.Text, "not known as the filesystem's") {
					t.Error(n.Text)
				}
			}
			// Those listed without memory hold less than the noise of the counters.
			if m := f[result.MemHeld]; m.Absent != "" && held > 0 || m.Value < held || m.Value > 16<<20 {
				t.Errorf("memory held %+v, the modules alone take %v", m, module)
			}
			if m := got.Figures["unmounted"][result.KernelThreads]; m.Absent == "" {
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

// What ext4 does once after the first mount, at a time that the kernel draws, is in no phase.
func TestLateWork(t *testing.T) {
	t.Parallel()
	s := begin(t, theLab(t, Options{}), machine.Spec{Storage: "sim:sd-basic,1G"})
	got := machinetest.CarryOut(t, s, "ext4", scenario.Scenario{
		{Work: "module-load"}, {Work: "mkfs"},
		{Work: "mount", Phase: "mount"},
		{Work: "settle", Phase: "idle", Count: 60},
		{Work: "unmount"},
	})
	if w := got.Figures["idle"][result.DeviceWritten]; got.Done.Outcome != result.Done || w.Absent != "" || w.Value > 1<<20 {
		t.Errorf("%+v, written in a minute without work: %+v", got.Done, w)
	}
}
