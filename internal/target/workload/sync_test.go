package workload

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"whichfs/internal/filesystem"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
)

const (
	syncOps  = 250
	syncRoom = 3 << 20
)

// synced writes files into a directory, as on a filesystem that keeps everything, and returns the
// last report to the host.
func synced(t *testing.T, ops int) (env *Env, step scenario.Step) {
	t.Helper()
	env = &Env{Mount: t.TempDir(), FS: filesystem.Filesystem{Name: "ext4"}}
	step = scenario.Step{Work: "sync-files", Dir: "d", Size: syncRoom, Seed: 11, Ops: ops}
	told := int64(0)
	env.Safe = func(number int64) error {
		if number != told+1 {
			t.Errorf("operation %d is safe after %d", number, told)
		}
		told = number
		return nil
	}
	job, err := SyncFiles.Setup(context.Background(), env, step)
	if err != nil {
		t.Fatal(err)
	}
	var tally Tally
	if err := job.Run(&tally); err != nil || tally.Ops != int64(ops) || told != int64(ops) {
		t.Fatalf("%+v, %v, reported %d", tally, err, told)
	}
	return env, step
}

// looked is the result of the verifier; the step's Ops is the last report to the host.
func looked(env *Env, step scenario.Step) (map[string]int, string) {
	v := newSyncVerifier(filepath.Join(env.Mount, step.Dir), step, "ext4")
	v.verify()
	x, _ := v.after()
	found, notes := map[string]int{}, ""
	for _, m := range x.Measurements {
		if m.Value > 0 {
			found[m.Metric] = int(m.Value)
		}
	}
	for _, n := range x.Notes {
		if n.Level == result.Warning {
			notes += n.Text + "\n"
		}
	}
	return found, notes
}

func TestSyncedFilesAreWhole(t *testing.T) {
	env, step := synced(t, syncOps)
	files := SyncedFiles(step.Seed, step.Size, syncOps)
	found, notes := looked(env, step)
	if d := cmp.Diff(map[string]int{result.FilesWhole: files}, found); d != "" || notes != "" {
		t.Errorf("%s%s", d, notes)
	}
	if files < 10 || files >= syncOps {
		t.Errorf("%d files after %d operations: nothing was replaced or removed", files, syncOps)
	}
	// The host may not have received the last operations.
	step.Ops -= 7
	found, notes = looked(env, step)
	if found[result.FilesMissing]+found[result.FilesWrong]+found[result.FilesReturned] > 0 || notes != "" {
		t.Errorf("%v %s", found, notes)
	}
}

// Every kind of loss is found, and nothing else.
func TestSyncVerifyFindsLosses(t *testing.T) {
	plan := &syncPlan{seed: 11, space: syncRoom}
	var removed syncFile
	for plan.number < syncOps {
		if o := plan.next(); o.kind == syncRemove {
			removed = o.file
		}
	}
	// Files touched by the next operations may differ.
	ahead, touched := *plan, map[int64]bool{}
	ahead.live = slices.Clone(plan.live)
	for range syncAhead {
		touched[ahead.next().file.id] = true
	}
	var oldest, renamed syncFile
	for _, f := range plan.live {
		switch {
		case touched[f.id]:
		case f.version > f.id*2 && f.size > 100 && renamed.id == 0:
			renamed = f
		case oldest.id == 0:
			oldest = f
		}
	}
	if removed.id == 0 || renamed.id == 0 || oldest.id == 0 {
		t.Fatalf("removed %+v, renamed %+v, left alone %+v", removed, renamed, oldest)
	}
	for name, c := range map[string]struct {
		damage func(dir string) error
		want   string // metric of one file
		note   string
	}{
		"missing": {func(dir string) error { return os.Remove(filepath.Join(dir, oldest.name())) }, result.FilesMissing, "is missing"},
		"short":   {func(dir string) error { return os.Truncate(filepath.Join(dir, renamed.name()), int64(renamed.size-1)) }, result.FilesWrong, "were written"},
		"zeros": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, renamed.name()), make([]byte, renamed.size), 0o644)
		}, result.FilesWrong, "the others are zeros"},
		"older": {func(dir string) error {
			v, err := versionOf(renamed)
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, renamed.name()), v, 0o644)
		}, result.FilesWrong, "were written; the first 0 are right; it is what operation"},
		"another's": {func(dir string) error {
			data, err := os.ReadFile(filepath.Join(dir, renamed.name()))
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, oldest.name()), data, 0o644)
		}, result.FilesWrong, " wrote to " + renamed.name()},
		"unreadable": {func(dir string) error {
			path := filepath.Join(dir, oldest.name())
			if err := os.Remove(path); err != nil {
				return err
			}
			return os.Mkdir(path, 0o755)
		}, result.FilesUnreadable, "cannot be read"},
		"returned":  {func(dir string) error { return os.WriteFile(filepath.Join(dir, removed.name()), nil, 0o644) }, result.FilesReturned, "was removed"},
		"temporary": {func(dir string) error { return os.WriteFile(filepath.Join(dir, oldest.name()+syncSuffix), nil, 0o644) }, result.FilesReturned, "was renamed"},
	} {
		t.Run(name, func(t *testing.T) {
			env, step := synced(t, syncOps)
			if err := c.damage(filepath.Join(env.Mount, step.Dir)); err != nil {
				t.Fatal(err)
			}
			found, notes := looked(env, step)
			want := map[string]int{result.FilesWhole: len(plan.live) - 1, c.want: 1}
			if c.want == result.FilesReturned {
				want[result.FilesWhole]++
			}
			if d := cmp.Diff(want, found); d != "" || !strings.Contains(notes, c.note) || strings.Count(notes, "\n") != 1 {
				t.Errorf("%s%s", d, notes)
			}
		})
	}
	env, step := synced(t, syncOps)
	if err := os.RemoveAll(filepath.Join(env.Mount, step.Dir)); err != nil {
		t.Fatal(err)
	}
	if found, notes := looked(env, step); found[result.FilesMissing] != len(plan.live) || !strings.Contains(notes, "and ") {
		t.Errorf("all gone: %v %s", found, notes)
	}
}

