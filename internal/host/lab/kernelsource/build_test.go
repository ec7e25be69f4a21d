package kernelsource

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"whichfs/internal/host/lab"
	"whichfs/internal/result"
	"whichfs/internal/testing/must"
)

// contents describes a tree: names, times and sizes.
func contents(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		all = append(all, fmt.Sprint(path, info.ModTime(), info.Size()))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A kernel is built once from a source that stays as it is, and --kernel finds it by its version.
func TestBuild(t *testing.T) {
	_, source := stage(t)
	before := contents(t, source)
	k, built, err := Build(t.Context(), source, "", false, func(string) {})
	if err != nil || !built {
		t.Fatalf("%t, %v", built, err)
	}
	if !slices.Equal(contents(t, source), before) {
		t.Error("the source has changed")
	}
	if version, digest, _ := strings.Cut(k.Release, "-"); version != "4.9.337" || len(digest) != 8 || k.Series() != "4.9" ||
		k.Made.Source != source || k.Made.Compiler != "gcc (Debian 12.2.0-14) 12.2.0" || k.Own || k.Package != "" {
		t.Errorf("%+v, %+v", k, k.Made)
	}
	if filepath.Base(k.File) != "vmlinuz" { // it has no PVH entry
		t.Errorf("QEMU boots %s", k.File)
	}
	for _, asked := range []string{"4.9", k.Release} {
		if o, err := lab.FindKernel(t.Context(), lab.Native(), asked); err != nil || o.Release != k.Release {
			t.Errorf("%s: %+v, %v", asked, o, err)
		}
	}
	if all, err := lab.FromSource(); err != nil || len(all) != 1 || all[0].Root != k.Root {
		t.Errorf("%+v, %v", all, err)
	}
	if all := lab.Unfinished(); len(all) != 0 {
		t.Errorf("unfinished: %v", all)
	}
	same, built, err := Build(t.Context(), source, "", false, func(string) {})
	if err != nil || built || same.Root != k.Root || same.Made.Built != k.Made.Built {
		t.Errorf("again: %+v, %t, %v", same, built, err)
	}
	if again, built, err := Build(t.Context(), source, "", true, func(string) {}); err != nil || !built || again.Root != k.Root {
		t.Errorf("--force: %+v, %t, %v", again, built, err)
	}
	set(t, source, "arch/arm/head.S", "changed, and for another processor")
	if _, built, err := Build(t.Context(), source, "", false, func(string) {}); err != nil || built {
		t.Errorf("what the kernel has nothing of has changed: %t, %v", built, err)
	}
	// Another source is another kernel, and both stay.
	set(t, source, "fs/super.c", "changed")
	other, built, err := Build(t.Context(), source, "", false, func(string) {})
	if err != nil || !built || other.Release == k.Release {
		t.Errorf("a changed source: %+v, %t, %v", other, built, err)
	}
	if all, err := lab.FromSource(); err != nil || len(all) != 2 {
		t.Errorf("%+v, %v", all, err)
	}
}

// What a source lacks is said, and what the lab needs is an error that names it.
func TestLacks(t *testing.T) {
	dir, source := stage(t)
	unset := set(t, dir, "vanishes", "CONFIG_EROFS_FS=m\nCONFIG_XFS_FS=m\n# CONFIG_LOCALVERSION_AUTO is not set\n")
	var said []string
	if _, _, err := Build(t.Context(), source, "", false, func(line string) { said = append(said, line) }); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"without 1 option that this source does not have: EROFS_FS", "not as the lab wants it, by the source's own rules (Kconfig): CONFIG_XFS_FS=m"} {
		if !slices.Contains(said, want) {
			t.Errorf("%q lacks %q", said, want)
		}
	}
	unset()
	set(t, dir, "vanishes", "CONFIG_OVERLAY_FS=m\nCONFIG_VIRTIO_BLK=y\n")
	set(t, source, "fs/super.c", "changed")
	_, _, err := Build(t.Context(), source, "", false, func(string) {})
	f := result.FailureOf(err)
	if f == nil || f.Outcome != result.Refused || f.Reason != "Linux 4.9.337 in "+source+" lacks what the lab cannot do without: CONFIG_VIRTIO_BLK, CONFIG_OVERLAY_FS" {
		t.Errorf("%v", err)
	}
}

