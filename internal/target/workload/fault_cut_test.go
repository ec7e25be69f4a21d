package workload

import (
	"os"
	"strconv"
	"testing"

	"whichfs/internal/plan/scenario"
	"whichfs/internal/target/blockdev"
)

// Mount options that promise durability replace fsync; the plan is the same.
func TestSyncWriterLeavesFsyncToTheMount(t *testing.T) {
	for _, files := range []bool{false, true} {
		plan, err := newSyncPlan(scenario.Step{Seed: 3, Size: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		step := scenario.Step{Seed: 3, Size: 1 << 20, Ops: 40}
		env, dir := syncedBy(t, plan, files, step.Ops)
		if got := verifySynced(dir, step, env); len(got.Breaches) > 0 || got.Promises < 5 || got.ReadOnly != "" {
			t.Errorf("files %v: %+v", files, got)
		}
		step.Seed++
		if got := verifySynced(dir, step, env); got.Broken() == 0 || got.Broken() != len(got.Breaches) || got.Broken() > got.Promises {
			t.Errorf("of another seed: %+v", got)
		}
	}
}

func syncedBy(t *testing.T, plan *syncPlan, byMount bool, ops int) (fs, dir string) {
	t.Helper()
	dir = t.TempDir()
	told := 0
	w := syncWriter{plan: plan, dir: dir, buf: make([]byte, syncMost+8), syncsFiles: byMount, syncsDirs: byMount,
		safe: func(n int64) error {
			if told++; int64(told) != n {
				t.Fatalf("reported %s", strconv.FormatInt(n, 10))
			}
			return nil
		}}
	// A directory without a descriptor cannot be synced: no code may try.
	open := openDir(t, dir, byMount)
	var tally Tally
	for range ops {
		if err := w.do(open, &tally); err != nil {
			t.Fatal(err)
		}
	}
	return "ext4", dir
}

func openDir(t *testing.T, path string, closed bool) *os.File {
	t.Helper()
	dir, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if closed {
		if err := dir.Close(); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	t.Cleanup(func() { _ = dir.Close() })
	return dir
}

// Every case has good and bad parts, and the first part is good: it must be kept.
func TestStretches(t *testing.T) {
	for _, name := range []string{"corrupt-after", "corrupt-in-turn", "drop", "fail"} {
		s := stretchesOf(name)
		good, last := 0.0, 0.0
		for _, one := range s {
			if one.end < last {
				t.Errorf("%s: %v", name, s)
			}
			if one.mode == blockdev.Good {
				good += one.end - last
			}
			last = one.end
		}
		if len(s) < 2 || s[0].mode != blockdev.Good || s[1].mode == blockdev.Good || last != 1 || good < 0.3 || good > 0.6 {
			t.Errorf("%s: %v, %v of it good", name, s, good)
		}
		if end := s[len(s)-1].mode; (end == blockdev.Good) != (name == "corrupt-in-turn") {
			t.Errorf("%s ends %s", name, end)
		}
	}
	if s := stretchesOf("good"); s != nil {
		t.Errorf("%v", s)
	}
}
