package bench

import (
	"context"
	"os"
	"path/filepath"
)

var treeFetch = comparison{
	Name: "tree-fetch", Tools: "cp -a DIR /dev/shm", Starts: 1, Work: "tree-fetch", Reads: true,
	Prepare: func(ctx context.Context, b *bench) error {
		// What either side left is in memory.
		if err := os.RemoveAll(b.fetched()); err != nil {
			return err
		}
		if err := b.withTree(ctx); err != nil {
			return err
		}
		return b.disk.cold(ctx)
	},
	Theirs: func(b *bench) error { return then([]string{"cp", "-a", b.disk.mount + "/data/1", b.fetched()}) },
}

// fetched is where tree-fetch of a child and the tool put their copy: beside
// the mount point, in memory.
func (b *bench) fetched() string { return filepath.Join(filepath.Dir(b.disk.mount), "fetched") }
