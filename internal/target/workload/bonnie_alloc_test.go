package workload

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/testing/needs"
)

// The runtime's own count: the timed sections of files and seeks allocate nothing.
func TestNoAllocationInFilesAndSeeks(t *testing.T) {
	env := makeEnv(t, t.TempDir(), nil)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	least := map[string]uint64{}
	// Other goroutines of the test may allocate once; not five times.
	for i := range 5 {
		dir := strconv.Itoa(i)
		meta := func(order string) scenario.Step {
			return scenario.Step{Dir: dir + order, Files: 300, Dirs: 3, Order: order}
		}
		file := scenario.Step{Dir: dir, Size: 1 << 20}
		seq, random := meta(scenario.OrderSequential), meta(scenario.OrderRandom)
		for _, x := range []struct {
			kind Kind
			step scenario.Step
		}{
			{MetaCreate, seq}, {MetaStat, seq}, {MetaRead, seq}, {MetaDelete, seq},
			{MetaCreate, random}, {MetaStat, random}, {MetaDelete, random},
			{FileWrite, file}, {FileRewrite, file}, {FileRead, file},
			{Seeks, scenario.Step{Dir: dir, Size: 1 << 20, Ops: 300, Jobs: 5, Share: 0.1}},
		} {
			job, err := x.kind.Setup(context.Background(), env, x.step)
			if err != nil {
				t.Fatal(err)
			}
			var tally Tally
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err = job.Run(&tally)
			runtime.ReadMemStats(&after)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := job.After(); err != nil {
				t.Fatal(err)
			}
			name := x.kind.Name + " " + x.step.Order
			if n, seen := least[name]; !seen || after.Mallocs-before.Mallocs < n {
				least[name] = after.Mallocs - before.Mallocs
			}
		}
	}
	for name, n := range least {
		if n != 0 {
			t.Errorf("%s: %d allocations", name, n)
		}
	}
	if len(least) != 11 {
		t.Errorf("checked %d kinds", len(least))
	}
}

// Errors of the filesystem name the call and the file.
func TestFullFilesystemNamesTheFile(t *testing.T) {
	needs.Devices(t)
	env := makeEnv(t, mountTmpfs(t, "size=4m,nr_inodes=60"), nil)
	step := storm(scenario.OrderSequential, 100, 2)
	_, _, err := perform(t, env, MetaCreate, step)
	wantFailure(t, err, result.SubjectFailed, `create "b/sequential/0000`)
	wantFailure(t, err, result.SubjectFailed, "no space left on device")

	env = makeEnv(t, mountTmpfs(t, "size=4m"), nil)
	must(t, env, MetaCreate, step)
	must(t, env, FileWrite, scenario.Step{Dir: "b", Size: 1 << 20})
	if err := unix.Mount("", env.Mount, "", unix.MS_REMOUNT|unix.MS_RDONLY, "size=4m"); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		kind Kind
		step scenario.Step
	}{
		{MetaCreate, scenario.Step{Dir: "c", Files: 10, Order: scenario.OrderRandom}}, {MetaDelete, step}, {FileWrite, scenario.Step{Dir: "c", Size: 1 << 20}}, {FileRewrite, scenario.Step{Dir: "b", Size: 1 << 20}},
		{Seeks, scenario.Step{Dir: "b", Size: 1 << 20, Ops: 10}},
	} {
		_, _, err := perform(t, env, x.kind, x.step)
		if err == nil || !strings.Contains(err.Error(), "read-only file system") {
			t.Errorf("%s: %v", x.kind.Name, err)
		}
	}
	must(t, env, MetaStat, step)
	must(t, env, FileRead, scenario.Step{Dir: "b", Size: 1 << 20})
}

// When the clock stops, everything written is in the image below the filesystem and not only in its
// cache.
func TestFilesAreOnStorageWhenTheClockStops(t *testing.T) {
	needs.Devices(t)
	mount := loopMount(t, "64M", "mkfs.ext4", "-q")
	env := makeEnv(t, mount, nil)
	image := filepath.Join(filepath.Dir(mount), "image")
	run := func(k Kind, step scenario.Step) {
		t.Helper()
		job, err := k.Setup(t.Context(), env, step)
		if err != nil {
			t.Fatal(err)
		}
		if err := job.Run(&Tally{}); err != nil {
			t.Fatal(err)
		}
	}
	held := func(text []byte) int {
		body, err := os.ReadFile(image)
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Count(body, text)
	}
	step := storm(scenario.OrderRandom, 3000, 3)
	run(MetaCreate, step)
	m, err := newMeta(env, step)
	if err != nil {
		t.Fatal(err)
	}
	_, last, _ := strings.Cut(m.names.text(2999), "/")
	if held([]byte(last)) == 0 {
		t.Errorf("%q is not in the image", last)
	}
	file := scenario.Step{Dir: "b", Size: 300 * testPiece}
	run(FileWrite, file)
	if held(bytes.Repeat([]byte{1}, 300)) == 0 {
		t.Error("the last piece is not in the image")
	}
	run(FileRewrite, file)
	if held(append(bytes.Repeat([]byte{1}, 299), 2)) == 0 {
		t.Error("the last piece that was rewritten is not in the image")
	}
	// A rewritten piece ends in a 2 after its ones; a seek that writes it back decrements that.
	counted := []byte{1, 2, 0}
	before := held(counted)
	run(Seeks, scenario.Step{Dir: "b", Size: file.Size, Ops: 300, Share: 1, Seed: 1})
	if after := held(counted); before < 290 || after > before-100 {
		t.Errorf("of %d pieces %d are in the image as they were before the seeks", before, after)
	}
}
