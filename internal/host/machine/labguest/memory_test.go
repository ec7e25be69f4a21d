package labguest

import (
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
