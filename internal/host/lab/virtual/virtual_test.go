package virtual

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"whichfs/internal/host/lab"
	"whichfs/internal/result"
)

// left lists what is in the folder of kernels.
func left(t *testing.T) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(os.Getenv("WHICHFS_CACHE"), "lab/virtual"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// current is the recipe of a kernel.
func current(t *testing.T, which Choice) recipe {
	t.Helper()
	r, err := recipeFor(which)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestBuild(t *testing.T) {
	dir := stage(t)
	t.Setenv("MAKEFLAGS", "-j --jobserver-auth=3,4")
	if _, err := Locate(Choice{}); !errors.Is(err, ErrNotBuilt) || !strings.HasSuffix(err.Error(), ": run whichfs lab build --virtual") {
		t.Fatalf("Locate before the build: %v", err)
	}
	var said []string
	k, err := Build(t.Context(), Choice{}, func(s string) { said = append(said, s) })
	if err != nil {
		t.Fatal(err)
	}
	r, m := current(t, Choice{}), k.Manifest
	if m.Digest != r.digest() || m.Series != "6.1" || m.Release != "6.1.176-virtual" || m.Package != "linux-source-6.1" ||
		m.Version != "6.1.176-1" || m.Wanted != "" || m.Compiler != "gcc (Debian 12.2.0-14) 12.2.0" || m.Built.IsZero() {
		t.Errorf("manifest: %+v", m)
	}
	var stages []string
	sum := 0.0
	for _, s := range m.Stages {
		stages, sum = append(stages, s.Name), sum+s.Seconds
	}
	if want := []string{"fetch source", "unpack", "configure", "compile", "modules"}; !slices.Equal(stages, want) || sum > m.Seconds*1.001 || sum < m.Seconds*0.999 {
		t.Errorf("stages %v of %g s, want %v", m.Stages, m.Seconds, want)
	}
	if info, err := os.Stat(k.Program); err != nil || info.Mode()&0o111 == 0 {
		t.Errorf("program: %v, %v", info, err)
	}
	image, err := os.ReadFile(k.Modules)
	if err != nil || !strings.Contains(string(image), "-rw-r--r-- kernel/fs/erofs/erofs.ko\n") ||
		!strings.HasPrefix(string(image), "-rw-r--r-- kernel/crypto/crc32c_generic.ko") || strings.Contains(string(image), "build") {
		t.Errorf("image of modules: %v\n%s", err, image)
	}
	for _, want := range []string{
		"fetching the source of Linux 6.1, about 150 MB", "patch xstate.patch: Give a process's extended processor state all the room that it may need.",
		"compiling the virtual lab's kernel: 3 of about 1,240 files",
	} {
		if !slices.Contains(said, want) {
			t.Errorf("progress lacks %q: %q", want, said)
		}
	}
	if all := calls(t, dir, "apt-get"); len(all) != 2 || !strings.HasSuffix(all[1], " linux-source-6.1=6.1.176-1") {
		t.Errorf("apt-get: %q", all)
	}
	if n := len(calls(t, dir, "patch")); n != applied(t) {
		t.Errorf("%d patches", n)
	}
	if names := left(t); !slices.Equal(names, []string{r.digest()}) {
		t.Errorf("left behind: %v", names)
	}
	for name, want := range map[string]bool{"erofs": true, "ext4": true, "virtio_blk": true, "zfs": false} {
		if k.HasModule(name) != want {
			t.Errorf("module %s: %v", name, !want)
		}
	}
	made := len(calls(t, dir, "make"))
	again, err := Build(t.Context(), Choice{Series: "6.1"}, nil)
	if err != nil || again.Dir != k.Dir || len(calls(t, dir, "make")) != made {
		t.Errorf("a second build does not use the first: %v", err)
	}
	if _, err := Rebuild(t.Context(), Choice{Series: "6.1"}, nil); err != nil || len(calls(t, dir, "make")) != 2*made {
		t.Errorf("rebuild: %v", err)
	}
	if all, err := Kernels(); err != nil || len(all) != 1 || all[0].Dir != k.Dir || all[0].Size() <= 0 {
		t.Errorf("list: %+v, %v", all, err)
	}
	if freed, err := lab.Clean(); err != nil || freed <= 0 {
		t.Errorf("clean freed %d: %v", freed, err)
	}
	if all, err := Kernels(); err != nil || len(all) != 0 {
		t.Errorf("list after clean: %+v, %v", all, err)
	}
}

func TestOnlyWhatIsNeededIsUnpacked(t *testing.T) {
	dir := stage(t)
	set(t, dir, "error", "")
	if _, err := Build(t.Context(), Choice{}, nil); err == nil {
		t.Fatal("the compiler fails and no error")
	}
	tree := filepath.Join(unfinished(t), sourceDir, "linux-source-6.1")
	for name, want := range map[string]bool{
		"Makefile": true, "arch/um/time.c": true, "arch/arm/Kconfig": true, "arch/arm/head.S": false, "drivers/gpu/huge.h": false,
	} {
		if is(tree, name) != want {
			t.Errorf("%s is there: %v", name, !want)
		}
	}
}

func unfinished(t *testing.T) string {
	t.Helper()
	all := lab.Unfinished()
	if len(all) != 1 {
		t.Fatalf("unfinished: %v", all)
	}
	return all[0]
}

func TestFetch(t *testing.T) {
	dir := stage(t)
	set(t, dir, "busy", "")
	if _, err := Build(t.Context(), Choice{}, nil); err != nil {
		t.Errorf("a passing failure of the mirror: %v", err)
	}
	set(t, dir, "moved", "")
	var said []string
	k, err := Rebuild(t.Context(), Choice{}, func(s string) { said = append(said, s) })
	if err != nil || k.Manifest.Version != "6.1.180-1" || k.Manifest.Wanted != "6.1.176-1" {
		t.Errorf("without the pinned version: %v, %+v", err, k.Manifest)
	}
	for _, want := range []string{
		"the mirror has no linux-source-6.1 6.1.176-1 any more; fetching the newest",
		"the kernel is built from linux-source-6.1 6.1.180-1: its figures may differ from those of other machines",
	} {
		if !slices.Contains(said, want) {
			t.Errorf("progress lacks %q: %q", want, said)
		}
	}
	set(t, dir, "broken", "")
	if _, err := Rebuild(t.Context(), Choice{}, nil); err == nil || !strings.Contains(err.Error(), "unpack the kernel's source: ") {
		t.Errorf("a broken source: %v", err)
	}
	unset(t, dir, "broken")
	if k, err := Locate(Choice{}); err != nil || k.Manifest.Version != "6.1.180-1" {
		t.Errorf("a failed rebuild loses the old kernel: %v", err)
	}
}

func TestSeries(t *testing.T) {
	dir := stage(t)
	k, err := Build(t.Context(), Choice{Series: "6.12"}, nil)
	if err != nil || k.Manifest.Series != "6.12" || k.Manifest.Package != "linux-source-6.12" || k.Manifest.Wanted != "" {
		t.Errorf("%v, %+v", err, k.Manifest)
	}
	if all := calls(t, dir, "apt-get"); !strings.HasSuffix(all[1], " linux-source-6.12") {
		t.Errorf("apt-get: %q", all)
	}
	if _, err := Build(t.Context(), Choice{Series: "6.1"}, nil); err != nil {
		t.Error(err)
	}
	all, err := Kernels()
	if err != nil || len(all) != 2 || all[0].Manifest.Series != "6.1" || all[1].Dir != k.Dir {
		t.Errorf("list: %+v, %v", all, err)
	}
	r := current(t, Choice{Series: "6.12"})
	if !strings.Contains(r.Config, "\nCONFIG_BLK_DEV_WRITE_MOUNTED=y\n") || current(t, Choice{}).Config != config {
		t.Errorf("the configuration is that of another series:\n%s", r.Config)
	}
	// A kernel of another version of whichfs counts as not built.
	if err := os.Rename(k.Dir, filepath.Join(filepath.Dir(k.Dir), "0123456789abcdef")); err != nil {
		t.Fatal(err)
	}
	if _, err := Build(t.Context(), Choice{Series: "6.12"}, nil); err != nil {
		t.Error(err)
	}
	if all, err := Kernels(); err != nil || len(all) != 2 || all[1].Dir != k.Dir {
		t.Errorf("list: %+v, %v", all, err)
	}
	var refused *result.Failure
	for _, series := range []string{"5.10", "porridge", "6.1.176", "../6.1"} {
		if _, err := Build(t.Context(), Choice{Series: series}, nil); !errors.As(err, &refused) || refused.Outcome != result.Refused {
			t.Errorf("%s: %v", series, err)
		}
	}
	_, err = Build(t.Context(), Choice{Series: "5.10"}, nil)
	if !errors.As(err, &refused) || refused.Reason != "bookworm-backports has no linux-source-5.10" || !strings.HasSuffix(refused.Hint, " 6.1, 6.12, 7.3") {
		t.Errorf("%v (%s)", err, refused.Hint)
	}
	if _, err := Locate(Choice{Series: "6.13"}); !errors.Is(err, ErrNotBuilt) || !strings.HasSuffix(err.Error(), "run whichfs lab build --virtual --kernel 6.13") {
		t.Errorf("%v", err)
	}
}

func TestSuites(t *testing.T) {
	for series, suite := range map[string]string{
		"6.1": "bookworm", "6.7": "bookworm-backports", "6.12": "bookworm-backports", "6.13": "trixie-backports", "7.0": "trixie-backports", "7.3": "trixie-backports",
	} {
		if r := current(t, Choice{Series: series}); r.Suite != suite || (r.Version == "") != (series != "6.1") {
			t.Errorf("%s comes from %s, version %q", series, r.Suite, r.Version)
		}
	}
}

// What a series no longer has is in the configuration of those before it, and missing from there on.
func TestGone(t *testing.T) {
	older := current(t, Choice{})
	for n, c := range changes {
		r := current(t, Choice{Series: c.since})
		if n > 0 && !before(changes[n-1].since, c.since) {
			t.Errorf("%s is not newer than the series before it", c.since)
		}
		for _, g := range c.gone {
			if g.why == "" {
				t.Errorf("%s has no %v, without a reason", c.since, g.names)
			}
			for _, name := range g.names {
				had := slices.Contains(older.Boot, name) || strings.Contains(older.Config, "\n"+name+"=")
				has := slices.Contains(r.Boot, name) || strings.Contains(r.Config, "\n"+name+"=")
				if !had || has {
					t.Errorf("%s: before %s %v, from there on %v", name, c.since, had, has)
				}
			}
		}
		older = r
	}
	dir := stage(t)
	var said []string
	if _, err := Build(t.Context(), Choice{Series: "7.3"}, func(s string) { said = append(said, s) }); err != nil {
		t.Fatal(err)
	}
	if want := "without CONFIG_PROC_SYSCTL: it is CONFIG_SYSCTL now"; !slices.Contains(said, want) {
		t.Errorf("progress lacks %q: %q", want, said)
	}
	if all := calls(t, dir, "apt-get"); !strings.HasSuffix(all[1], " linux-source-7.3") {
		t.Errorf("apt-get: %q", all)
	}
}

// A series has the patches of the newest one that is not newer.
func TestPatchFor(t *testing.T) {
	for series, want := range map[string]string{
		"6.1": "spin.patch", "6.9": "spin.patch", "6.12": "spin-6.12.patch", "6.13": "spin-6.12.patch", "7.2": "spin-6.12.patch",
		"7.3": "spin-7.3.patch", "7.10": "spin-7.3.patch", "10.0": "spin-7.3.patch",
	} {
		if p, has := patchFor("spin", series); !has || p.file != want {
			t.Errorf("%s: %s, want %s", series, p.file, want)
		}
		if p, has := patchFor("zero-page", series); has != !before(series, "7.3") {
			t.Errorf("%s: %s", series, p.file)
		}
	}
}

// applied is the number of patches of the default series that change something.
func applied(t *testing.T) int {
	return len(slices.DeleteFunc(current(t, Choice{}).patches, func(p patch) bool { return !p.changes() }))
}

func TestUnfitPatch(t *testing.T) {
	dir := stage(t)
	set(t, dir, "unfit", "random_repeats")
	_, err := Build(t.Context(), Choice{}, nil)
	if err == nil || !strings.Contains(err.Error(), "random.patch does not fit linux-source-6.1 6.1.176-1: ") || !strings.Contains(err.Error(), "1 out of 2 hunks FAILED") {
		t.Errorf("%v", err)
	}
	// The tree with half of the patches is not taken for a whole one.
	unset(t, dir, "unfit")
	if _, err := Build(t.Context(), Choice{}, nil); err != nil {
		t.Error(err)
	}
	// Up to the one that did not fit, and all once more.
	if n, want := len(calls(t, dir, "patch")), 2+applied(t); n != want {
		t.Errorf("%d patches, want %d", n, want)
	}
	if n := len(calls(t, dir, "apt-get")); n != 2 {
		t.Errorf("the source was fetched again: %d", n)
	}
}

func TestConfigurationInForce(t *testing.T) {
	dir := stage(t)
	set(t, dir, "vanishes", "CONFIG_UML_TIME_TRAVEL_SUPPORT=y\n")
	_, err := Build(t.Context(), Choice{}, nil)
	if err == nil || !strings.Contains(err.Error(), "not in force in Linux 6.1: CONFIG_UML_TIME_TRAVEL_SUPPORT=y;") {
		t.Errorf("%v", err)
	}
}

func TestCompilerFails(t *testing.T) {
	dir := stage(t)
	set(t, dir, "error", "")
	_, err := Build(t.Context(), Choice{}, nil)
	var f *result.Failure
	if !errors.As(err, &f) || f.Outcome != result.LabFailed {
		t.Fatalf("%v", err)
	}
	if want := "the kernel cannot be built: fs/ext4/super.o failed: fs/ext4/super.c:12:3: error: unknown type name 'x'"; f.Error() != want {
		t.Errorf("%q, want %q", f.Error(), want)
	}
	log := filepath.Join(unfinished(t), logFile)
	if !strings.Contains(f.Hint, log) || !strings.Contains(f.Hint, "whichfs lab build --virtual continues") || len(f.Console) != 3 {
		t.Errorf("%+v", f)
	}
	if text, err := os.ReadFile(log); err != nil || !strings.Contains(string(text), "In function 'f'") {
		t.Errorf("log: %v\n%s", err, text)
	}
	unset(t, dir, "error")
	set(t, dir, "memory", "")
	_, err = Build(t.Context(), Choice{}, nil)
	if want := "fs/ext4/super.o failed: gcc: fatal error: Killed signal terminated program cc1"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
	unset(t, dir, "memory")
	set(t, dir, "dies", "")
	if _, err = Build(t.Context(), Choice{}, nil); err == nil || !strings.Contains(err.Error(), "signal: killed") {
		t.Errorf("%v", err)
	}
	if _, err := Locate(Choice{}); !errors.Is(err, ErrNotBuilt) {
		t.Errorf("half a kernel: %v", err)
	}
}

func TestInterruptedBuildContinues(t *testing.T) {
	dir := stage(t)
	set(t, dir, "hang", "")
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("interrupted")
	go func() {
		for !is(dir, "hanging") {
			time.Sleep(time.Millisecond)
		}
		cancel(why)
	}()
	var said []string
	if _, err := Build(ctx, Choice{}, func(s string) { said = append(said, s) }); !errors.Is(err, why) {
		t.Fatalf("error %v", err)
	}
	if last := said[len(said)-1]; last != "the build is interrupted; the same command continues it" {
		t.Errorf("%q", last)
	}
	if at := unfinished(t); is(at, kernelDir) || !is(at, sofarFile) {
		t.Error("half a kernel, or no record of what is done")
	}
	unset(t, dir, "hang")
	said = nil
	k, err := Build(t.Context(), Choice{}, func(s string) { said = append(said, s) })
	if err != nil {
		t.Fatal(err)
	}
	if said[0] != "continuing the interrupted build of the virtual lab's kernel" || !strings.HasPrefix(said[1], "compiling the virtual lab's kernel: 3 of about 1,240 files on ") {
		t.Errorf("progress: %q", said)
	}
	for program, want := range map[string]int{"apt-get": 2, "patch": applied(t), "make": 4} { // configuring, compiling twice, installing
		if n := len(calls(t, dir, program)); n != want {
			t.Errorf("%s ran %d times, want %d", program, n, want)
		}
	}
	if len(k.Manifest.Stages) != 5 {
		t.Errorf("stages: %v", k.Manifest.Stages)
	}
	if all := lab.Unfinished(); len(all) != 0 {
		t.Errorf("unfinished: %v", all)
	}
}

// A program of a killed build still writes into the tree.
func TestBuildWaitsForProgramsOfAKilledOne(t *testing.T) {
	stage(t)
	r := current(t, Choice{})
	home, unlock, err := lab.Locked(t.Context(), folder, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	unlock()
	b := building{recipe: r, dir: filepath.Join(home, lab.UnfinishedPrefix+r.digest()), progress: func(string) {}}
	if err := b.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var said []string
	_, err = Build(ctx, Choice{}, func(s string) { said = append(said, s); cancel() })
	if !errors.Is(err, context.Canceled) || !slices.Equal(said, []string{"waiting for the last programs of the interrupted build"}) {
		t.Errorf("%v, %q", err, said)
	}
	if err := b.busy.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Build(t.Context(), Choice{}, nil); err != nil {
		t.Error(err)
	}
}

func TestMakeInheritsTheLock(t *testing.T) {
	stage(t)
	b := building{dir: t.TempDir(), progress: func(string) {}}
	if err := b.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer b.busy.Close()
	if err := os.MkdirAll(b.tree(), 0o755); err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	set(t, bin, "make", "#!/bin/sh\nreadlink /proc/self/fd/3\n")
	if err := os.Chmod(filepath.Join(bin, "make"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":/usr/bin:/bin")
	var out strings.Builder
	if err := b.make(t.Context(), &out, "x"); err != nil || strings.TrimSpace(out.String()) != b.path("busy") {
		t.Errorf("descriptor 3 is %q, %v", out.String(), err)
	}
}

func TestConcurrentBuildsShareTheKernel(t *testing.T) {
	dir := stage(t)
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			if _, err := Build(t.Context(), Choice{}, nil); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := len(calls(t, dir, "apt-get")); n != 2 {
		t.Errorf("apt-get ran %d times for one kernel", n)
	}
}

func TestIncompleteKernelIsNotBuilt(t *testing.T) {
	stage(t)
	for _, part := range []func(Kernel) string{
		func(k Kernel) string { return k.Program },
		func(k Kernel) string { return k.Modules },
		func(k Kernel) string { return k.manifest() },
		func(k Kernel) string { return lab.BootModule(k.Dir, "erofs.ko") },
	} {
		k, err := Build(t.Context(), Choice{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(part(k)); err != nil {
			t.Fatal(err)
		}
		if _, err := Locate(Choice{}); !errors.Is(err, ErrNotBuilt) || !strings.HasSuffix(err.Error(), "run whichfs lab build --virtual") {
			t.Errorf("without %s: %v", part(k), err)
		}
		if all, err := Kernels(); err != nil || len(all) != 0 {
			t.Errorf("without %s: %v, %v", part(k), all, err)
		}
	}
	if _, err := Build(t.Context(), Choice{}, nil); err != nil {
		t.Errorf("it is not built again: %v", err)
	}
}

func TestBootArchive(t *testing.T) {
	dir := stage(t)
	k, err := Build(t.Context(), Choice{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"crc32c_generic.ko", "libcrc32c.ko", "erofs.ko", "overlay.ko"}
	if !slices.Equal(k.Manifest.Boot, want) {
		t.Errorf("modules %v, want %v", k.Manifest.Boot, want)
	}
	set(t, dir, "agent", "agent!")
	archive, err := k.BootArchive(filepath.Join(dir, "agent"))
	if err != nil {
		t.Fatal(err)
	}
	last := 0
	for _, want := range []string{
		"dev\x00", "proc\x00", "sys\x00", "ro\x00", "rw\x00", "new\x00", "init\x00", "agent!",
		"modules/00-crc32c_generic.ko\x00", "modules/01-libcrc32c.ko\x00", "modules/02-erofs.ko\x00", "modules/03-overlay.ko\x00", "TRAILER!!!",
	} {
		at := strings.Index(string(archive), want)
		if at < last {
			t.Errorf("%q is at %d, after %d", want, at, last)
		}
		last = at
	}
	if _, err := k.BootArchive(filepath.Join(dir, "none")); err == nil {
		t.Error("no agent and no error")
	}
}

func TestMissingNamesPackages(t *testing.T) {
	stage(t)
	t.Setenv("PATH", t.TempDir())
	_, err := Build(t.Context(), Choice{}, nil)
	if err == nil || !strings.Contains(err.Error(), "the virtual lab needs gcc, ") || !strings.Contains(err.Error(), ": sudo apt-get install gcc ") ||
		!strings.Contains(err.Error(), " flex bison bc patch ") {
		t.Errorf("error %v", err)
	}
	if names := left(t); len(names) != 0 {
		t.Errorf("left behind: %v", names)
	}
}

// Each patch says what it is for, and changes the recipe.
func TestPatches(t *testing.T) {
	files, err := patchFiles.ReadDir("patches")
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, which := range []Choice{{Series: "6.1"}, {Series: "6.12"}, {Series: "7.3"}, {Counting: true}, {Series: "7.3", Counting: true}} {
		r := current(t, which)
		want := len(patches)
		if which.Series != "7.3" {
			want-- // zero-page
		}
		if which.Counting {
			want += len(countingPatches)
		}
		if len(r.patches) != want {
			t.Errorf("%+v has %d patches of %d", which, len(r.patches), want)
		}
		for n, p := range r.patches {
			used[p.file] = true
			about, _, ok := strings.Cut(p.text, "\n--- a/")
			if ok != p.changes() || ok == strings.HasPrefix(about, "Not needed: ") || len(strings.Fields(about)) < 15 {
				t.Errorf("%s has no explanation, or no patch", p.file)
			}
			other := r
			other.Patches = slices.Delete(slices.Clone(r.Patches), n, n+1)
			if other.digest() == r.digest() {
				t.Errorf("the digest is the same without %s", p.file)
			}
		}
	}
	if len(used) != len(files) {
		t.Errorf("some patches are for no series: %v of %v", used, files)
	}
}
