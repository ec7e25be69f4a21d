package workload

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"testing"

	"whichfs/internal/fault"
	"whichfs/internal/fault/writelog"
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

// Every case has good and bad parts, the first part is good and must be kept, and no two iterations
// change at the same points.
func TestStretches(t *testing.T) {
	for _, name := range []string{"corrupt-after", "corrupt-in-turn", "drop", "fail"} {
		firsts := map[float64]bool{}
		for number := range 200 {
			s := stretchesOf(name, number, chance(1, number, drawStretches))
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
			if len(s) < 2 || s[0].mode != blockdev.Good || s[1].mode == blockdev.Good || last != 1 || good < 1.0/6 || good > 0.75 {
				t.Errorf("%s: %v, %v of it good", name, s, good)
			}
			if end := s[len(s)-1].mode; (end == blockdev.Good) != (name == "corrupt-in-turn") {
				t.Errorf("%s ends %s", name, end)
			}
			firsts[s[0].end] = true
		}
		if len(firsts) < 190 {
			t.Errorf("%s: only %d different first parts", name, len(firsts))
		}
	}
	if s := stretchesOf("good", 1, chance(1, 1, drawStretches)); s != nil {
		t.Errorf("%v", s)
	}
	for number, want := range map[int]blockdev.Mode{1: blockdev.Corrupt, 2: blockdev.Good} {
		if s := stretchesOf(fault.CorruptEither, number, chance(1, number, drawStretches)); s[len(s)-1].mode != want {
			t.Errorf("iteration %d: %v", number, s)
		}
	}
}

// The byte is what the step says, in every iteration, and a random one is neither of the others.
func TestSpots(t *testing.T) {
	places, values := map[int]bool{}, map[byte]bool{}
	for number := range 500 {
		if s := spotOf(scenario.Step{Seed: 3}, number); s != (blockdev.Spot{}) {
			t.Errorf("by default %+v", s)
		}
		if s := spotOf(scenario.Step{Byte: fault.ByteOnes}, number); s != (blockdev.Spot{Value: 0xff}) {
			t.Errorf("0xff: %+v", s)
		}
		s := spotOf(scenario.Step{Seed: 3, Byte: fault.ByteRandom, Order: scenario.OrderRandom}, number)
		if s.Offset < 1 || s.Offset >= spotLimit || s.Value == 0 || s.Value == 0xff {
			t.Errorf("%+v", s)
		}
		places[s.Offset], values[s.Value] = true, true
	}
	if len(places) < 250 || len(values) < 150 {
		t.Errorf("%d places, %d values", len(places), len(values))
	}
	for _, step := range []scenario.Step{{Byte: "zero"}, {Order: scenario.OrderSequential}, {Block: 512}} {
		if checkSpot(step) == nil {
			t.Errorf("%+v was taken", step)
		}
	}
}

// An answer is wrong by what no longer fits, or still does.
func TestRoomOff(t *testing.T) {
	r := filledRoom{written: 200, asked: []roomAnswer{{0, 210}, {100, 60}, {190, 10}}}
	if off := r.off(); off != 0.2 {
		t.Errorf("off by %v", off)
	}
}

// Writes are corrupted between two marks only: a byte of each, or of each block of the disk.
func TestCorrupted(t *testing.T) {
	mark := func(text string) writelog.Entry { return writelog.Entry{Flags: writelog.Mark, Data: []byte(text)} }
	write := func(sector, sectors uint64) writelog.Entry {
		return writelog.Entry{Sector: sector, Sectors: sectors, Data: bytes.Repeat([]byte{'o'}, int(sectors*writelog.SectorSize))}
	}
	log := writelog.Log{Entries: []writelog.Entry{write(0, 1), mark("corrupt"), write(0, 1), write(7, 17), mark("good"), write(0, 1)}}
	for block, want := range map[int64][]int{0: {3}, fault.BlockSize: {512 + 3, 512 + 4096 + 3}} {
		out := corrupted(log, blockdev.Spot{Offset: 3, Value: 'x'}, block)
		for i, e := range out.Entries {
			var at []int
			for n, b := range e.Data {
				if e.IsWrite() && b == 'x' {
					at = append(at, n)
				}
			}
			switch {
			case i == 2 && !slices.Equal(at, []int{3}), i == 3 && !slices.Equal(at, want), i != 2 && i != 3 && len(at) > 0:
				t.Errorf("blocks of %d, entry %d: %v", block, i, at)
			}
			if bytes.Contains(log.Entries[i].Data, []byte{'x'}) {
				t.Errorf("the log itself was changed")
			}
		}
	}
	if out := corrupted(log, blockdev.Spot{Offset: 600, Value: 'x'}, 0); out.Entries[2].Data[511] != 'o' || out.Entries[3].Data[600] != 'x' {
		t.Error("a short request was corrupted, or a long one not")
	}
}
