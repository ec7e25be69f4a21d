package agent

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"whichfs/internal/filesystem"
	"whichfs/internal/result"
	"whichfs/internal/target/kmod/kmodtest"
	"whichfs/internal/target/workload"
	"whichfs/internal/wire"
)

const moduleRelease = "6.1.0-56-amd64"

// withTree is an agent on a kernel whose tree holds only mtd.
func withTree(t *testing.T) *Agent {
	t.Helper()
	root := t.TempDir()
	dir := filepath.Join(root, "lib/modules", moduleRelease)
	if err := os.MkdirAll(filepath.Join(dir, "kernel"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string][]byte{
		"modules.dep": []byte("kernel/ext4.ko:\n"), "kernel/ext4.ko": kmodtest.Build(kmodtest.Module("ext4", moduleRelease+" SMP ")),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), body, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	modules, err := workload.ReadModules(root, moduleRelease)
	if err != nil {
		t.Fatal(err)
	}
	return &Agent{modules: modules, work: t.TempDir()}
}

// disk is a file as a guest's disk shows it: followed by zeros.
func disk(t *testing.T, body []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "vdb")
	if err := os.WriteFile(path, append(body, make([]byte, 512)...), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestGiveModules(t *testing.T) {
	a := withTree(t)
	body := kmodtest.Build(kmodtest.Module("yaffs2", moduleRelease+" SMP "))
	if err := a.giveModules(t.Context(), []wire.Module{{Name: "my-yaffs.ko", Path: disk(t, body), Size: int64(len(body))}}); err != nil {
		t.Fatal(err)
	}
	order := a.modules.Order("yaffs2")
	if len(order) != 1 {
		t.Fatalf("order %q", order)
	}
	copied, err := os.ReadFile(filepath.Join(a.modules.Dir, order[0]))
	if err != nil || string(copied) != string(body) {
		t.Errorf("the copy in memory: %d bytes, %v", len(copied), err)
	}
	if c := a.moduleConditions(); len(c) != 1 || c[0].Name != "module yaffs2" || !c[0].Matters || !strings.HasPrefix(c[0].Value, "my-yaffs.ko, ") {
		t.Errorf("conditions %+v", c)
	}
	c, err := filesystem.Parse("yaffs2")
	if err != nil {
		t.Fatal(err)
	}
	var cs result.Support
	if a.judge(t.Context(), &cs, c, "nodev\tproc\n"); cs.Reason != "" {
		t.Errorf("%+v", cs)
	}
}

// A build of the driver with other settings has another name.
func TestGiveOtherModule(t *testing.T) {
	a := withTree(t)
	body := kmodtest.Build(kmodtest.Module("yaffs2multi", moduleRelease+" SMP "))
	if err := a.giveModules(t.Context(), []wire.Module{{Name: "yaffs2multi.ko", Path: disk(t, body), Size: int64(len(body))}}); err != nil {
		t.Fatal(err)
	}
	c, err := filesystem.Parse("yaffs2")
	if err != nil {
		t.Fatal(err)
	}
	var cs result.Support
	if a.judge(t.Context(), &cs, c, "nodev\tproc\n"); cs.Reason != "" {
		t.Errorf("%+v", cs)
	}
	if name := a.modules.Driver(c.Filesystem()); name != "yaffs2multi" {
		t.Errorf("the driver is %s", name)
	}
}

func TestGiveModulesRefuses(t *testing.T) {
	other := kmodtest.Build(kmodtest.Module("x", "6.12.0-1-amd64 SMP "))
	for name, c := range map[string]struct {
		body       []byte
		want, hint string
	}{
		"another kernel": {other, "x.ko is built for kernel 6.12.0-1-amd64, but " + moduleRelease + " is running", "linux-headers-" + moduleRelease},
		"damaged":        {other[:100], "x.ko is not a kernel module", ".ko"},
	} {
		err := withTree(t).giveModules(t.Context(), []wire.Module{{Name: "x.ko", Path: disk(t, c.body), Size: int64(len(c.body))}})
		var f *result.Failure
		if !errors.As(err, &f) || f.Outcome != result.Refused || !strings.Contains(f.Reason, c.want) || !strings.Contains(f.Hint, c.hint) {
			t.Errorf("%s: %+v", name, err)
		}
	}
	for _, size := range []int64{0, -1, 1 << 40, int64(len(other)) + 513} { // the last is more than there is
		if err := withTree(t).giveModules(t.Context(), []wire.Module{{Name: "x.ko", Path: disk(t, other), Size: size}}); err == nil {
			t.Errorf("%d bytes were read", size)
		}
	}
}

func TestNoDriver(t *testing.T) {
	for line, want := range map[string][2]string{
		"yaffs2": {"this kernel has no driver for YAFFS2 (it was never part of the mainline kernel)", "--module yaffs2.ko, built for kernel " + moduleRelease},
		"xfs":    {"this kernel has no driver for XFS", "use a kernel with module xfs"},
	} {
		c, err := filesystem.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		var cs result.Support
		withTree(t).judge(t.Context(), &cs, c, "nodev\tproc\n")
		if cs.Outcome != result.Unsupported || cs.Reason != want[0] || !strings.HasPrefix(cs.Hint, want[1]) {
			t.Errorf("%s: %+v", line, cs)
		}
	}
}
