package module

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"whichfs/internal/host/lab"
	"whichfs/internal/result"
	"whichfs/internal/target/kmod/kmodtest"
	"whichfs/internal/testing/must"
	"whichfs/internal/testing/players"
)

func TestMain(m *testing.M) { cast.Main(m) }

// cast plays the programs that a build runs.
var cast = players.Players{
	"apt-get": playAptGet, "apt-config": func(string) int { return 0 }, "dpkg-deb": playDpkgDeb,
	"make": playMake, "strip": playStrip, compilerProgram: func(string) int { return 1 },
}

const release = "6.1.0-56-amd64"

// playAptGet has the packages of one version, unless "moved" exists.
func playAptGet(dir string) int {
	if os.Args[2] != "download" {
		return 0
	}
	for _, word := range os.Args[3:] {
		name, version, _ := strings.Cut(word, "=")
		if _, err := os.Stat(filepath.Join(dir, "moved")); err == nil {
			fmt.Fprintf(os.Stderr, "E: Version '%s' for '%s' was not found\n", version, name)
			return 100
		}
		_ = os.WriteFile(name+"_1_amd64.deb", []byte(name), 0o600)
	}
	return 0
}

// playDpkgDeb writes a package with files that are needed and files that are not.
func playDpkgDeb(string) int {
	name, _, _ := strings.Cut(filepath.Base(os.Args[len(os.Args)-1]), "_")
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, file := range []string{"usr/src/" + name + "/Makefile", "usr/src/" + name + "/arch/x86/Makefile", "usr/src/" + name + "/arch/arm/Makefile", "usr/share/doc/x"} {
		_ = w.WriteHeader(&tar.Header{Name: "./" + file, Typeflag: tar.TypeReg, Mode: 0o644})
	}
	_ = w.Close()
	_, err := io.Copy(os.Stdout, &b)
	return map[bool]int{true: 9}[err != nil]
}

// playMake plays the kernel's makefiles: what the file "makes" of the source names is made, and a
// file with a mistake is not.
func playMake(string) int {
	tree := ""
	for _, word := range os.Args {
		if value, ok := strings.CutPrefix(word, "M="); ok {
			tree = value
		}
	}
	if makefile, _ := os.ReadFile("Makefile"); !strings.HasPrefix(string(makefile), "include ../linux-headers-6.1.0-56-common/") || os.Getenv("KBUILD_BUILD_USER") != "whichfs" {
		return 3
	}
	if text, _ := os.ReadFile(filepath.Join(tree, "driver.c")); strings.Contains(string(text), "mistake") {
		fmt.Fprintf(os.Stderr, "%s/driver.c:1:1: error: unknown type name 'mistake'\n%s/driver.c:2:1: error: and so on\n", tree, tree)
		fmt.Fprintf(os.Stderr, "make[1]: *** [../scripts/Makefile.build:250: %s/driver.o] Error 1\n", tree)
		return 2
	}
	made, _ := os.ReadFile(filepath.Join(tree, "makes"))
	for _, name := range strings.Fields(string(made)) {
		_ = os.WriteFile(filepath.Join(tree, name), kmodtest.Build(kmodtest.Module(lab.ModuleName(name), release+" SMP ")), 0o600)
	}
	return 0
}

func playStrip(string) int {
	body, err := os.ReadFile(os.Args[4])
	if err == nil {
		err = os.WriteFile(os.Args[3], body, 0o600)
	}
	return map[bool]int{true: 9}[err != nil]
}

// stage sets up the players and an empty cache, and returns the directory that controls them.
func stage(t *testing.T) string {
	t.Helper()
	dir, bin := cast.Stage(t)
	t.Setenv("PATH", bin)
	t.Setenv("WHICHFS_CACHE", t.TempDir())
	return dir
}

// build builds a module for a lab image that consists of its manifest.
func build(t *testing.T, name, source string) (Module, bool, error) {
	t.Helper()
	image := lab.Image{Manifest: lab.Manifest{Arch: "amd64", Kernel: release, Packages: map[string]string{"linux-image-" + release: "6.1.1-1"}}}
	return buildFor(t.Context(), onImage{image}, name, source, func(string) {})
}

func home(t *testing.T) string {
	t.Helper()
	dir, err := lab.Home()
	must.Do(t, err)
	return dir
}

// source makes a driver's source.
func source(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		must.Do(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o400))
	}
	return dir
}