// versionOf is the previous contents of a file.
func versionOf(f syncFile) ([]byte, error) {
	for p := (&syncPlan{seed: 11, space: syncRoom}); p.number < f.version; {
		if o := p.next(); o.number == f.version && o.kind == syncRename {
			return p.contents(o.old, make([]byte, syncMost+8)), nil
		}
	}
	return nil, fmt.Errorf("%s was never renamed", f.name())
}

// Partial results of an operation in flight are not a loss.
func TestSyncVerifyAllowsOperationsInFlight(t *testing.T) {
	plan := &syncPlan{seed: 11, space: syncRoom}
	kinds := map[syncKind]int{}
	for ops := 1; ops < syncOps; ops++ {
		plan.next()
		ahead := *plan
		ahead.live = append([]syncFile(nil), plan.live...)
		next := ahead.next()
		if kinds[next.kind]++; kinds[next.kind] > 2 {
			continue
		}
		env, step := synced(t, ops)
		path := filepath.Join(env.Mount, step.Dir, next.file.name())
		var err error
		switch next.kind {
		case syncCreate:
			err = os.WriteFile(path, []byte("garbage"), 0o644)
		case syncRename:
			err = os.WriteFile(path+syncSuffix, nil, 0o644)
		case syncRemove:
			err = os.Remove(path)
		}
		if err != nil {
			t.Fatal(err)
		}
		found, notes := looked(env, step)
		delete(found, result.FilesWhole)
		if d := cmp.Diff(map[string]int{result.FilesUnfinished: 1}, found); d != "" || notes != "" {
			t.Errorf("after %d operations, %d in flight: %s%s", ops, next.kind, d, notes)
		}
	}
	if kinds[syncCreate] == 0 || kinds[syncRename] == 0 || kinds[syncRemove] == 0 {
		t.Errorf("operations in flight: %v", kinds)
	}
}

func TestRecoveries(t *testing.T) {
	log := []string{"UBIFS (ubi0:0): recovery needed", "UBIFS (ubi0:0): mounted UBI device 0", "ext4: error", "jffs2: Empty flash at 0x1 ends at 0x2", "nandsim: module verification failed",
		"ubi0: good PEBs: 1024, bad PEBs: 0, corrupted PEBs: 0", " ubifs_recover_leb+0x90/0x990 [ubifs]"}
	if got := recoveries(log, "ubifs"); !cmp.Equal(got, log[:1]) {
		t.Errorf("%q", got)
	}
	if got := recoveries(log, "jffs2"); !cmp.Equal(got, log[3:4]) {
		t.Errorf("%q", got)
	}
}
