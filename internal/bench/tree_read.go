package bench

import "context"

var treeRead = comparison{
	Name: "tree-read", Tools: "tar cf - DIR | cat >/dev/null", Starts: 2, Work: "tree-read", Reads: true,
	Prepare: func(ctx context.Context, b *bench) error {
		if err := b.withTree(ctx); err != nil {
			return err
		}
		return b.disk.cold(ctx)
	},
	Theirs: func(b *bench) error {
		return pipeToNull([]string{"tar", "-C", b.disk.mount, "-c", "-f", "-", "data"}, []string{"cat"})
	},
}

// withTree makes a filesystem with one copy of the tree, once for all that
// only read it.
func (b *bench) withTree(ctx context.Context) error {
	if b.ready == "tree" {
		return nil
	}
	if err := b.disk.fresh(ctx); err != nil {
		return err
	}
	_, err := b.phase(treeCopy)
	b.ready = "tree"
	return err
}
