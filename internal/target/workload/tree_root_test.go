package workload

import (
	"archive/tar"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/testing/needs"
)

func mountTmpfs(t *testing.T, options string) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, 0) })
	return dir
}

// The contents fit, but not the filesystem's own structures.
func TestFilesystemFull(t *testing.T) {
	needs.Devices(t)
	env := makeEnv(t, mountTmpfs(t, "size=1m,nr_inodes=60"), oddTree())
	_, _, err := perform(t, env, TreeCopy, scenario.Step{Data: "tree", Dir: "x"})
	wantFailure(t, err, result.SubjectFailed, `no space left on device`)
	if err == nil || !strings.Contains(err.Error(), `"x/1/deep/0/`) {
		t.Errorf("the path is not named: %v", err)
	}
	env = makeEnv(t, mountTmpfs(t, "size=1m"), nil)
	if err := os.WriteFile(filepath.Join(env.Mount, "fill"), make([]byte, 900_000), 0o644); err != nil {
		t.Fatal(err)
	}
	_, _, err = perform(t, env, StreamWrite, scenario.Step{Data: "video", Dir: "s"})
	wantFailure(t, err, result.Refused, "3000001 bytes are needed")
}

// A filesystem that turns read-only between two steps, as ext4 does on errors.
func TestReadOnlyTarget(t *testing.T) {
	needs.Devices(t)
	mount := mountTmpfs(t, "size=8m")
	env := makeEnv(t, mount, oddTree())
	must(t, env, TreeCopy, scenario.Step{Data: "tree", Dir: "x", Count: 2})
	if err := unix.Mount("", mount, "", unix.MS_REMOUNT|unix.MS_RDONLY, "size=8m"); err != nil {
		t.Fatal(err)
	}
	for _, k := range []Kind{TreeCopy, TreeRotate, TreeRemove, StreamWrite} {
		step := scenario.Step{Data: "tree", Dir: "x", Count: 2}
		if k.Name == StreamWrite.Name {
			step.Data, step.Dir = "video", "new"
		}
		_, _, err := perform(t, env, k, step)
		if err == nil || k.Name == TreeCopy.Name && !strings.Contains(err.Error(), "file exists") &&
			!strings.Contains(err.Error(), "read-only file system") {
			t.Errorf("%s: %v", k.Name, err)
		}
		if k.Name != TreeCopy.Name {
			wantFailure(t, err, result.SubjectFailed, "read-only file system")
		}
	}
	must(t, env, TreeRead, scenario.Step{Data: "tree", Dir: "x", Count: 2})
}

func TestTreeClone(t *testing.T) {
	needs.Devices(t)
	noUmask(t)
	hs := append(oddTree(), header{tar.TypeReg, "large", strings.Repeat("0123456789abcdef", 1<<19), 0o644})
	env := makeEnv(t, loopMount(t, "128M", "mkfs.btrfs", "-q"), hs)
	env.FS.Reflink = true
	step := scenario.Step{Data: "tree", Dir: "x"}
	must(t, env, TreeCopy, step)
	var before, after unix.Statfs_t
	_ = unix.Statfs(env.Mount, &before)
	cloned, _ := must(t, env, TreeClone, step)
	_ = unix.Statfs(env.Mount, &after)
	if digest(t, filepath.Join(env.Mount, "x/1")) != digest(t, filepath.Join(env.Mount, "x/clone")) {
		t.Error("the clone differs")
	}
	if cloned.Files != int64(len(hs)) {
		t.Errorf("%+v", cloned)
	}
	if taken := int64(before.Bfree-after.Bfree) * int64(before.Bsize); taken > 4<<20 { //nolint:unconvert // 32 bits wide somewhere
		t.Errorf("the clone took %d bytes: the data was copied", taken)
	}
}

// If cloning is unsupported, the figure is absent and nothing fails.
func TestTreeCloneAbsent(t *testing.T) {
	needs.Devices(t)
	env := makeEnv(t, mountTmpfs(t, "size=8m"), oddTree())
	step := scenario.Step{Work: "tree-clone", Data: "tree", Dir: "x"}
	must(t, env, TreeCopy, step)
	for _, reflink := range []bool{false, true} {
		env.FS.Reflink = reflink
		job, err := TreeClone.Setup(t.Context(), env, step)
		if err != nil || job.Absent == "" || job.Run != nil {
			t.Errorf("reflink %v: %+v, %v", reflink, job, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(env.Mount, "x", "try-*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}
