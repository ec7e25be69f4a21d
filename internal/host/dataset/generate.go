package dataset

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"whichfs/internal/plan/scenario"
	"whichfs/internal/plan/tree"
	"whichfs/internal/plan/tree/generated"
	"whichfs/internal/sys/units"
	"whichfs/internal/sys/whole"
)

// generating is the recipe of a generated data set.
func generating(name string, t generated.Tree) (recipe, error) {
	file, err := t.File()
	if err != nil {
		return recipe{}, err
	}
	judge := func(d scenario.Data) scenario.Data {
		d.Generated = name
		d.Notes = []string{fmt.Sprintf("the data set %s is generated: its sizes, names and compressibility are like those of %s, its contents are meaningless", name, t.Profile.Name)}
		return d
	}
	make := func(ctx context.Context, path string, progress func(string)) (scenario.Data, error) {
		progress(fmt.Sprintf("generating data set %s: %s", name, units.Value(float64(t.Size), "B")))
		if err := fits(t, filepath.Dir(path)); err != nil {
			return scenario.Data{}, err
		}
		var info tree.Info
		err := whole.Write(path, func(f *os.File) (err error) {
			info, err = t.Write(ctx, f)
			return err
		})
		if err != nil {
			return scenario.Data{}, err
		}
		d := info.Data(name, path)
		return d, keep(d)
	}
	return recipe{file, make, judge}, nil
}

// fits checks for room before anything is written.
func fits(t generated.Tree, dir string) error {
	room, err := free(dir)
	if err != nil {
		return err
	}
	if need := t.Room(); need > room {
		return fmt.Errorf("its archive takes about %s and %s has %s left; set WHICHFS_CACHE to another directory",
			units.Value(float64(need), "B"), dir, units.Value(float64(room), "B"))
	}
	return nil
}