// Options of the user's come before the lab's, make another kernel, and are in force or refused.
func TestOwnConfiguration(t *testing.T) {
	dir, source := stage(t)
	file := filepath.Join(t.TempDir(), "my.config")
	build := func(text string) (lab.Kernel, error) {
		must.Do(t, os.WriteFile(file, []byte(text), 0o600))
		k, _, err := Build(t.Context(), source, file, false, func(string) {})
		return k, err
	}
	plain, _, err := Build(t.Context(), source, "", false, func(string) {})
	must.Do(t, err)
	k, err := build("# smaller blocks\n\n# CONFIG_SQUASHFS_4K_DEVBLK_SIZE is not set\nCONFIG_EXT4_FS=y")
	if err != nil || k.Release == plain.Release {
		t.Fatal(k.Release, err)
	}
	tr, err := open(source, file)
	must.Do(t, err)
	for _, line := range []string{"# CONFIG_SQUASHFS_4K_DEVBLK_SIZE is not set", "CONFIG_EXT4_FS=y"} {
		name := "CONFIG_" + option(line)
		if got := tr.wanted(); !strings.Contains(got, "\n"+line+"\n") || strings.Count(got, name+"=")+strings.Count(got, name+" ") != 1 {
			t.Errorf("no %q alone in\n%s", line, got)
		}
	}
	for text, reason := range map[string]string{
		"CONFIG_EXT4_FS=m\nEXT4_FS=y\n":           file + `:2: "EXT4_FS=y" is no line of a kernel's configuration`,
		"#CONFIG_EXT4_FS=m\n# CONFIG_EXT4_FS=m\n": file + `:2: "# CONFIG_EXT4_FS=m" is no line`,
		"# CONFIG_VIRTIO_BLK is not set\n":        "lacks what the lab cannot do without: CONFIG_VIRTIO_BLK",
	} {
		if _, err := build(text); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%q: %v", text, err)
		}
	}
	set(t, dir, "vanishes", "CONFIG_XFS_FS=y\n")
	if _, err := build("# mine\nCONFIG_XFS_FS=y\n"); err == nil || !strings.Contains(err.Error(), "does not take from --kernel-config: CONFIG_XFS_FS=y") {
		t.Error(err)
	}
	if _, _, err := Build(t.Context(), source, file+".none", false, func(string) {}); err == nil || !strings.Contains(err.Error(), "--kernel-config: ") {
		t.Error(err)
	}
}

// A needed option that is in the kernel and not a module is there.
func TestNeededBuiltIn(t *testing.T) {
	_, source := stage(t)
	tr, err := open(source, "")
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Replace((&tree{}).wanted(), "CONFIG_OVERLAY_FS=m", "CONFIG_OVERLAY_FS=y", 1)
	if err := tr.compare(got, func(string) {}); err != nil {
		t.Error(err)
	}
}

func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(source string) error
		reason string
	}{
		"no directory": {func(s string) error { return os.RemoveAll(s) }, "Makefile: no such file or directory"},
		"no kernel":    {func(s string) error { return os.WriteFile(s+"/Makefile", []byte("all:\n"), 0o644) }, "is no kernel's source"},
		"not for PCs":  {func(s string) error { return os.RemoveAll(s + "/arch/x86") }, "is no kernel's source"},
		"built in":     {func(s string) error { return os.WriteFile(s+"/.config", nil, 0o644) }, "has been built in (it has .config)"},
		"not cleaned":  {func(s string) error { return os.MkdirAll(s+"/include/config", 0o755) }, "has been built in (it has include/config)"},
	} {
		t.Run(name, func(t *testing.T) {
			_, source := stage(t)
			if err := c.change(source); err != nil {
				t.Fatal(err)
			}
			_, _, err := Build(t.Context(), source, "", false, func(string) {})
			f := result.FailureOf(err)
			if f == nil || f.Outcome != result.Refused || !strings.Contains(f.Reason, c.reason) || f.Hint == "" {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestMissing(t *testing.T) {
	_, source := stage(t)
	t.Setenv("PATH", t.TempDir())
	elfHeader = "/nonexistent/gelf.h"
	_, _, err := Build(t.Context(), source, "", false, func(string) {})
	if err == nil || !strings.HasSuffix(err.Error(), "needs gcc, make, flex, bison, bc, /nonexistent/gelf.h: sudo apt-get install gcc make flex bison bc libelf-dev") {
		t.Errorf("%v", err)
	}
}

func TestCompilerFails(t *testing.T) {
	dir, source := stage(t)
	set(t, dir, "error", "")
	_, _, err := Build(t.Context(), source, "", false, func(string) {})
	if f := result.FailureOf(err); f == nil || f.Outcome != result.LabFailed || f.Reason != "the kernel from "+source+" cannot be built: fs/ext4.o failed: fs/ext4.c:12:3: error: unknown type name 'x'" {
		t.Errorf("%v", err)
	}
	if all, err := lab.FromSource(); err != nil || len(all) != 0 {
		t.Errorf("half a kernel: %+v, %v", all, err)
	}
}

func TestInterruptedBuildContinues(t *testing.T) {
	dir, source := stage(t)
	unset := set(t, dir, "hang", "")
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("interrupted")
	go func() {
		for !is(dir, "hanging") {
			time.Sleep(time.Millisecond)
		}
		cancel(why)
	}()
	var said []string
	say := func(line string) { said = append(said, line) }
	if _, _, err := Build(ctx, source, "", false, say); !errors.Is(err, why) {
		t.Fatalf("error %v", err)
	}
	if last := said[len(said)-1]; last != "the build is interrupted; the same command continues it" {
		t.Errorf("%q", last)
	}
	unset()
	said = nil
	if _, built, err := Build(t.Context(), source, "", false, say); err != nil || !built {
		t.Fatalf("%t, %v", built, err)
	}
	if !slices.ContainsFunc(said, func(line string) bool {
		return strings.HasPrefix(line, "compiling kernel 4.9.337-") && strings.Contains(line, ": 2 of about 1,900 files on ")
	}) {
		t.Errorf("%q", said)
	}
}
