package bench

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"whichfs/internal/testing/needs"
)

// The benchmark starts its own program as one of the two sides; here that is the test program.
func TestMain(m *testing.M) {
	if mine, err := Child(os.Args[1:]); mine {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestLine(t *testing.T) {
	cmp := comparison{Name: "work", Tools: "tool"}
	got := line(cmp, []pair{{1, 3, 1}, {0, 1, 0.5}, {1, 4, 10}, {3, 1, 1}}, 100)
	// A start takes 1 s. Ours 50, 100, 50, 25 MB/s; ratios 1.5, 1, 2, 0.25.
	if want := "work\ttool\t50\t67\t1.25 (0.25–2.00)\t0.25–2.00\t1.00\t4\tat least 0.97\tkept"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func sample(t *testing.T) string {
	t.Helper()
	from := t.TempDir()
	for i := range 200 {
		if err := os.WriteFile(filepath.Join(from, fmt.Sprint(i)), bytes.Repeat([]byte{byte(i)}, 10_000), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("1", filepath.Join(from, "link")); err != nil {
		t.Fatal(err)
	}
	return from
}

func TestMakeData(t *testing.T) {
	work := t.TempDir()
	d, err := makeData(work, Config{From: []string{sample(t)}, Tree: 1_000_000, Stream: 12345})
	if err != nil {
		t.Fatal(err)
	}
	if d.bytes != 1_000_000 || d.entries < 100 {
		t.Errorf("%+v", d)
	}
	if info, err := os.Stat(d.stream); err != nil || info.Size() != 12345 {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := makeData(t.TempDir(), Config{From: []string{sample(t)}, Tree: 1 << 40, Stream: 1}); err == nil || !strings.Contains(err.Error(), "are needed") {
		t.Errorf("a tree that is too large: %v", err)
	}
}

// Every comparison runs; the results are not judged.
func TestRun(t *testing.T) {
	if os.Geteuid() == 0 {
		needs.Devices(t)
	}
	var out strings.Builder
	dir := t.TempDir()
	c := Config{Pairs: 1, Dir: dir, From: []string{sample(t)}, Tree: 1_500_000, Stream: 1_000_000, Only: "workloads"}
	if err := Run(t.Context(), c, &out); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 {
		if !strings.Contains(out.String(), "needs root") {
			t.Errorf("an ordinary user gets no reason for the missing figures:\n%s", out.String())
		}
		return
	}
	for _, cmp := range comparisons {
		if !strings.Contains(out.String(), "\n"+cmp.Name) {
			t.Errorf("no line for %s:\n%s", cmp.Name, out.String())
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}
