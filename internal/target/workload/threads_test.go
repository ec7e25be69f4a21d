package workload

import (
	"strings"
	"testing"

	"whichfs/internal/filesystem"
	"whichfs/internal/result"
)

const someMeminfo = `MemTotal:         999999 kB
Buffers:              16 kB
Cached:             1000 kB
Shmem:               900 kB
Slab:                500 kB
VmallocUsed:        2000 kB
Percpu:               44 kB
HugePages_Total:       0
`

func TestHeldMemory(t *testing.T) {
	got, err := heldMemory([]byte(someMeminfo))
	if err != nil || got != (16+1000-900+500+2000+44)<<10 {
		t.Errorf("%d, %v", got, err)
	}
	for _, text := range []string{
		"", strings.ReplaceAll(someMeminfo, "Shmem", "Shed"),
		strings.ReplaceAll(someMeminfo, "2000 kB", "0 kB"), // not counted
		strings.ReplaceAll(someMeminfo, "500 kB", "-5 kB"),
	} {
		if got, err := heldMemory([]byte(text)); err == nil {
			t.Errorf("%q: %d", text, got)
		}
	}
}

func FuzzHeldMemory(f *testing.F) {
	f.Add(someMeminfo)
	f.Add("Slab: 99999999999999999999 kB\n")
	f.Fuzz(func(t *testing.T, text string) {
		if n, err := heldMemory([]byte(text)); err != nil && n != 0 {
			t.Errorf("%d with %v", n, err)
		}
	})
}

func TestOwnThreads(t *testing.T) {
	fs, err := filesystem.Parse("ext4")
	if err != nil {
		t.Fatal(err)
	}
	env := &Env{FS: fs.Filesystem(), Name: "vdb"}
	now := kernelState{threads: map[int]string{
		4: "kswapd0", 7: "jbd2/vda-8", 8: "jbd2/vdb-8", 9: "ext4-rsv-conver", 10: "ext4lazyinit", 11: "stranger",
	}}
	count := func(x Extra) float64 {
		if m := x.Measurements[0]; m.Metric == result.KernelThreads && m.Absent == "" {
			return m.Value
		}
		return -1
	}
	if x := env.ownThreads(now); count(x) != 2 || len(x.Notes) != 1 {
		t.Errorf("without a step before: %+v", x)
	}
	env.unmounted = &kernelState{threads: map[int]string{4: "kswapd0", 7: "jbd2/vda-8", 9: "ext4-rsv-conver"}, modules: map[string]int64{"ext4": 1}}
	x := env.ownThreads(now)
	var notes []string
	for _, n := range x.Notes {
		notes = append(notes, n.Text)
	}
	if text := strings.Join(notes, "\n"); count(x) != 1 || !strings.Contains(text, "not known as the filesystem's: stranger") || !strings.Contains(text, "the module was already loaded") {
		t.Errorf("%v threads, %s", count(x), text)
	}
	// The number was reused for another thread.
	env.unmounted = &kernelState{threads: map[int]string{8: "gone"}}
	if x := env.ownThreads(now); count(x) != 2 {
		t.Errorf("%+v", x)
	}
}

func TestMemoryHeldIsAbsentOutsideOfGuests(t *testing.T) {
	env := &Env{}
	if m := env.memoryHeld(kernelState{held: 5}); m.Absent == "" || m.Metric != result.MemHeld {
		t.Errorf("without a step before: %+v", m)
	}
	env.unmounted = &kernelState{held: 1}
	if m := env.memoryHeld(kernelState{held: 5}); !strings.Contains(m.Absent, "other programs") {
		t.Errorf("%+v", m)
	}
}
