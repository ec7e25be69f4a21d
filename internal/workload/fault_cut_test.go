package workload

import (
	"os"
	"strconv"
	"testing"

	"whichfs/internal/fault/blockdev"
	"whichfs/internal/fault/states"
	"whichfs/internal/fault/writelog"
	"whichfs/internal/scenario"
)

func TestRemains(t *testing.T) {
	l := writelog.Log{Entries: make([]writelog.Entry, 20)}
	for i := range l.Entries {
		l.Entries[i] = writelog.Entry{Sector: uint64(i * 8), Sectors: 8, Data: make([]byte, 4096)}
	}
	single := writelog.Log{Entries: []writelog.Entry{{Sectors: 1, Data: make([]byte, 512)}, {Sectors: 1, Data: make([]byte, 512)}}}
	none, torn, some := 0, 0, 0
	for n := range 3000 {
		all := []int{2, 3, 5, 7, 11, 13}
		s := remains(chance(1, n, 2), l, states.State{Point: 14, Kept: all})
		switch {
		case s.Point != 14:
			t.Fatalf("%+v", s)
		case len(s.Kept) == 0:
			none++
		case s.Torn != nil:
			torn++
			if len(s.Kept) != len(all) || s.Torn.Entry != 13 || s.Torn.First != 0 || s.Torn.Sectors < 1 || s.Torn.Sectors > 7 {
				t.Fatalf("%+v", s.Torn)
			}
		default:
			some++
		}
		// A request of one sector cannot be torn: it is not there.
		if s := remains(chance(1, n, 2), single, states.State{Point: 2, Kept: []int{0, 1}}); s.Torn != nil {
			t.Fatalf("%+v", s.Torn)
		}
		if s := remains(chance(1, n, 2), l, states.State{Point: 2}); len(s.Kept) > 0 || s.Torn != nil {
			t.Fatalf("%+v", s)
		}
	}
	for _, n := range []int{none, torn, some} {
		if n < 850 || n > 1150 {
			t.Errorf("%d with nothing, %d torn, %d of any", none, torn, some)
		}
	}
}

func TestMarksOf(t *testing.T) {
	mark := func(text string) writelog.Entry { return writelog.Entry{Flags: writelog.Mark, Data: []byte(text)} }
	write := writelog.Entry{Sectors: 1, Data: []byte("2")}
	l := writelog.Log{Entries: []writelog.Entry{write, mark("1"), write, write, mark("other"), mark("2"), write}}
	if got, err := marksOf(l, 2); err != nil || len(got) != 2 || got[0] != 1 || got[1] != 5 {
		t.Errorf("%v, %v", got, err)
	}
	// What was promised at a point are the operations whose marks are before it.
	for point, want := range map[int]int{1: 0, 2: 1, 5: 1, 6: 2, 7: 2} {
		if got := sortedBefore([]int{1, 5}, point); got != want {
			t.Errorf("at %d: %d, want %d", point, got, want)
		}
	}
	if _, err := marksOf(l, 3); err == nil {
		t.Error("a mark that is missing is no error")
	}
}

// Mount options that promise it take the place of fsync; the plan is the same.
func TestSyncWriterLeavesFsyncToTheMount(t *testing.T) {
	for _, files := range []bool{false, true} {
		plan, err := newSyncPlan(scenario.Step{Seed: 3, Size: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		step := scenario.Step{Seed: 3, Size: 1 << 20, Ops: 40}
		env, dir := syncedBy(t, plan, files, step.Ops)
		if got := verifySynced(dir, step, env); len(got.losses) > 0 || got.broken > 0 || got.promises < 5 || got.readOnly != "" {
			t.Errorf("files %v: %+v", files, got)
		}
		step.Seed++
		if got := verifySynced(dir, step, env); got.broken == 0 || got.broken != len(got.losses) || got.broken > got.promises {
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
				t.Fatalf("told of %s", strconv.FormatInt(n, 10))
			}
			return nil
		}}
	// A directory that is no descriptor cannot be synced: nobody may ask for it.
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

// Good and bad parts are there whatever the case, and the first part is good: it
// is what must be kept.
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
