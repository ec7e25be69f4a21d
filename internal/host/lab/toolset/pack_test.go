package toolset_test

import (
	"archive/tar"
	"debug/elf"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"whichfs/internal/host/lab/toolset"
	"whichfs/internal/sys/command"
	"whichfs/internal/target/toolbox"
	"whichfs/internal/testing/must"
)

// files are the contents of an archive, by name.
func files(t *testing.T, archive string) map[string]string {
	t.Helper()
	f, err := os.Open(archive)
	must.Do(t, err)
	defer f.Close() //nolint:errcheck // read only
	out := map[string]string{}
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if err != nil {
			return out
		}
		text, err := io.ReadAll(r)
		must.Do(t, err)
		out[h.Name] = string(text)
	}
}

// system copies this host's mke2fs, its loader and its libraries to another directory, as they are
// unpacked from packages, and returns it with the program's path.
func system(t *testing.T) (dir, program string) {
	t.Helper()
	dir = t.TempDir()
	put := func(name string, content []byte) {
		path := filepath.Join(dir, name)
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Do(t, os.WriteFile(path, content, 0o600))
	}
	var loader string
	own, err := elf.Open("/sbin/mke2fs")
	must.Do(t, err)
	for _, p := range own.Progs {
		if p.Type == elf.PT_INTERP {
			text, err := io.ReadAll(p.Open())
			must.Do(t, err)
			loader = strings.TrimRight(string(text), "\x00")
		}
	}
	archive, err := toolset.Pack("mke2fs", "/sbin/mke2fs", runtime.GOARCH)
	must.Do(t, err)
	for name, content := range files(t, archive) {
		switch base := filepath.Base(name); {
		case base == filepath.Base(loader):
			put("usr"+loader, []byte(content))
		case strings.HasPrefix(name, "lib/"):
			put("usr/lib/"+base, []byte(content))
		case strings.HasPrefix(name, "program/"):
			put("usr/sbin/"+base, []byte(content))
		}
	}
	return dir, filepath.Join(dir, "usr/sbin/mke2fs")
}

// A program brings the loader and libraries of the system that it is in, and nothing of this host's.
func TestPackFromAnotherSystem(t *testing.T) {
	t.Setenv("WHICHFS_CACHE", t.TempDir())
	dir, program := system(t)
	archive, err := toolset.Pack("mkfs.ext4", program, runtime.GOARCH)
	must.Do(t, err)
	again, err := toolset.Pack("mkfs.ext4", program, runtime.GOARCH)
	if err != nil || again != archive {
		t.Errorf("the same program is %s and %s, %v", archive, again, err)
	}
	f, err := os.Open(archive)
	must.Do(t, err)
	defer f.Close() //nolint:errcheck // read only
	to := filepath.Join(t.TempDir(), "unpacked")
	programs, err := toolbox.Unpack(f, to)
	if err != nil || len(programs) != 1 || programs[0].Name != "mkfs.ext4" || programs[0].File != "program/mke2fs" {
		t.Fatal(programs, err)
	}
	_, err = command.Run(t.Context(), command.Options{}, filepath.Join(to, "bin/mkfs.ext4"), "-q", "-F", blank(t))
	must.Do(t, err)

	// What that system lacks is not taken from this one, not even through a link.
	library := filepath.Join(dir, "usr/lib/libext2fs.so.2")
	must.Do(t, os.Remove(library))
	if _, err := toolset.Pack("mkfs.ext4", program, runtime.GOARCH); err == nil || !strings.Contains(err.Error(), "library libext2fs.so.2 is nowhere") {
		t.Error(err)
	}
	all, err := filepath.Glob("/usr/lib/*-linux-gnu*/libext2fs.so.2")
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	must.Do(t, os.Symlink(all[0], library))
	if _, err := toolset.Pack("mkfs.ext4", program, runtime.GOARCH); err == nil || !strings.Contains(err.Error(), "library libext2fs.so.2 is nowhere") {
		t.Error(err)
	}
}

// A script and a program that is no part of a system bring what this host has.
func TestPackAlone(t *testing.T) {
	t.Setenv("WHICHFS_CACHE", t.TempDir())
	dir := t.TempDir()
	script, built := filepath.Join(dir, "mkfs.x"), filepath.Join(dir, "build")
	must.Do(t, os.WriteFile(script, []byte("#!/bin/sh\n"), 0o600))
	content, err := os.ReadFile("/sbin/mke2fs")
	must.Do(t, err)
	must.Do(t, os.WriteFile(built, content, 0o600))
	link := filepath.Join(dir, "link")
	must.Do(t, os.Symlink("build", link))
	for path, want := range map[string]string{script: "program/mkfs.x", built: "program/build", link: "program/build"} {
		archive, err := toolset.Pack("mkfs.x", path, runtime.GOARCH)
		must.Do(t, err)
		got := files(t, archive)
		if _, libraries := got["lib/libext2fs.so.2"]; got[want] == "" || libraries != (path != script) {
			t.Errorf("%s: %d files", path, len(got))
		}
	}
	if err := toolset.Fits(built, "arm"); err == nil || !strings.Contains(err.Error(), "for another processor") {
		t.Error(err)
	}
	if err := toolset.Fits(built, ""); err != nil {
		t.Error(err)
	}
}