func TestBuild(t *testing.T) {
	stage(t)
	from := source(t, map[string]string{"Makefile": "obj-m := my-fs.o", "driver.c": "int x;", "makes": "sub/other.ko my-fs.ko", "sub/x.c": "", "old.ko": "of another build", ".git/config": ""})
	m, built, err := build(t, "my-fs", from)
	if err != nil || !built || m.Name != "my_fs" || m.Kernel.Release != release || m.Source != from || m.Size == 0 {
		t.Fatalf("%+v, %v, %v", m, built, err)
	}
	if found, err := Find("my-fs", Kernel{Release: release}); err != nil || found.File() != m.File() {
		t.Errorf("found %+v, %v", found, err)
	}
	for file, want := range map[string]bool{"x86": true, "arm": false} {
		found, _ := filepath.Glob(filepath.Join(home(t), folder, "headers-*/usr/src/*/arch", file))
		if len(found) > 0 != want {
			t.Errorf("headers for %s: %q", file, found)
		}
	}
	if left := lab.Unfinished(); len(left) > 0 {
		t.Errorf("left: %q", left)
	}

	// The same again is the same; another source replaces it.
	if again, built, err := build(t, "my-fs", from); err != nil || built || again.Digest != m.Digest {
		t.Errorf("%+v, %v, %v", again, built, err)
	}
	must.Do(t, os.WriteFile(filepath.Join(from, "new.c"), []byte("int y;"), 0o600))
	if other, built, err := build(t, "my-fs", from); err != nil || !built || other.Digest == m.Digest {
		t.Errorf("%+v, %v, %v", other, built, err)
	}
	if all, err := All(); err != nil || len(all) != 1 {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestBuildRefuses(t *testing.T) {
	stage(t)
	makefile := map[string]string{"Makefile": ""}
	for name, c := range map[string]struct {
		module       string
		files        map[string]string
		reason, hint string
		outcome      result.Outcome
	}{
		"no makefile": {"x", map[string]string{"x.c": ""}, "has neither a Kbuild nor a Makefile", "", result.Refused},
		"nothing":     {"x", makefile, "makes no module for this kernel", "x.log", result.Refused},
		"another":     {"x", map[string]string{"Makefile": "", "makes": "b.ko a.ko"}, "makes module a, b, and not x", "whichfs lab module a --source ", result.Refused},
		"a mistake":   {"x", map[string]string{"Makefile": "", "driver.c": "mistake"}, "module x cannot be built: driver.o failed: driver.c:1:1: error: unknown type name 'mistake'", "x.log", result.LabFailed},
	} {
		_, _, err := build(t, c.module, source(t, c.files))
		f := result.FailureOf(err)
		if f == nil || f.Outcome != c.outcome || !strings.Contains(f.Reason, c.reason) || !strings.Contains(f.Hint, c.hint) {
			t.Errorf("%s: %+v", name, err)
		}
		if log, _ := os.ReadFile(filepath.Join(home(t), folder, "x.log")); name == "a mistake" && !strings.Contains(string(log), "and so on") {
			t.Errorf("the log: %q", log)
		}
	}
	if _, _, err := build(t, "x", filepath.Join(t.TempDir(), "none")); result.FailureOf(err) == nil {
		t.Errorf("no source: %v", err)
	}
}

func TestHeadersAreGone(t *testing.T) {
	dir := stage(t)
	must.Do(t, os.WriteFile(filepath.Join(dir, "moved"), nil, 0o600))
	_, _, err := build(t, "x", source(t, map[string]string{"Makefile": ""}))
	f := result.FailureOf(err)
	if f == nil || f.Outcome != result.Refused || !strings.Contains(f.Reason, "no longer has the headers of kernel "+release) || !strings.Contains(f.Hint, "whichfs lab build --force") {
		t.Errorf("%+v", err)
	}
}

func TestFind(t *testing.T) {
	stage(t)
	from := source(t, map[string]string{"Makefile": "", "makes": "x.ko"})
	for name, c := range map[string]struct {
		kernel, reason, hint string
	}{
		"y": {release, "the lab has no module y; it has x", "whichfs lab module y --source DIR builds it"},
		"x": {"6.1.0-57-amd64", "module x is built for kernel " + release + ", and this is 6.1.0-57-amd64", "whichfs lab module x --source " + from},
	} {
		if _, _, err := build(t, "x", from); err != nil {
			t.Fatal(err)
		}
		_, err := Find(name, Kernel{Release: c.kernel})
		if f := result.FailureOf(err); f == nil || f.Reason != c.reason || !strings.HasPrefix(f.Hint, c.hint) {
			t.Errorf("%s: %+v", name, err)
		}
	}
	if m, err := Find("x", Kernel{}); err != nil || m.Name != "x" {
		t.Errorf("for any kernel: %+v, %v", m, err)
	}
}
