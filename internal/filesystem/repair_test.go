package filesystem

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"whichfs/internal/testing/golden"
)

// TestReadRepair interprets the output of Debian 12's tools when they repaired real images: clean,
// copied while mounted, damaged by hand, without a superblock, and missing.
func TestReadRepair(t *testing.T) {
	files, err := filepath.Glob("testdata/repair/*.txt")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d captured texts, %v", len(files), err)
	}
	var b strings.Builder
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		fsName, kind, _ := strings.Cut(name, "-")
		fs, ok := ByName(fsName)
		if !ok {
			t.Fatalf("%s: no such filesystem", name)
		}
		status, output := readCapture(t, file)
		got := fs.ReadRepair(status, output)
		want := map[byte]Mended{'m': WasMended, 'b': MendBroken}[kind[0]]
		if strings.HasPrefix(kind, "nothing") {
			want = NothingToMend
		} else if strings.HasPrefix(kind, "not") {
			want = NotMended
		}
		if got.Mended != want || (got.Reason == "") != (want == NothingToMend) || strings.ContainsAny(got.Reason, "\n\r") {
			t.Errorf("%s: %+v", name, got)
		}
		fmt.Fprintf(&b, "%s: %s\n", name, got.Reason)
	}
	golden.Check(t, "repair.golden", b.String())
}

// A tool that was killed, is missing, or printed nothing proves nothing.
func TestReadRepairSilence(t *testing.T) {
	for _, fs := range All {
		if fs.ReadRepair == nil {
			continue
		}
		for _, status := range []int{-1, 127} {
			if got := fs.ReadRepair(status, "sh: not found"); got.Mended != MendBroken || got.Reason == "" {
				t.Errorf("%s, %d: %+v", fs.Name, status, got)
			}
		}
		if got := fs.ReadRepair(1, ""); got.Reason == "" {
			t.Errorf("%s: %+v", fs.Name, got)
		}
	}
}

func FuzzReadRepair(f *testing.F) {
	f.Add(0, "[FSCK] other corrupted bugs [Ok..]\nDone")
	f.Add(4, "Fix? yes")
	f.Add(1, "")
	f.Fuzz(func(t *testing.T, status int, output string) {
		for _, fs := range All {
			if fs.ReadRepair == nil {
				continue
			}
			r := fs.ReadRepair(status, output)
			if r.Mended < NothingToMend || r.Mended > MendBroken || (r.Mended == NothingToMend) != (r.Reason == "") {
				t.Fatalf("%s: %d %q: %+v", fs.Name, status, output, r)
			}
		}
	})
}
