package filesystem

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/testing/golden"
)

// TestReadKernel classifies messages of Linux 6.1 from the laboratory: after a power cut
// ("replay"), after a clean use ("clean"), for writes that failed, were dropped or corrupted, and
// for bit rot.
func TestReadKernel(t *testing.T) {
	files, err := filepath.Glob("testdata/kernel/*.txt")
	if err != nil || len(files) < 40 {
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
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
		said := fs.ReadKernel(lines)
		switch {
		case kind == "clean" && len(said.Replay)+len(said.Errors) > 0,
			kind == "replay" && (len(said.Replay) == 0 || len(said.Errors) > 0),
			kind != "clean" && kind != "replay" && len(said.Errors) == 0:
			t.Errorf("%s: %+v", name, said)
		}
		fmt.Fprintf(&b, "# %s\n", name)
		for _, line := range lines {
			mark := ' '
			if slices.Contains(said.Replay, line) {
				mark = 'R'
			}
			if slices.Contains(said.Errors, line) {
				mark = 'E'
			}
			fmt.Fprintf(&b, "%c %s\n", mark, line)
		}
	}
	golden.Check(t, "said.golden", b.String())
}

// The kernel's own faults are errors for every driver; other drivers' messages are ignored.
func TestReadKernelIgnoresOtherDrivers(t *testing.T) {
	for _, fs := range All {
		if len(fs.says.Tags) == 0 {
			t.Errorf("%s: no tags", fs.Name)
		}
		for _, line := range []string{
			"Kernel panic - not syncing: Fatal exception", "BUG: kernel NULL pointer dereference, address: 0000000000000018", "kernel BUG at fs/reiserfs/prints.c:390!",
			"WARNING: CPU: 0 PID: 1 at fs/buffer.c:1 mark_buffer_dirty+0xb4/0xd0", "Oops: 0000 [#1] PREEMPT SMP NOPTI", "INFO: task umount:77 blocked for more than 120 seconds.",
			"Buffer I/O error on dev loop0, logical block 0, lost sync page write", "I/O error, dev vda, sector 8 op 0x1:(WRITE)",
		} {
			if said := fs.ReadKernel([]string{line}); len(said.Errors) != 1 || len(said.Replay) != 0 {
				t.Errorf("%s, %q: %+v", fs.Name, line, said)
			}
		}
		for _, line := range []string{"", "loop0: detected capacity change from 0 to 131072", "bash (88): drop_caches: 3", "SomethingElse-fs (loop0): recovery complete, 1 error"} {
			if said := fs.ReadKernel([]string{line}); len(said.Errors)+len(said.Replay) != 0 {
				t.Errorf("%s, %q: %+v", fs.Name, line, said)
			}
		}
	}
}

func FuzzReadKernel(f *testing.F) {
	f.Add("EXT4-fs (loop0): recovery complete\nBTRFS error (device loop0): open_ctree failed")
	f.Fuzz(func(t *testing.T, text string) {
		lines := strings.Split(text, "\n")
		for _, fs := range All {
			said := fs.ReadKernel(lines)
			if len(said.Replay)+len(said.Errors) > len(lines) {
				t.Fatalf("%s: more lines than there were: %+v", fs.Name, said)
			}
			for _, line := range slices.Concat(said.Replay, said.Errors) {
				if !slices.Contains(lines, line) {
					t.Fatalf("%s: %q was not said", fs.Name, line)
				}
			}
		}
	})
}
