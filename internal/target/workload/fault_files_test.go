package workload

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/fault"
	"whichfs/internal/plan/scenario"
)

func TestUnlikeness(t *testing.T) {
	want := bytes.Repeat([]byte("0123456789abcdef"), 128) // 2048 bytes
	with := func(f func(b []byte) []byte) []byte { return f(slices.Clone(want)) }
	for name, c := range map[string]struct {
		got  []byte
		want fault.Outcome
	}{
		"whole":                       {want, fault.Whole},
		"empty":                       {nil, fault.Truncated},
		"shorter":                     {want[:700], fault.Truncated},
		"longer":                      {append(slices.Clone(want), 0), fault.Wrong},
		"one byte zero":               {with(func(b []byte) []byte { b[512] = 0; return b }), fault.Wrong},
		"one bit":                     {with(func(b []byte) []byte { b[2047] ^= 1; return b }), fault.Wrong},
		"a piece of zeros":            {with(func(b []byte) []byte { clear(b[512:1024]); return b }), fault.Zeroed},
		"zeros from within a piece":   {with(func(b []byte) []byte { clear(b[600:]); return b }), fault.Zeroed},
		"zeros, then right":           {with(func(b []byte) []byte { clear(b[512:700]); return b }), fault.Wrong},
		"shorter and zeros":           {with(func(b []byte) []byte { clear(b[512:]); return b[:1024] }), fault.Zeroed},
		"zeros, and something else":   {with(func(b []byte) []byte { clear(b[512:1024]); b[1500] = 'x'; return b }), fault.Wrong},
		"shorter and of another file": {bytes.Repeat([]byte{'x'}, 100), fault.Wrong},
	} {
		if got := unlikeness(want, c.got); got != c.want {
			t.Errorf("%s: %s, want %s", name, got.Key(), c.want.Key())
		}
	}
}

func someFiles(t *testing.T, size int64, count int) *faultFiles {
	t.Helper()
	f, err := newFaultFiles(scenario.Step{Seed: 5}, size, count)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// A corrupting device zeroes the first byte of each request: that must be noticed anywhere, and
// pieces must be distinguishable.
func TestFaultFilesContents(t *testing.T) {
	f := someFiles(t, 1<<20, 4)
	seen := map[string]bool{}
	for at := 0; at < len(f.data); at += piece {
		if f.data[at] == 0 || seen[string(f.data[at:at+piece])] {
			t.Fatalf("piece at %d begins with %d, or is there twice", at, f.data[at])
		}
		seen[string(f.data[at:at+piece])] = true
	}
	for _, step := range []scenario.Step{{Files: -1}, {Size: -1}, {Size: 4095}, {Files: 3, Size: 8192}, {Size: 2 << 30}} {
		if _, err := newFaultFiles(step, 1<<20, 1); err == nil {
			t.Errorf("no error for %+v", step)
		}
	}
}

// written are the files left by a writer that got this far.
func written(t *testing.T, f *faultFiles, upTo int) string {
	t.Helper()
	dir, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close() //nolint:errcheck // read only
	w := faultWriter{faultFiles: f, dir: dir}
	for _, end := range []int{upTo / 3, upTo} {
		if err := w.upTo(end); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.close(); err != nil {
		t.Fatal(err)
	}
	return dir.Name()
}

func TestFaultFilesJudge(t *testing.T) {
	f := someFiles(t, 64<<10, 4)
	all := len(f.data)
	damage := func(name string, with func(path string) error) func(dir string) error {
		return func(dir string) error { return with(filepath.Join(dir, name)) }
	}
	for name, c := range map[string]struct {
		damage              func(dir string) error
		promised, attempted int
		broken              int
		outcomes            []fault.Outcome
	}{
		"nothing": {nil, all, all, 0, nil},
		"missing": {damage("f0000002", os.Remove), all, all, 1, []fault.Outcome{fault.Lost}},
		"short":   {damage("f0000004", func(p string) error { return os.Truncate(p, 5000) }), all, all, 1, []fault.Outcome{fault.Truncated}},
		"unreadable": {damage("f0000001", func(p string) error {
			if err := os.Remove(p); err != nil {
				return err
			}
			return os.Mkdir(p, 0o755)
		}), all, all, 1, []fault.Outcome{fault.IOError}},
		"zeroed": {damage("f0000003", func(p string) error { return os.WriteFile(p, make([]byte, f.size), 0o644) }), all, all, 1, []fault.Outcome{fault.Zeroed}},
		// Only the first two files and half of the third were promised.
		"missing, not promised":    {damage("f0000004", os.Remove), 40 << 10, all, 0, []fault.Outcome{fault.IOError}},
		"never attempted":          {damage("f0000004", os.Remove), 40 << 10, 48 << 10, 0, nil},
		"short, as far as was not": {damage("f0000003", func(p string) error { return os.Truncate(p, 8<<10) }), 40 << 10, all, 0, []fault.Outcome{fault.IOError}},
		"short, though promised":   {damage("f0000003", func(p string) error { return os.Truncate(p, 8<<10-1) }), 40 << 10, all, 1, []fault.Outcome{fault.Truncated}},
	} {
		dir := written(t, f, all)
		if c.damage != nil {
			if err := c.damage(dir); err != nil {
				t.Fatal(err)
			}
		}
		got := f.judge(dir, c.promised, c.attempted)
		var outcomes []fault.Outcome
		for _, l := range got.Breaches {
			outcomes = append(outcomes, l.Outcome)
		}
		if want := (c.promised + f.size - 1) / f.size; got.Promises != want || got.Broken() != c.broken || !slices.Equal(outcomes, c.outcomes) || got.ReadOnly != "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestWritable(t *testing.T) {
	dir := t.TempDir()
	if why := writable(dir); why != "" {
		t.Error(why)
	}
	if why := writable(filepath.Join(dir, "none")); !strings.Contains(why, "no such file") {
		t.Errorf("%q", why)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
}

func TestBedSize(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct{ least, data, storage, want int64 }{
		{8 * mib, mib, 320 * mib, 64 * mib},
		{100*mib + 1, 4 * mib, 320 * mib, 117 * mib},
		{300 * mib, 30 * mib, 320*mib + 511, 320 * mib},
		{300 * mib, 30 * mib, 0, 420 * mib},
		{300 * mib, 30 * mib, 200 * mib, 0},
		{mib, 65 * mib, 64 * mib, 0},
	} {
		if got, err := bedSize(c.least, c.data, c.storage); got != c.want || (err != nil) != (c.want == 0) {
			t.Errorf("%+v: %d, %v", c, got, err)
		}
	}
}
