package workload

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"whichfs/internal/filesystem"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
)

const (
	testPiece  = 8 << 10
	testPieces = 200
)

func bigStep() scenario.Step { return scenario.Step{Dir: "b", Size: testPieces * testPiece} }

// bonnieBytes are the contents of Bonnie++'s file: everything incremented so far is in every later
// piece.
func bonnieBytes(rewritten bool) []byte {
	all := make([]byte, testPieces*testPiece)
	piece := make([]byte, testPiece)
	for i := range testPieces {
		piece[i%testPiece]++
		copy(all[i*testPiece:], piece)
		if rewritten {
			all[i*testPiece+i%testPiece]++
		}
	}
	return all
}

func TestFilePasses(t *testing.T) {
	onFilesystems(t, func(t *testing.T, mount string) {
		env := makeEnv(t, mount, nil)
		step := bigStep()
		path := filepath.Join(mount, "b/file")
		want := Tally{Bytes: testPieces * testPiece, Ops: testPieces}
		for i, k := range []Kind{FileWrite, FileRewrite, FileRead} {
			got, x := must(t, env, k, step)
			if got != want {
				t.Errorf("%s: %+v", k.Name, got)
			}
			wantLatencies(t, k.Name, x, testPieces)
			body, err := os.ReadFile(path)
			if err != nil || !bytes.Equal(body, bonnieBytes(i > 0)) {
				t.Errorf("%s: the contents are not those of the original (%v)", k.Name, err)
			}
		}
		seeks, x := must(t, env, Seeks, scenario.Step{Dir: "b", Size: step.Size, Ops: 500, Jobs: 5, Share: 0.1, Seed: 3})
		if seeks.Ops != 500 || seeks.Bytes != 500*testPiece {
			t.Errorf("%+v", seeks)
		}
		wantLatencies(t, "seeks", x, 500)
		wantRewritten(t, path, scenario.Step{Ops: 500, Share: 0.1, Seed: 3})
	})
}

// wantRewritten: exactly the pieces named by the orders have changed, as often as they were
// rewritten.
func wantRewritten(t *testing.T, path string, step scenario.Step) {
	t.Helper()
	want := bonnieBytes(true)
	rewritten := 0
	for _, order := range seekOrders(step, testPieces) {
		if order < 0 {
			place := -1 - order
			want[place*testPiece+place%testPiece]--
			rewritten++
		}
	}
	if rewritten < 25 || rewritten > 75 {
		t.Errorf("%d of 500 orders rewrite", rewritten)
	}
	got, err := os.ReadFile(path)
	if err != nil || len(got) != len(want) {
		t.Fatalf("%d bytes of %d, %v", len(got), len(want), err)
	}
	// Two seekers that rewrite one piece concurrently may lose one of the two updates.
	differ := 0
	for i := range want {
		if got[i] != want[i] {
			differ++
		}
	}
	if differ > 3 {
		t.Errorf("%d bytes differ", differ)
	}
}

func TestSeekOrders(t *testing.T) {
	seen := map[int64]int{}
	for _, order := range seekOrders(scenario.Step{Ops: 20000, Share: 0.5, Seed: 1}, 10) {
		seen[max(order, -1-order)]++
	}
	if len(seen) != 10 {
		t.Errorf("places %v", seen)
	}
	for place, n := range seen {
		if n < 1700 || n > 2300 {
			t.Errorf("place %d is taken %d times of 20000", place, n)
		}
	}
	for _, share := range []float64{0, 1} {
		for _, order := range seekOrders(scenario.Step{Ops: 100, Share: share}, 10) {
			if (order < 0) != (share == 1) {
				t.Errorf("share %v has order %d", share, order)
			}
		}
	}
}

func TestFileRefused(t *testing.T) {
	env := makeEnv(t, t.TempDir(), nil)
	env.FS.Lacks = lacking(filesystem.Lacks{MaxFile: 1 << 30})
	must(t, env, FileWrite, scenario.Step{Dir: "there", Size: 1 << 20})
	for _, c := range []struct {
		kind Kind
		step scenario.Step
		want string
	}{
		{FileWrite, scenario.Step{Size: 1 << 20, Block: 100}, "pieces of 100"},
		{FileWrite, scenario.Step{Size: 1<<20 + 1}, "a file of 1048577 bytes"},
		{FileWrite, scenario.Step{}, "a file of 0 bytes"},
		{FileRead, scenario.Step{Size: -8192}, "a file of -8192 bytes"},
		{FileWrite, scenario.Step{Dir: "../x", Size: 8192}, "not below"},
		{FileWrite, scenario.Step{Size: 2 << 30}, "has at most 1073741824 bytes"},
		{Seeks, scenario.Step{Dir: "none", Size: 8192, Ops: 1}, "there is no file of 8192 bytes"},
		{Seeks, scenario.Step{Dir: "there", Size: 2 << 20, Ops: 1}, "there is no file of 2097152 bytes"},
		{Seeks, scenario.Step{Dir: "there", Size: 1 << 20}, "0 seeks"},
		{Seeks, scenario.Step{Dir: "there", Size: 1 << 20, Ops: 1, Jobs: 65}, "by 65 at once"},
		{Seeks, scenario.Step{Dir: "there", Size: 1 << 20, Ops: 1, Share: 1.5}, "a share of 1.5"},
		{HoldMemory, scenario.Step{Size: 1 << 20}, "at least 24 MiB must be left"},
	} {
		_, _, err := perform(t, env, c.kind, c.step)
		wantFailure(t, err, result.Refused, c.want)
	}
	env.FS.Lacks = nil
	_, _, err := perform(t, env, FileWrite, scenario.Step{Size: 1 << 50})
	wantFailure(t, err, result.Refused, "the file does not fit")
}

