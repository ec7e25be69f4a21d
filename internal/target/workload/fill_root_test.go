package workload

import (
	"archive/tar"
	"context"
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

// mixedTree has files of a few kilobytes up to half a megabyte, links and an
// empty directory: 3 MB.
func mixedTree() []header {
	hs := []header{{tar.TypeDir, "a", "", 0o755}, {tar.TypeDir, "a/empty", "", 0o755}}
	for i := range 60 {
		hs = append(hs, header{tar.TypeReg, fmt.Sprintf("a/%02d", i), strings.Repeat(string(rune('a'+i%26)), 1000+50_000*(i%3)+400_000*(i/59)), 0o644})
	}
	return append(hs, header{tar.TypeSymlink, "a/link", "07", 0o777}, header{tar.TypeLink, "hard", "a/59", 0o644})
}

func TestFill(t *testing.T) {
	needs.Devices(t)
	for name, mkfs := range map[string][]string{
		"ext4": {"mkfs.ext4", "-q"}, "btrfs": {"mkfs.btrfs", "-q", "--mixed"},
	} {
		t.Run(name, func(t *testing.T) {
			env := makeEnv(t, loopMount(t, "64M", mkfs...), mixedTree())
			c, err := filesystem.Parse(name)
			if err != nil {
				t.Fatal(err)
			}
			env.Candidate, env.FS.Lacks = c, c.Filesystem().Lacks
			for i, share := range []float64{0.33, 0.8} {
				tally, x := must(t, env, Fill, scenario.Step{Data: "tree", Dir: fmt.Sprintf("fill/%d", i), Share: share})
				var st unix.Statfs_t
				if err := unix.Statfs(env.Mount, &st); err != nil {
					t.Fatal(err)
				}
				used, total := float64(st.Bsize)*float64(st.Blocks-st.Bfree), float64(st.Bsize)*float64(st.Blocks)
				if off := used/total - share; off < -0.01 || off > 0.01 {
					t.Errorf("%.4f in use, want %v; %+v", used/total, share, x.Notes)
				}
				told := x.Measurements[len(x.Measurements)-1]
				if told.Metric != result.SpaceFull || told.Value < used/total-0.005 || told.Value > used/total+0.005 {
					t.Errorf("it reports %+v, and %v is in use", told, used/total)
				}
				if tally.Files < 60 || float64(tally.Bytes) > used {
					t.Errorf("%+v in %v bytes", tally, used)
				}
			}
			// The files are whole: as in the tree, the last copy with fewer.
			top := filepath.Join(env.Mount, "fill/1")
			copies, err := os.ReadDir(top)
			if err != nil || len(copies) < 5 {
				t.Fatalf("%d copies, %v", len(copies), err)
			}
			for _, c := range copies {
				files, _ := filepath.Glob(filepath.Join(top, c.Name(), "a/[0-9]*"))
				for _, f := range files {
					var i int
					_, _ = fmt.Sscan(strings.TrimLeft(filepath.Base(f)+" ", "0")+" 0", &i)
					if info, err := os.Stat(f); err != nil || info.Size() != int64(1000+50_000*(i%3)+400_000*(i/59)) {
						t.Fatalf("%s: %v, %v", f, info, err)
					}
				}
			}
		})
	}
}

func TestFillRefusesAndEnds(t *testing.T) {
	needs.Devices(t)
	env := makeEnv(t, mountTmpfs(t, "size=16m,nr_inodes=300"), mixedTree())
	for _, c := range []struct {
		share float64
		want  string
	}{{0, "a share of 0"}, {1.01, "a share of 1.01"}, {0.1, "cannot fill the filesystem: 1677721 bytes are missing to 10 %"}} {
		_, _, err := perform(t, env, Fill, scenario.Step{Data: "tree", Share: c.share})
		wantFailure(t, err, result.Refused, c.want)
	}
	// Full before the share is reached: 300 inodes are few.
	_, x := must(t, env, Fill, scenario.Step{Data: "tree", Dir: "f", Share: 1})
	if n := x.Notes[len(x.Notes)-1]; n.Level != result.Warning || !strings.Contains(n.Text, "was full at ") {
		t.Errorf("%+v", x.Notes)
	}
	_, _, err := perform(t, env, Fill, scenario.Step{Data: "tree", Dir: "f", Share: 0.5})
	wantFailure(t, err, result.Refused, "0 bytes are missing")
}

// Filling allocates nothing.
func TestFillAllocatesNothing(t *testing.T) {
	needs.Devices(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	env := makeEnv(t, mountTmpfs(t, "size=64m"), mixedTree())
	least := ^uint64(0)
	for i := range 3 {
		job, err := Fill.Setup(context.Background(), env, scenario.Step{Work: "fill", Data: "tree", Dir: fmt.Sprint(i), Share: 0.2 + 0.2*float64(i)})
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
		t.Errorf("%d allocations", least)
	}
}
