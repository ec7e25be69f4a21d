package spill

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"whichfs/internal/testing/must"
	"whichfs/internal/testing/needs"
)

const piece = 64 << 10

// fill makes pieces of which each byte is another one's number.
func fill(f *File, n int) (all []*Piece) {
	for i := range n {
		p := f.Piece()
		if p == nil {
			return all
		}
		for k := range p.Data {
			p.Data[k] = byte(i)
		}
		all = append(all, p)
	}
	return all
}

func check(t *testing.T, all []*Piece) {
	t.Helper()
	for i, p := range all {
		for _, b := range p.Data {
			if b != byte(i) {
				t.Fatalf("piece %d has a byte of another one, or of none", i)
			}
		}
	}
}

// The places of pieces that nothing refers to are used again, and those of others are not.
func TestPlacesAreUsedAgain(t *testing.T) {
	f := New(piece, 1<<20)
	kept := fill(f, 64) // 4 MiB
	for range 64 {
		for i, p := range fill(f, 64) {
			if p.Data[piece-1] != byte(i) {
				t.Fatal("not what was written")
			}
		}
	}
	check(t, kept)
	if n := f.Regions(); n < 8 || n > 16 {
		t.Errorf("%d regions of 1 MiB for 8 MiB that were in use at a time", n)
	}
	for range 64 {
		for _, b := range f.Piece().Data {
			if b != 0 {
				t.Fatal("a new piece is not of zeros")
			}
		}
	}
}

func TestNoRoom(t *testing.T) {
	t.Run("nowhere", func(t *testing.T) {
		t.Setenv("TMPDIR", "/nonexistent")
		if f := New(piece, 1<<20); f.Piece() != nil || f.Regions() != 0 {
			t.Error("there is a file")
		}
	})
	t.Run("full", func(t *testing.T) {
		needs.Devices(t)
		dir := t.TempDir()
		must.Do(t, unix.Mount("tmpfs", dir, "tmpfs", 0, "size=2M"))
		defer unix.Unmount(dir, unix.MNT_DETACH) //nolint:errcheck // of this test's own mounts
		t.Setenv("TMPDIR", dir)
		f := New(piece, 1<<20)
		all := fill(f, 100)
		if len(all) != 2<<20/piece {
			t.Errorf("%d pieces fit into 2 MiB", len(all))
		}
		check(t, all)
		left, err := os.ReadDir(dir)
		must.Do(t, err)
		if len(left) > 0 {
			t.Errorf("%v is left", left)
		}
	})
}
