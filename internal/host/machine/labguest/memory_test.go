package labguest

import (
	"strings"
	"testing"

	"whichfs/internal/host/machine"
	"whichfs/internal/plan/media"
	"whichfs/internal/plan/scenario"
)

// A tree counts as often as the work holds it, a stream once, and a disk in memory besides.
func TestLeast(t *testing.T) {
	data := []scenario.Data{{Name: "tree", Kind: "tree", Size: 9 << 20, Archive: 10 << 20}, {Name: "stream", Kind: "stream", Size: 5 << 20}}
	for _, c := range []struct {
		storage string
		trees   int
		want    int64 // MiB
	}{
		{"sim:sd-basic,1G", 0, 128 + 30 + 5}, {"sim:sd-basic,1G", 3, 128 + 30 + 5}, {"sim:sd-basic,1G", 1, 128 + 10 + 5},
		{"ram:64M", 1, 128 + 10 + 5 + 66},
	} {
		on, err := media.Parse(c.storage)
		if err != nil {
			t.Fatal(err)
		}
		spec := machine.Spec{Data: data}
		if c.trees > 0 {
			spec.Trees = map[string]int{"tree": c.trees}
		}
		if got := Least(spec, on); got != c.want<<20 {
			t.Errorf("%s, %d: %d MiB, want %d", c.storage, c.trees, got>>20, c.want)
		}
		if got, err := Memory(Least(spec, on), spec, on); err != nil || got != c.want<<20 {
			t.Errorf("%s, %d: %d, %v", c.storage, c.trees, got, err)
		}
		if _, err := Memory(Least(spec, on)-1, spec, on); err == nil {
			t.Errorf("%s, %d: less is enough", c.storage, c.trees)
		}
		// A user may ask for less of a guest with a small kernel.
		spec.Arch = "armhf"
		less := (c.want - 32) << 20
		if got, err := Memory(less, spec, on); err != nil || got != less || Least(spec, on) != c.want<<20 {
			t.Errorf("%s, %d, armhf: %d, %v", c.storage, c.trees, got, err)
		}
		if _, err := Memory(less-1, spec, on); err == nil {
			t.Errorf("%s, %d, armhf: less is enough", c.storage, c.trees)
		}
	}
}

// What is beyond 1 GiB of a simulated device needs a file's room, or else memory.
func TestAfford(t *testing.T) {
	const gib = 1 << 30
	for name, c := range map[string]struct {
		memory, size, free, room int64
		refuses                  string
	}{
		"no device":             {4 * gib, 0, 4 * gib, 0, ""},
		"guest too large":       {5 * gib, 0, 4 * gib, 9 * gib, "the guest needs 5120 MiB"},
		"small device":          {2 * gib, gib, 3 * gib, 0, ""},
		"no memory for it":      {2 * gib, gib, 3*gib - 1, 9 * gib, "beyond 1024 MiB in a file"},
		"large device":          {10 * gib, 25 * gib, 11 * gib, 24 * gib, ""},
		"file has not the room": {10 * gib, 25 * gib, 11 * gib, 24*gib - 1, "of 25600 MiB"},
		"memory has it instead": {10 * gib, 25 * gib, 12 * gib, 23 * gib, ""},
	} {
		err := afford(c.memory, "card", c.size, c.free, c.room, "/here")
		if (err != nil) != (c.refuses != "") || err != nil && !strings.Contains(err.Error(), c.refuses) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
