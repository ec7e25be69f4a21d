package dataset

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"whichfs/internal/host/debian"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/plan/tree"
	"whichfs/internal/plan/tree/generated"
	"whichfs/internal/plan/tree/squeeze"
	"whichfs/internal/sys/cache"
	"whichfs/internal/target/memory/memorytest"
	"whichfs/internal/testing/must"
)

// A real build, as in CI: fetched, packed, and equal to the reference despite
// a different umask.
func TestBuildPart(t *testing.T) {
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	t.Setenv("WHICHFS_CACHE", t.TempDir())
	d, err := Get(ctx, "debian-armhf-part", func(s string) { t.Log(s) })
	must.Do(t, err)
	if len(d.Notes) != 0 {
		t.Errorf("notes %q", d.Notes)
	}
	if d.Files < 600 || d.Size < 8e6 || d.Size > 10e6 || len(d.Skipped) != 0 {
		t.Errorf("%d files, %d B, left out %v", d.Files, d.Size, d.Skipped)
	}
	estimated(t, d, [3]int{749, 668, 677}, 400)
	archive, err := os.ReadFile(d.Path)
	must.Do(t, err)
	memorytest.Loadable(t, tree.Info{Size: d.Size, Files: d.Files, Digest: d.Digest}, archive)
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(d.Path), ".scratch")); len(left) != 0 {
		t.Errorf("left over: %v", left)
	}
}

// estimated compares squeeze's result for a tree with compsize(8) on a mounted
// Btrfs, in thousandths: compressed by lzo, zlib and zstd:3, and stored plain
// with lzo.
func estimated(t *testing.T, d scenario.Data, ratios [3]int, plain int) {
	t.Helper()
	f, err := os.Open(d.Path)
	must.Do(t, err)
	defer f.Close()
	p, err := generated.Measure(ctx, d.Name, f)
	must.Do(t, err)
	for a := range squeeze.Algorithms {
		if got := p.Ratios[a]; got < ratios[a]-12 || got > ratios[a]+12 {
			t.Errorf("%s with %s: %d, want %d within 12", d.Name, a, got, ratios[a])
		}
	}
	if got := p.Plain[squeeze.LZO]; got < plain-15 || got > plain+15 {
		t.Errorf("%s plain: %d, want %d within 15", d.Name, got, plain)
	}
}

// Packages without dependencies: each set is the same wherever it is made.
func TestBuildPartsOfPackagesAlone(t *testing.T) {
	home := t.TempDir()
	t.Setenv("WHICHFS_CACHE", home)
	for name, c := range map[string]struct {
		files  int
		ratios [3]int
		plain  int
	}{
		"build-large-part": {35, [3]int{464, 355, 343}, 142},
		"build-small-part": {1102, [3]int{386, 235, 215}, 11},
	} {
		d, err := Get(ctx, name, func(s string) { t.Log(s) })
		must.Do(t, err)
		if len(d.Notes) != 0 || d.Files != c.files {
			t.Errorf("%s: %d files, notes %q", name, d.Files, d.Notes)
		}
		estimated(t, d, c.ratios, c.plain)
	}
	if left, _ := filepath.Glob(filepath.Join(home, folder, ".scratch")); len(left) != 0 {
		t.Errorf("left over: %v", left)
	}
}

// An interrupted build leaves nothing that could pass for a data set.
func TestBuildInterrupted(t *testing.T) {
	t.Setenv("WHICHFS_CACHE", t.TempDir())
	stopped, cancel := context.WithCancel(ctx)
	defer cancel()
	_, err := Get(stopped, "debian-armhf-part", func(s string) {
		if s == debian.SaysIndex {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	dir, err := cache.Sub(folder)
	must.Do(t, err)
	entries, err := os.ReadDir(dir)
	must.Do(t, err)
	if len(entries) != 1 || entries[0].Name() != ".lock" {
		t.Errorf("left over: %v", entries)
	}
}

// A package that does not exist: the message names the program and its error,
// and the same mirror is not tried again.
func TestBuildFails(t *testing.T) {
	t.Setenv("WHICHFS_CACHE", t.TempDir())
	dir, err := cache.Sub(folder)
	must.Do(t, err)
	set := debianSet{name: "none", include: []string{"no-such-package"}}
	tries := 0
	_, err = set.build(ctx, filepath.Join(dir, set.file()), []string{debian.Default}, func(s string) {
		if s == debian.SaysIndex {
			tries++
		}
	})
	if tries != 1 {
		t.Errorf("%d tries", tries)
	}
	if err == nil || !strings.Contains(err.Error(), "Unable to locate package no-such-package") {
		t.Errorf("error %v", err)
	}
	entries, err := os.ReadDir(dir)
	must.Do(t, err)
	if len(entries) != 0 {
		t.Errorf("left over: %v", entries)
	}
}

// If the host's mirror fails, Debian's own is used.
func TestBuildFromAnotherMirror(t *testing.T) {
	t.Setenv("WHICHFS_CACHE", t.TempDir())
	dir, err := cache.Sub(folder)
	must.Do(t, err)
	set := debianSet{name: "none", include: []string{"base-files"}, only: []string{"etc"}}
	var said []string
	empty := "file://" + t.TempDir()
	d, err := set.build(ctx, filepath.Join(dir, set.file()), []string{empty, debian.Default}, func(s string) { said = append(said, s) })
	must.Do(t, err)
	if d.Files == 0 {
		t.Errorf("%+v", d)
	}
	if !slices.ContainsFunc(said, func(s string) bool { return strings.HasSuffix(s, "; trying "+debian.Default) }) {
		t.Errorf("said %q", said)
	}
}
