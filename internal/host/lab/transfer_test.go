package lab

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"whichfs/internal/result"
)

// lab makes two parts of a lab in a cache of its own.
func parts(t *testing.T) (home string, dirs []string) {
	t.Helper()
	t.Setenv("WHICHFS_CACHE", t.TempDir())
	home, err := Home()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"image/root.erofs": strings.Repeat("root", 1<<16), "image/modules/a.ko": "a", "virtual/kernel/linux": "kernel"} {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return home, []string{filepath.Join(home, "image"), filepath.Join(home, "virtual/kernel")}
}

func fits(string, string) error { return nil }

// left are the entries of the lab's directory.
func left(t *testing.T) (names []string) {
	t.Helper()
	home, err := Home()
	if err != nil {
		t.Fatal(err)
	}
	entries, _ := os.ReadDir(home) // it need not exist
	for _, e := range entries {
		if e.Name() != lockName {
			names = append(names, e.Name())
		}
	}
	return names
}

// told hears of progress, which only grows; ended checks that it came to its end.
func told(t *testing.T) (tell Progress, ended func()) {
	t.Helper()
	last, whole := int64(-1), int64(0)
	tell = func(done, all int64) {
		if done < last || done > all || whole != 0 && all != whole {
			t.Errorf("%d of %d bytes after %d of %d", done, all, last, whole)
		}
		last, whole = done, all
	}
	return tell, func() {
		if last <= 0 || last != whole {
			t.Errorf("in the end %d of %d bytes", last, whole)
		}
	}
}

func exported(t *testing.T) string {
	t.Helper()
	_, dirs := parts(t)
	file := filepath.Join(t.TempDir(), "lab.tar.zst")
	tell, ended := told(t)
	if err := Export(t.Context(), file, "v1", dirs, tell); err != nil {
		t.Fatal(err)
	}
	ended()
	if err := Export(t.Context(), file, "v1", dirs, nil); err == nil || !strings.Contains(err.Error(), "already exists") {
		t.Errorf("a second export: %v", err)
	}
	t.Setenv("WHICHFS_CACHE", t.TempDir())
	return file
}

func TestImport(t *testing.T) {
	file := exported(t)
	tell, ended := told(t)
	made, there, err := Import(t.Context(), file, "v1", fits, tell)
	if err != nil || len(made) != 2 || len(there) != 0 {
		t.Fatalf("%q, %q, %v", made, there, err)
	}
	ended()
	if text, err := os.ReadFile(filepath.Join(made[0], "root.erofs")); err != nil || len(text) != 4<<16 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	if info, err := os.Stat(filepath.Join(made[1], "linux")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", info, err)
	}
	made, there, err = Import(t.Context(), file, "v1", fits, nil)
	if err != nil || len(made) != 0 || len(there) != 2 {
		t.Errorf("again: %q, %q, %v", made, there, err)
	}
	if got := left(t); len(got) != 2 {
		t.Errorf("left: %q", got)
	}
}

// What is not whole, or not of this version, leaves nothing behind.
func TestImportRefuses(t *testing.T) {
	file := exported(t)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	half := whole[:len(whole)/2]
	damaged := bytes.Clone(whole)
	damaged[len(damaged)/2] ^= 0x40
	for name, c := range map[string]struct {
		text []byte
		fits func(string, string) error
		want string
	}{
		"half":            {half, fits, "unexpected EOF"},
		"damaged":         {damaged, fits, "bad.tar.zst: "},
		"something else":  {[]byte("PK"), fits, "not a lab"},
		"another version": {whole, func(part, _ string) error { return errors.New("stamp of " + part) }, "written by whichfs v1, and its part lab/image is not one of whichfs v2: stamp of lab/image"},
	} {
		bad := filepath.Join(t.TempDir(), "bad.tar.zst")
		if err := os.WriteFile(bad, c.text, 0o644); err != nil {
			t.Fatal(err)
		}
		_, _, err := Import(t.Context(), bad, "v2", c.fits, nil)
		var f *result.Failure
		if !errors.As(err, &f) || f.Hint == "" || !strings.Contains(f.Reason, c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if got := left(t); len(got) != 0 {
			t.Errorf("%s: left %q", name, got)
		}
	}
}

// A checksum that differs is found even where the archive itself is intact, and no file leaves its part.
func TestImportChecksSums(t *testing.T) {
	for name, c := range map[string]struct{ got, want map[string]string }{
		"missing":   {map[string]string{}, map[string]string{"image/a": "1"}},
		"different": {map[string]string{"image/a": "2"}, map[string]string{"image/a": "1"}},
		"more":      {map[string]string{"image/a": "1", "image/b": "1"}, map[string]string{"image/a": "1"}},
	} {
		if compareSums(c.got, c.want) == nil {
			t.Errorf("%s: passes", name)
		}
	}
	h := head{Parts: []string{"image", "virtual/x", "data/x.tar", "..", "."}}
	for name, want := range map[string]bool{"image/a": true, "image/b/c": true, "virtual/x/y": true, "virtual/z": false, "data/x.tar": true, "data/x.tar.json": false, "../a": false, "image/../../a": false, "/image/a": false, "other/a": false} {
		if h.has(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}
