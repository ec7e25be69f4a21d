package workload

import (
	"debug/elf"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"whichfs/internal/result"
	"whichfs/internal/target/kmod"
	"whichfs/internal/target/kmod/kmodtest"
)

const testRelease = "6.1.0-56-amd64"

// moduleTree is a kernel's tree below a temporary root.
func moduleTree(t *testing.T) *Modules {
	t.Helper()
	root := t.TempDir()
	dir := filepath.Join(root, "lib/modules", testRelease)
	own := kmodtest.Module("mtd", testRelease+" SMP ")
	own.Sums = map[string]uint64{"module_layout": 1}
	for name, text := range map[string]string{
		"modules.dep":               "kernel/drivers/mtd/mtd.ko:\nkernel/fs/jffs2/jffs2.ko: kernel/drivers/mtd/mtd.ko\nkernel/lib/zlib.ko.xz:\n",
		"modules.builtin":           "kernel/fs/ext4/ext4.ko\n",
		"modules.softdep":           "softdep yaffs2 pre: zlib\n",
		"kernel/drivers/mtd/mtd.ko": string(kmodtest.Build(own)),
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m, err := ReadModules(root, testRelease)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func givenModule(name string, depends ...string) Given {
	return Given{
		File: kmod.File{Base: name + ".ko", Module: kmod.Module{Name: name, Depends: depends, Vermagic: testRelease + " SMP ", Machine: elf.EM_X86_64}},
		Path: "/tmp/whichfs-1/modules/" + name + ".ko",
	}
}

func TestGivenModulesComeFirst(t *testing.T) {
	m := moduleTree(t)
	k := m.KernelOf("amd64", []string{"mtd", "nothing", "zlib"})
	if want := (kmod.Kernel{Release: testRelease, Arch: "amd64", Vermagic: testRelease + " SMP ", Machine: elf.EM_X86_64,
		Versions: map[string]uint64{"module_layout": 1}}); !cmp.Equal(want, k) {
		t.Errorf("the kernel is %+v", k)
	}
	for _, g := range []Given{givenModule("yaffs2", "mtd", "helper"), givenModule("helper"), givenModule("jffs2")} {
		if err := m.Give(g, k, map[string]int64{"overlay": 1}); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Complete(nil); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{
		"yaffs2": {"kernel/lib/zlib.ko.xz", "kernel/drivers/mtd/mtd.ko", "/tmp/whichfs-1/modules/helper.ko", "/tmp/whichfs-1/modules/yaffs2.ko"},
		"jffs2":  {"/tmp/whichfs-1/modules/jffs2.ko"}, // and not the tree's
		"mtd":    {"kernel/drivers/mtd/mtd.ko"},
		"none":   nil,
	} {
		got := m.Order(name)
		for i, f := range got { // as those who load them find them
			if path := filepath.Join(m.Dir, f); strings.HasPrefix(path, "/tmp/whichfs-1/") {
				got[i] = path
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	if file, builtin := m.Has("yaffs2"); !file || builtin {
		t.Errorf("Has: %v, %v", file, builtin)
	}
	notes := m.givenNotes([]string{"mtd", "yaffs2"})
	if len(notes) != 1 || notes[0].Text != "module yaffs2 was loaded from the given yaffs2.ko" || notes[0].Level != result.Info {
		t.Errorf("notes %+v", notes)
	}
	fat := m.given["yaffs2"]
	fat.Debug = 2 << 20
	m.given["yaffs2"] = fat
	if notes := m.givenNotes([]string{"yaffs2"}); len(notes) != 1 || !strings.HasPrefix(notes[0].Text, "module yaffs2 was loaded from the given yaffs2.ko, of which 2.00 MiB are debug information") || !strings.Contains(notes[0].Text, "strip -g yaffs2.ko removes it") {
		t.Errorf("notes %+v", notes)
	}
}

func TestGivenModulesRefused(t *testing.T) {
	k := kmod.Kernel{Release: testRelease, Arch: "amd64", Vermagic: testRelease + " SMP "}
	other := givenModule("x")
	other.Vermagic = "6.12.0-1-amd64 SMP "
	for name, c := range map[string]struct {
		give       []Given
		want, hint string
	}{
		"twice":        {[]Given{givenModule("x"), givenModule("x")}, "are both module x", ""},
		"built in":     {[]Given{givenModule("ext4")}, "has ext4 built in", "omit --module"},
		"loaded":       {[]Given{givenModule("overlay")}, "has already loaded a module overlay", "rmmod overlay"},
		"other kernel": {[]Given{other}, "x.ko is built for kernel 6.12.0-1-amd64, but 6.1.0-56-amd64 is running", "linux-headers-6.1.0-56-amd64"},
		"needs more":   {[]Given{givenModule("x", "mtd", "y", "overlay", "ext4")}, "x.ko needs module y, which this kernel does not have", "--module y.ko"},
	} {
		m := moduleTree(t)
		loaded := map[string]int64{"overlay": 1}
		var err error
		for _, g := range c.give {
			err = errors.Join(err, m.Give(g, k, loaded))
		}
		err = errors.Join(err, m.Complete(loaded))
		var f *result.Failure
		if !errors.As(err, &f) || f.Outcome != result.Refused || !strings.Contains(f.Reason, c.want) || !strings.Contains(f.Hint, c.hint) {
			t.Errorf("%s: %+v", name, err)
		}
	}
}

func TestNotLoaded(t *testing.T) {
	m := moduleTree(t)
	if err := m.Give(givenModule("yaffs2"), kmod.Kernel{Release: testRelease, Arch: "amd64"}, nil); err != nil {
		t.Fatal(err)
	}
	var f *result.Failure
	if err := m.notLoaded("yaffs2", unix.ENOEXEC); !errors.As(err, &f) || f.Outcome != result.SubjectFailed ||
		!strings.Contains(f.Reason, "from the given yaffs2.ko: exec format error") || !strings.Contains(f.Hint, "linux-headers-"+testRelease) {
		t.Errorf("%+v", err)
	}
	if err := m.notLoaded("yaffs2", unix.EKEYREJECTED); !errors.As(err, &f) || !strings.Contains(f.Hint, "only signed modules") {
		t.Errorf("%+v", err)
	}
	if err := m.notLoaded("mtd", unix.ENOEXEC); !errors.As(err, &f) || f.Reason != "loading module mtd: exec format error" || f.Hint != "" {
		t.Errorf("%+v", err)
	}
}
