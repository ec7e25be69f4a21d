package workload

import (
	"archive/tar"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/filesystem"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/testing/needs"
)

func TestBootRootRefuses(t *testing.T) {
	needs.Devices(t)
	env := makeEnv(t, mountTmpfs(t, "size=1m"), []header{{tar.TypeReg, "etc", "x", 0o644}})
	for name, c := range map[string]struct {
		step scenario.Step
		want string
	}{
		"directory": {scenario.Step{Data: "tree", Dir: "x"}, `in the directory "x"`},
		"no tree":   {scenario.Step{Data: "shrub"}, `no tree "shrub"`},
		"too large": {scenario.Step{Data: "tree"}, "its first process of "}, // this test's own binary
	} {
		_, _, err := perform(t, env, BootRoot, c.step)
		if wantFailure(t, err, result.Refused, c.want); t.Failed() {
			t.Fatal(name)
		}
	}
	env.FS.ReadOnly = true
	if job, err := BootRoot.Setup(context.Background(), env, scenario.Step{Data: "tree"}); err != nil || !strings.Contains(job.Absent, "as an image") {
		t.Errorf("%+v, %v", job, err)
	}
}

// Earlier contents are gone, except those made by the filesystem's own tools; afterwards the
// storage holds the tree and this program.
func TestBootRoot(t *testing.T) {
	needs.Devices(t)
	work := t.TempDir()
	env := makeEnv(t, loopMount(t, "128M", "mkfs.ext4", "-q"), oddTree())
	// The step unmounts; a second mount of the same device keeps it visible.
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if words := strings.Fields(line); words[1] == env.Mount {
			env.Device = words[0]
		}
	}
	env.FS.Name, env.FS.Own = "ext4", []string{"lost+found"}
	run(t, "mount", env.Device, work)
	t.Cleanup(func() { // loopMount unmounts its own
		run(t, "mount", env.Device, env.Mount)
		run(t, "umount", work)
	})
	old := filepath.Join(env.Mount, "old/er/file")
	if err := os.MkdirAll(filepath.Dir(old), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(old, []byte("x"), 0o400); err != nil {
		t.Fatal(err)
	}
	tally, _ := must(t, env, BootRoot, scenario.Step{Data: "tree"})
	if env.Mounted || tally.Files != int64(len(oddTree()))+3 {
		t.Errorf("mounted %v, %d entries", env.Mounted, tally.Files)
	}
	if _, err := os.Stat(filepath.Join(work, "old")); !os.IsNotExist(err) {
		t.Errorf("what was there is left: %v", err)
	}
	for _, name := range []string{"lost+found", "etc/Case", "closed/in", Userspace, "etc/inittab", "proc", "sys", "dev"} {
		if _, err := os.Stat(filepath.Join(work, name)); err != nil {
			t.Error(err)
		}
	}
	self, err := os.Stat("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(work, FirstProcess)); err != nil || info.Size() != self.Size() || info.Mode().Perm() != 0o755 {
		t.Errorf("the first process: %v, %v", info, err)
	}
}

func TestDriverFiles(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "lib/modules/1")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"modules.dep": "kernel/fs/fat/vfat.ko: kernel/fs/fat/fat.ko\nkernel/fs/fat/fat.ko:\nkernel/fs/nls/nls_ascii.ko:\nkernel/fs/nls/nls_cp437.ko:\n" +
			"kernel/fs/f2fs/f2fs.ko: kernel/crypto/crc32_generic.ko\nkernel/crypto/crc32_generic.ko:\n" +
			"kernel/fs/erofs/erofs.ko: kernel/lib/libcrc32c.ko\nkernel/lib/libcrc32c.ko:\nkernel/crypto/crc32c_generic.ko:\n",
		"modules.builtin": "kernel/fs/ext4/ext4.ko\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	modules, err := ReadModules(root, "1")
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"vfat": "fat.ko vfat.ko nls_ascii.ko nls_cp437.ko", "f2fs": "crc32_generic.ko f2fs.ko", "ext4": "",
		"erofs": "crc32c_generic.ko libcrc32c.ko erofs.ko", // which libcrc32c requests by name
	} {
		c, err := filesystem.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		files, err := DriverFiles(modules, c)
		var names []string
		for _, f := range files {
			names = append(names, filepath.Base(f))
		}
		if line == "vfat" && len(names) == 4 {
			slices.Sort(names[2:]) // their order means nothing
		}
		if got := strings.Join(names, " "); err != nil || got != want {
			t.Errorf("%s: %s, %v", line, got, err)
		}
	}
	c, err := filesystem.Parse("xfs")
	if err != nil {
		t.Fatal(err)
	}
	_, err = DriverFiles(modules, c)
	wantFailure(t, err, result.Unsupported, "no module xfs")
}
