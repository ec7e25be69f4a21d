package flash

import (
	"testing"

	"whichfs/internal/sys/spill"
	"whichfs/internal/testing/must"
)

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
			var k *backing
			switch d := tr.d.(type) {
			case *drive:
				k = d.backing
			case *free:
				k = d.data.backing
			}
			k.memory, k.file = 0, spill.New(k.size, 128<<10)
			for n := range 8000 {
				if err := tr.step(); err != nil {
					t.Fatalf("request %d: %v", n, err)
				}
			}
			if k.file.Regions() == 0 {
				t.Fatal("nothing was kept in a file")
			}
		})
	}
}

// Small devices have no file, and large ones use it once much was written to them.
func TestWhenInFile(t *testing.T) {
	if newBacking(4096, inMemory).file != nil {
		t.Error("a small device has a file")
	}
	k := newBacking(inMemory/4, inMemory+1)
	k.file = spill.New(4096, 1<<20)
	for range 4 {
		k.make()
	}
	if n := k.file.Regions(); n != 0 {
		t.Errorf("%d regions before 1 GiB was written", n)
	}
	if k.make(); k.file.Regions() != 1 {
		t.Error("nothing is in the file")
	}
}
