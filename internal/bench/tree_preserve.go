package bench

import "context"

var treePreserve = comparison{
	Name: "tree-preserve", Tools: "cp -a; sync -f", Starts: 2, Work: "tree-preserve", Load: true,
	Prepare: func(ctx context.Context, b *bench) error { return b.disk.fresh(ctx) },
	Theirs: func(b *bench) error {
		return then([]string{"cp", "-a", b.data.dir, b.disk.mount + "/copy"}, []string{"sync", "-f", b.disk.mount})
	},
}
