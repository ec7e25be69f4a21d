package workload

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// Pages of a program that were read survive the dropping of caches; those that were not read take
// no memory, and files that are not programs are not kept.
func TestKeepPrograms(t *testing.T) {
	dir, page := t.TempDir(), os.Getpagesize()
	tool, data := filepath.Join(dir, "tool"), filepath.Join(dir, "data")
	for path, mode := range map[string]os.FileMode{tool: 0o755, data: 0o644, filepath.Join(dir, "empty"): 0o755} {
		size := 64 * page
		if filepath.Base(path) == "empty" {
			size = 0
		}
		if err := os.WriteFile(path, bytes.Repeat([]byte{1}, size), mode); err != nil {
			t.Fatal(err)
		}
	}
	unix.Sync()
	defer func() {
		for _, text := range programs.list {
			_ = unix.Munmap(text)
		}
		programs.list = nil
		programs.held.Store(0)
	}()
	KeepPrograms(dir, filepath.Join(dir, "missing"))
	if n := len(programs.list); n != 1 {
		t.Fatalf("%d files are kept, want the one that is a program", n)
	}
	drop := func(path string) {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close() //nolint:errcheck // only read
		if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
			t.Fatal(err)
		}
	}
	drop(tool)
	if n := holdPrograms(); n != 0 {
		t.Logf("%d pages stay in memory though nothing holds them: this directory is in memory, and shows nothing", n)
		return
	}
	f, err := os.Open(tool)
	if err != nil {
		t.Fatal(err)
	}
	// The kernel would continue its read-ahead while the pages are counted.
	if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_RANDOM); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(f, make([]byte, page)); err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	held := holdPrograms()
	if held == 0 {
		t.Fatal("no page of a program that was read is held")
	}
	drop(tool)
	if left := holdPrograms(); left != held {
		t.Errorf("%d pages are left of %d that were held", left, held)
	}
}
