package storage

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// fixture lays out testdata/NAME.txt (see testdata/README) and returns its
// roots.
func fixture(t *testing.T, name string) Roots {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if path, target, ok := strings.Cut(line, " -> "); ok {
			put(t, filepath.Join(dir, path), "", target)
		} else if path, ok := strings.CutSuffix(line, " <<"); ok {
			var text strings.Builder
			for i++; lines[i] != "."; i++ {
				text.WriteString(lines[i] + "\n")
			}
			put(t, filepath.Join(dir, path), text.String(), "")
		} else if path, value, ok := strings.Cut(line, ": "); ok {
			if strings.HasPrefix(value, `"`) {
				if value, err = strconv.Unquote(value); err != nil {
					t.Fatalf("%s: %v", line, err)
				}
			} else {
				value += "\n"
			}
			put(t, filepath.Join(dir, path), value, "")
		} else {
			t.Fatalf("fixture %s, line %d: %q", name, i+1, line)
		}
	}
	return Roots{Sys: dir + "/sys", Proc: dir + "/proc", Dev: dir + "/dev"}.filled()
}

// put writes a file, or a link if there is a target.
func put(t *testing.T, path, text, target string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	switch {
	case err != nil:
	case target != "":
		err = os.Symlink(target, path)
	default:
		err = os.WriteFile(path, []byte(text), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func device(t *testing.T, r Roots, name string) Device {
	t.Helper()
	d, err := r.byName(name)
	if err != nil {
		t.Fatal(err)
	}
	disks, err := r.disks()
	if err != nil {
		t.Fatal(err)
	}
	d.shared = d.sharesSerial(disks)
	return d
}
