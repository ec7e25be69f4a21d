package workload

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"whichfs/internal/filesystem"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/testing/needs"
)

// contentsBelow adds up the contents of files below a directory, counting names of one file once.
func contentsBelow(t *testing.T, dir string) (files int, bytes int64) {
	t.Helper()
	seen := map[uint64]bool{}
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		files++
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		if !seen[st.Ino] {
			seen[st.Ino], bytes = true, bytes+info.Size()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files, bytes
}

// The data written depend only on the size of the storage, and can be read and compared by later
// steps.
func TestFillSize(t *testing.T) {
	needs.Devices(t)
	// Data written for a size: half of it, less the rest that no file of the last copy
	// fits into.
	for size, want := range map[int64]int64{20_000_000: 9_879_000, 6_920_000: 3_460_000, 7_120_000: 3_531_000, 1_000_000: 476_000} {
		var first []string
		for _, options := range []string{"size=64m", "size=64m,nr_inodes=10000"} {
			env := makeEnv(t, mountTmpfs(t, options), mixedTree())
			env.Size = size
			step := scenario.Step{Data: "tree", Dir: "root", Share: 0.5}
			tally, _ := must(t, env, FillSize, step)
			files, bytes := contentsBelow(t, filepath.Join(env.Mount, "root"))
			if bytes != want || tally.Bytes != bytes {
				t.Errorf("%d bytes of %d, want %d, and it says %+v", bytes, size/2, want, tally)
			}
			step.Share = 0
			read, _ := must(t, env, TreeRead, step)
			if read.Bytes < bytes {
				t.Errorf("read %+v of %d", read, bytes)
			}
			_, x := must(t, env, TreeCompare, step)
			wantCompared(t, x, files+links(t, env), 0, 0, 0)
			var names []string
			_ = filepath.Walk(env.Mount, func(path string, _ os.FileInfo, _ error) error {
				names = append(names, strings.TrimPrefix(path, env.Mount))
				return nil
			})
			if first == nil {
				first = names
			} else if fmt.Sprint(first) != fmt.Sprint(names) {
				t.Errorf("%v\n%v", first, names)
			}
		}
	}
}

func links(t *testing.T, env *Env) (n int) {
	t.Helper()
	_ = filepath.Walk(env.Mount, func(_ string, info os.FileInfo, _ error) error {
		if info.Mode()&os.ModeSymlink != 0 {
			n++
		}
		return nil
	})
	return n
}

func wantCompared(t *testing.T, x Extra, whole, wrong, unreadable, missing int) {
	t.Helper()
	want := map[string]int{result.FilesWhole: whole, result.FilesWrong: wrong, result.FilesUnreadable: unreadable, result.FilesMissing: missing}
	for _, m := range x.Measurements {
		if n, ok := want[m.Metric]; ok && (m.Value != float64(n) || m.Absent != "") {
			t.Errorf("%+v, want %d; %+v", m, n, x.Notes)
		}
		delete(want, m.Metric)
	}
	if len(want) > 0 {
		t.Errorf("no %v", want)
	}
}

func TestFillSizeEnds(t *testing.T) {
	needs.Devices(t)
	env := makeEnv(t, mountTmpfs(t, "size=4m"), mixedTree())
	env.Size = 100_000_000
	for _, share := range []float64{0, 1.5} {
		_, _, err := perform(t, env, FillSize, scenario.Step{Data: "tree", Dir: "d", Share: share})
		wantFailure(t, err, result.Refused, "a share of")
	}
	_, _, err := perform(t, env, FillSize, scenario.Step{Data: "tree", Dir: "d", Share: 1e-6})
	wantFailure(t, err, result.Refused, "no file of the tree")
	_, _, err = perform(t, env, FillSize, scenario.Step{Data: "tree", Dir: "d", Share: 0.5})
	wantFailure(t, err, result.SubjectFailed, "full after 3971000 of 49980000 bytes")
	env.Size, env.Name = 0, "no-such-device"
	_, _, err = perform(t, env, FillSize, scenario.Step{Data: "tree", Dir: "d", Share: 0.5})
	if err == nil || !strings.Contains(err.Error(), "/sys/class/block/no-such-device/size") {
		t.Errorf("%v", err)
	}
}

// Damage is a result and not a failure.
func TestTreeCompare(t *testing.T) {
	needs.Devices(t)
	env := makeEnv(t, mountTmpfs(t, "size=64m"), mixedTree())
	step := scenario.Step{Data: "tree", Dir: "d", Count: 2}
	must(t, env, TreeCopy, step)
	_, x := must(t, env, TreeCompare, step)
	wantCompared(t, x, 2*62, 0, 0, 0)
	if len(x.Notes) > 0 {
		t.Errorf("%+v", x.Notes)
	}
	at := func(name string) string { return filepath.Join(env.Mount, "d", name) }
	must1 := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	change := func(name string, offset int64, text string) {
		t.Helper()
		f, err := os.OpenFile(at(name), os.O_WRONLY, 0)
		must1(err)
		_, err = f.WriteAt([]byte(text), offset)
		must1(err)
		must1(f.Close())
	}
	change("1/a/01", 50_700, "#") // 51,000 of b
	must1(os.Truncate(at("1/a/02"), 100_000))
	change("1/a/03", 1000, "d") // one more than there was
	must1(os.Remove(at("1/a/04")))
	must1(os.Remove(at("1/a/link")))
	must1(os.Symlink("elsewhere", at("1/a/link")))
	must1(os.Remove(at("1/a/05")))
	must1(os.Mkdir(at("1/a/05"), 0o755)) // reading it ends in an error
	must1(os.RemoveAll(at("2/a/empty"))) // directories are no files
	_, x = must(t, env, TreeCompare, step)
	wantCompared(t, x, 2*62-6, 4, 1, 1)
	for _, want := range []string{
		`"d/1/a/01" differs from what was written, from byte 50700 of 51000 on`,
		`"d/1/a/02" has 100000 bytes, but 101000 were written`,
		`"d/1/a/03" has 1001 bytes; all 1000 that were written are there`,
		`"d/1/a/04" is missing`, `"d/1/a/05": reading its 101000 bytes ended at byte 0: is a directory`, "1 more files",
	} {
		if !noted(x, want) {
			t.Errorf("no %q in %+v", want, x.Notes)
		}
	}
	must1(os.Remove(at("2/a/link")))
	_, x = must(t, env, TreeCompare, step)
	wantCompared(t, x, 2*62-7, 4, 1, 2)
	must1(os.WriteFile(at("2/a/link"), nil, 0o644)) // readlink fails
	_, x = must(t, env, TreeCompare, step)
	wantCompared(t, x, 2*62-7, 4, 2, 1)
	// A missing directory takes everything in it along, and so does a missing copy.
	must1(os.RemoveAll(at("1/a")))
	must1(os.RemoveAll(at("2")))
	_, x = must(t, env, TreeCompare, step)
	wantCompared(t, x, 1, 0, 0, 123)
	for _, m := range x.Measurements {
		if m.Metric == result.MountReadOnly && (m.Value != 0 || m.Absent != "") {
			t.Errorf("%+v", m)
		}
	}
	must1(unix.Mount("", env.Mount, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	_, x = must(t, env, TreeCompare, step)
	if !noted(x, "became read-only") {
		t.Errorf("%+v", x.Notes)
	}
	readOnly, err := filesystem.Parse("erofs")
	must1(err)
	env.Candidate = readOnly
	_, x = must(t, env, TreeCompare, scenario.Step{Data: "tree", Dir: "d/1"})
	for _, m := range x.Measurements {
		if m.Metric == result.MountReadOnly && m.Absent == "" {
			t.Errorf("%+v", m)
		}
	}
	_, _, err = perform(t, env, TreeCompare, scenario.Step{Data: "none", Dir: "d"})
	wantFailure(t, err, result.Refused, `no tree "none"`)
}

func noted(x Extra, text string) bool {
	for _, n := range x.Notes {
		if strings.Contains(n.Text, text) {
			return true
		}
	}
	return false
}

// The image of a tree is the tree itself, however it got there.
func TestTreeCompareImage(t *testing.T) {
	env := makeEnv(t, t.TempDir(), mixedTree())
	if err := env.Trees["tree"].Extract(env.Mount); err != nil {
		t.Fatal(err)
	}
	env.Way = filesystem.WayImage
	_, x := must(t, env, TreeCompare, scenario.Step{Data: "tree"})
	wantCompared(t, x, 62, 0, 0, 0)
}

func TestFillSizeAllocatesNothing(t *testing.T) {
	needs.Devices(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	env := makeEnv(t, mountTmpfs(t, "size=64m"), mixedTree())
	env.Size = 40_000_000
	for _, k := range []Kind{FillSize, TreeCompare} {
		least := ^uint64(0)
		for i := range 3 {
			job, err := k.Setup(t.Context(), env, scenario.Step{Work: k.Name, Data: "tree", Dir: fmt.Sprint(i), Share: 0.2})
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
			least = min(least, after.Mallocs-before.Mallocs)
		}
		if least != 0 {
			t.Errorf("%s: %d allocations", k.Name, least)
		}
	}
}