// A file that is shorter than it was written is the filesystem's failure, and a failing seeker ends
// the phase.
func TestFileCutShort(t *testing.T) {
	env := makeEnv(t, t.TempDir(), nil)
	step := bigStep()
	must(t, env, FileWrite, step)
	job, err := Seeks.Setup(t.Context(), env, scenario.Step{Dir: "b", Size: step.Size, Ops: 50, Jobs: 3})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(env.Mount, "b/file"), 5000); err != nil {
		t.Fatal(err)
	}
	var tally Tally
	wantFailure(t, job.Run(&tally), result.SubjectFailed, `read to the end of "b/file"`)
	for _, k := range []Kind{FileRead, FileRewrite} {
		_, _, err := perform(t, env, k, step)
		wantFailure(t, err, result.SubjectFailed, `read to the end of "b/file": no data available`)
	}
}

// Reading a file that fits into the machine's cache is reported as such.
func TestCachedNotes(t *testing.T) {
	env, step := makeEnv(t, t.TempDir(), nil), bigStep()
	must(t, env, FileWrite, step)
	if _, x := must(t, env, FileRewrite, step); len(x.Notes) != 0 {
		t.Errorf("a step that is not measured has notes: %+v", x.Notes)
	}
	step.Phase = "rewrite"
	_, x := must(t, env, FileRewrite, step)
	if len(x.Notes) != 1 || x.Notes[0].Level != result.Warning || !strings.Contains(x.Notes[0].Text, "fits into the page cache") {
		t.Errorf("notes %+v", x.Notes)
	}
	large := &cached{size: 64 << 20, available: 16 << 20, total: 160 << 20}
	if n := large.notes(); len(n) != 1 || n[0].Level != result.Info || n[0].Text != "the file is 4.0 times as large as the 16 MiB of memory (of 160 MiB) left for caches" {
		t.Errorf("notes %+v", n)
	}
	if n := (&cached{err: os.ErrPermission}).notes(); len(n) != 1 || n[0].Level != result.Warning {
		t.Errorf("notes %+v", n)
	}
}

func TestParseMeminfo(t *testing.T) {
	a, all, err := parseMeminfo("MemTotal:         161792 kB\nMemFree:  9000 kB\nMemAvailable:      52348 kB\n")
	if a != 52348<<10 || all != 161792<<10 || err != nil {
		t.Errorf("%d of %d, %v", a, all, err)
	}
	for _, text := range []string{"", "MemTotal: 1 kB\n", "MemTotal: x kB\nMemAvailable: 1 kB\n", "MemTotal: 1 MB\nMemAvailable: 1 kB\n", "MemTotal: -1 kB\nMemAvailable: 1 kB\n"} {
		if _, _, err := parseMeminfo(text); err == nil {
			t.Errorf("%q passes", text)
		}
	}
}

func FuzzParseMeminfo(f *testing.F) {
	f.Add("MemTotal:         161792 kB\nMemAvailable:      52348 kB\n")
	f.Add("MemAvailable: 99999999999999999999 kB")
	f.Fuzz(func(t *testing.T, text string) {
		if a, all, err := parseMeminfo(text); err == nil && (a < 0 || all < 0) {
			t.Errorf("%q is %d of %d", text, a, all)
		}
	})
}

// The kernel's ratio is as before in the end, and a limit in bytes, which counts if the ratio is 0, is left alone.
func TestLimitUnwritten(t *testing.T) {
	for text, want := range map[string]string{"20\n": "20", "100\n": "100", "1": "1", "0\n": "0\n"} {
		path := filepath.Join(t.TempDir(), "dirty_ratio")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := limitUnwritten(path); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%q became %q, %v", text, got, err)
		}
	}
	path := filepath.Join(t.TempDir(), "dirty_ratio")
	if err := limitUnwritten(path); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if err := os.WriteFile(path, []byte("much\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := limitUnwritten(path); err == nil {
		t.Error("much is a number")
	}
}

// Pieces are allocated as long as too much memory is available, and freed. (Other work on this
// machine changes the kernel's figures meanwhile.)
func TestHold(t *testing.T) {
	look := func() (int64, int64, error) {
		return 40<<20 - int64(len(held.pieces))*holdPiece, 64 << 20, nil
	}
	if err := hold(20<<20, look); err != nil {
		t.Fatal(err)
	}
	n := len(held.pieces)
	for _, piece := range held.pieces {
		piece[len(piece)-1] = 1 // it is there
	}
	Release()
	if n != 20<<20/holdPiece || len(held.pieces) != 0 {
		t.Errorf("%d pieces were held, %d are", n, len(held.pieces))
	}
	if err := hold(0, func() (int64, int64, error) { return 0, 0, os.ErrPermission }); !errors.Is(err, os.ErrPermission) {
		t.Errorf("error %v", err)
	}
	// Not the first process: nothing is held.
	must(t, makeEnv(t, t.TempDir(), nil), HoldMemory, scenario.Step{Size: leastMemory})
	must(t, makeEnv(t, t.TempDir(), nil), FreeMemory, scenario.Step{})
	if len(held.pieces) != 0 {
		t.Error("memory of this machine is held")
	}
}
