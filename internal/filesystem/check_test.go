package filesystem

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"whichfs/internal/testing/golden"
)

// TestReadCheck interprets the output of Debian 12's tools for real images: clean, damaged by hand,
// with a sector that cannot be read, without a superblock, and missing.
func TestReadCheck(t *testing.T) {
	files, err := filepath.Glob("testdata/check/*.txt")
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
		got := fs.ReadCheck(status, output)
		want := map[byte]CheckResult{'c': {Clean: true}, 'd': {}, 'n': {}, 'm': {Broken: true}}[kind[0]]
		if got.Clean != want.Clean || got.Broken != want.Broken || got.Clean != (got.Reason == "") {
			t.Errorf("%s: %+v", name, got)
		}
		if strings.ContainsAny(got.Reason, "\n\r") {
			t.Errorf("%s: the reason has several lines: %q", name, got.Reason)
		}
		fmt.Fprintf(&b, "%s: %s\n", name, got.Reason)
	}
	golden.Check(t, "check.golden", b.String())
}

func readCapture(t *testing.T, file string) (status int, output string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(b), "\n")
	if _, err := fmt.Sscanf(head, "exit %d", &status); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return status, rest
}

// A tool that was killed, or succeeded without output, proves nothing.
func TestReadCheckSilence(t *testing.T) {
	for _, fs := range All {
		if fs.ReadCheck == nil {
			continue
		}
		if got := fs.ReadCheck(-1, ""); got.Clean || got.Reason == "" {
			t.Errorf("%s, killed: %+v", fs.Name, got)
		}
		if got := fs.ReadCheck(127, "sh: not found"); got.Clean || !got.Broken {
			t.Errorf("%s, not found: %+v", fs.Name, got)
		}
	}
	for _, name := range []string{"btrfs", "f2fs", "jfs", "reiserfs"} {
		fs, _ := ByName(name)
		if got := fs.ReadCheck(0, ""); got.Clean {
			t.Errorf("%s: silence is taken as clean", name)
		}
	}
}

func FuzzReadCheck(f *testing.F) {
	f.Add(0, "[FSCK] other corrupted bugs [Ok..]\nDone")
	f.Add(4, "Fix? no")
	f.Add(1, "")
	f.Fuzz(func(t *testing.T, status int, output string) {
		for _, fs := range All {
			if fs.ReadCheck == nil {
				continue
			}
			r := fs.ReadCheck(status, output)
			if r.Clean && (r.Broken || r.Reason != "" || status != 0) || !r.Clean && r.Reason == "" {
				t.Fatalf("%s: %d %q: %+v", fs.Name, status, output, r)
			}
		}
	})
}
