package bench

import "context"

var treeRemove = comparison{
	Name: "tree-remove", Tools: "rm -rf DIR/1; sync -f", Starts: 2, Work: "tree-remove",
	Prepare: func(ctx context.Context, b *bench) error {
		b.ready = ""
		if err := b.withTree(ctx); err != nil {
			return err
		}
		return b.disk.cold(ctx)
	},
	Theirs: func(b *bench) error {
		return then([]string{"rm", "-rf", b.disk.mount + "/data/1"}, []string{"sync", "-f", b.disk.mount})
	},
}
