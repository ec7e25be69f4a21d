package bench

import "context"

var treeCopy = comparison{
	Name: "tree-copy", Tools: "cp -r; sync -f", Starts: 2, Work: "tree-copy", Load: true,
	Prepare: func(ctx context.Context, b *bench) error { return b.disk.fresh(ctx) },
	Theirs: func(b *bench) error {
		return then([]string{"cp", "-r", b.data.dir, b.disk.mount + "/copy"}, []string{"sync", "-f", b.disk.mount})
	},
}
