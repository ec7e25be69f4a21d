package flash

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"whichfs/internal/testing/must"
	"whichfs/internal/testing/needs"
)

// inFile makes a device keep everything in a file that grows by a region.
func inFile(d Device, region int64) *backing {
	var k *backing
	switch d := d.(type) {
	case *drive:
		k = d.backing
	case *disk:
		k = d.data.backing
	case *free:
		k = d.data.backing
	}
	k.memory, k.region = 0, region
	return k
}

// Contents in a file are those that were written, whatever is collected and used again.
func TestContentsInFile(t *testing.T) {
	models := randomModels()
	for name, m := range map[string]Model{
		"segment everything": models["segment everything"], "page everything": models["page everything"],
		"free": {Kind: KindFree, Name: "free", Size: 2 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr, err := newTrial(m, 1)
			must.Do(t, err)
			k := inFile(tr.d, 128<<10)
			for n := range 8000 {
				if err := tr.step(); err != nil {
					t.Fatalf("request %d: %v", n, err)
				}
			}
			if k.file == nil {
				t.Fatal("nothing was kept in a file")
			}
		})
	}
}

// What is written over and over takes no more of the file than it is large.
func TestFileIsUsedAgain(t *testing.T) {
	m := Model{Kind: KindFree, Name: "free", Size: 8 << 20}
	d := mustNew(t, m)
	k := inFile(d, 1<<20)
	data := make([]byte, 1<<20)
	const times = 64
	for n := range int64(times) {
		at := n % 8 << 20
		submit(t, d, 0, Request{Op: Trim, Offset: at, Length: 1 << 20})
		submit(t, d, 0, Request{Op: Write, Offset: at, Length: 1 << 20, Data: data})
	}
	if n := len(k.file.regions); n < 8 || n > 16 {
		t.Errorf("%d regions of 1 MiB for 8 MiB that were written %d times", n, times/8)
	}
}

// Without room for a file, memory is used.
func TestNoRoomForFile(t *testing.T) {
	m := Model{Kind: KindFree, Name: "free", Size: 4 << 20}
	want := make([]byte, m.Size)
	for i := range want {
		want[i] = byte(i >> 9)
	}
	write := func(t *testing.T) *backing {
		d := mustNew(t, m)
		k := inFile(d, 1<<20)
		submit(t, d, 0, Request{Op: Write, Length: m.Size, Data: want})
		got := make([]byte, m.Size)
		submit(t, d, 0, Request{Op: Read, Length: m.Size, Data: got})
		if string(got) != string(want) {
			t.Error("not what was written")
		}
		return k
	}
	t.Run("nowhere", func(t *testing.T) {
		t.Setenv("TMPDIR", "/nonexistent")
		if k := write(t); k.file != nil {
			t.Error("there is a file")
		}
	})
	t.Run("full", func(t *testing.T) {
		needs.Devices(t)
		dir := t.TempDir()
		must.Do(t, unix.Mount("tmpfs", dir, "tmpfs", 0, "size=2M"))
		defer unix.Unmount(dir, unix.MNT_DETACH) //nolint:errcheck // of this test's own mounts
		t.Setenv("TMPDIR", dir)
		if k := write(t); len(k.file.regions) != 2 {
			t.Errorf("%d regions", len(k.file.regions))
		}
		left, err := os.ReadDir(dir)
		must.Do(t, err)
		if len(left) > 0 {
			t.Errorf("%v is left", left)
		}
	})
}
