package dataset

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/plan/scenario"
	"whichfs/internal/testing/must"
)

// cached puts an archive into the cache as a data set.
func cached(t *testing.T, set debianSet) scenario.Data {
	t.Helper()
	home := t.TempDir()
	t.Setenv("WHICHFS_CACHE", home)
	must.Do(t, os.MkdirAll(filepath.Join(home, folder), 0o755))
	info, archive := pack(t, weird(t))
	d := info.Data(set.name, filepath.Join(home, folder, set.file()))
	must.Do(t, os.WriteFile(d.Path, archive, 0o644))
	must.Do(t, keep(d))
	return d
}

// without hides every program, so that nothing can be made.
func without(t *testing.T) { t.Setenv("PATH", t.TempDir()) }

func TestGetFromCache(t *testing.T) {
	set := debianSets[0]
	want := cached(t, set)
	without(t)
	d, err := Get(ctx, set.name, nil)
	must.Do(t, err)
	if d.Digest != want.Digest || d.Archive != want.Archive || d.Files != want.Files || d.Path != want.Path || d.Kind != "tree" {
		t.Errorf("got %+v, want %+v", d, want)
	}
	if len(d.Notes) != 1 || !strings.Contains(d.Notes[0], "differs from the reference") {
		t.Errorf("notes %q of a tree that is not the reference", d.Notes)
	}
	must.Do(t, Verify(d))
	if i := slices.IndexFunc(List(), func(s Set) bool { return s.Name == set.name }); !List()[i].Cached || List()[i].Path != d.Path {
		t.Errorf("list says %+v", List()[i])
	}
}

func TestReferenceHasNoNote(t *testing.T) {
	for _, set := range debianSets {
		if d := set.judge(scenario.Data{Digest: set.reference, Notes: []string{"old"}}); len(d.Notes) != 0 {
			t.Errorf("%s: %q", set.name, d.Notes)
		}
	}
}

// A damaged archive is never used; if it cannot be made again, the error names what is missing.
func TestGetDamaged(t *testing.T) {
	set := debianSets[0]
	for name, damage := range map[string]func(d scenario.Data) error{
		"flipped":   func(d scenario.Data) error { return flip(d.Path) },
		"truncated": func(d scenario.Data) error { return os.Truncate(d.Path, d.Archive-512) },
		"gone":      func(d scenario.Data) error { return os.Remove(d.Path) },
		"sidecar":   func(d scenario.Data) error { return os.WriteFile(sidecar(d.Path), []byte("{"), 0o644) },
	} {
		t.Run(name, func(t *testing.T) {
			d := cached(t, set)
			must.Do(t, damage(d))
			if name != "sidecar" && Verify(d) == nil {
				t.Error("it passes as intact")
			}
			without(t)
			_, err := Get(ctx, set.name, nil)
			if err == nil || !strings.Contains(err.Error(), "apt-get install mmdebstrap") {
				t.Errorf("error %v", err)
			}
			if left, _ := filepath.Glob(filepath.Join(filepath.Dir(d.Path), ".*.new")); len(left) != 0 {
				t.Errorf("left over: %v", left)
			}
		})
	}
}

func flip(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	b[len(b)/3] ^= 1
	return os.WriteFile(path, b, 0o644)
}

func TestGetUnknown(t *testing.T) {
	_, err := Get(ctx, "debian-mips", nil)
	if err == nil || !strings.Contains(err.Error(), "debian-armhf-part") {
		t.Errorf("error %v does not list the known names", err)
	}
}

func TestFromDirectory(t *testing.T) {
	home := t.TempDir()
	t.Setenv("WHICHFS_CACHE", home)
	dir := weird(t)
	d, err := FromDirectory(ctx, dir)
	must.Do(t, err)
	must.Do(t, Verify(d))
	if d.Kind != "tree" || d.Skipped["sockets"] != 1 || d.Files == 0 {
		t.Errorf("%+v", d)
	}
	again, err := FromDirectory(ctx, dir)
	must.Do(t, err)
	if again.Path != d.Path || again.Digest != d.Digest {
		t.Errorf("a second time: %+v", again)
	}
	if _, err := FromDirectory(ctx, t.TempDir()); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("an empty directory: %v", err)
	}
	entries, _ := os.ReadDir(filepath.Join(home, folder))
	if len(entries) != 2 { // the archive and the lock
		t.Errorf("in the cache: %v", entries)
	}
}

func TestStreamsDiffer(t *testing.T) {
	a, b, c := Stream("s", 1<<20, 1), Stream("s", 1<<20, 2), Stream("s", 2<<20, 1)
	if a.Digest == b.Digest || a.Digest == c.Digest || a.Kind != "stream" || a.Size != 1<<20 || a.Seed != 1 {
		t.Errorf("%+v %+v %+v", a, b, c)
	}
}

func TestKeep(t *testing.T) {
	part, _ := byName("debian-armhf-part")
	full, _ := byName("debian-armhf")
	for path, want := range map[string][2]bool{ // part, full
		"bin/bash": {true, true}, "bin": {true, true}, "binary": {false, true}, "usr": {false, true},
		"usr/share/zoneinfo/Europe/Paris": {true, true}, "usr/share/zoneinfo/Asia/Tokyo": {false, true},
		"etc/hostname": {false, false}, "etc/resolv.conf": {false, false}, "dev/null": {false, false}, "dev": {false, false},
		"var/lib/dpkg/status": {false, false}, "var/lib/dpkg-x": {true, true},
	} {
		if got := [2]bool{part.keep(path), full.keep(path)}; got != want {
			t.Errorf("%s: kept %v, want %v", path, got, want)
		}
	}
	if part.file() == full.file() || !strings.HasPrefix(part.file(), "debian-armhf-part-") {
		t.Errorf("files %s and %s", part.file(), full.file())
	}
}

func TestLoadWithoutArchive(t *testing.T) {
	if _, err := load(ctx, filepath.Join(t.TempDir(), "x.tar")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

func TestSidecarIsReadable(t *testing.T) {
	d := cached(t, debianSets[0])
	text, err := os.ReadFile(sidecar(d.Path))
	must.Do(t, err)
	var back scenario.Data
	must.Do(t, json.Unmarshal(text, &back))
	if back.Digest != d.Digest {
		t.Errorf("%s", text)
	}
}

// A data set that comes from elsewhere is whole and one of ours, or does not fit.
func TestFits(t *testing.T) {
	dir := t.TempDir()
	file := debianSets[0].file()
	path := filepath.Join(dir, file)
	for name, c := range map[string]struct{ file, archive, described, want string }{
		"foreign":  {"none.tar", "x", "", "no data set has the file none.tar"},
		"archive":  {file, "x", "", ""},
		"damaged":  {sidecar(file), "x", `{"kind": "tree", "archive": 1, "digest": "0"}`, "was changed"},
		"half":     {sidecar(file), "", `{"kind": "tree", "archive": 1, "digest": "0"}`, "0 bytes long instead of 1"},
		"no words": {sidecar(file), "x", `{`, "unexpected end"},
		"whole":    {sidecar(file), "x", `{"kind": "tree", "archive": 1, "digest": "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"}`, ""},
	} {
		must.Do(t, os.WriteFile(path, []byte(c.archive), 0o644))
		must.Do(t, os.WriteFile(sidecar(path), []byte(c.described), 0o644))
		err := Fits(t.Context(), filepath.Join(dir, c.file))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
