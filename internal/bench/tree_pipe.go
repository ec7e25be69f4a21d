package bench

import "context"

var treePipe = comparison{
	Name: "tree-pipe", Tools: "tar -c DIR | cat >/dev/null", Starts: 2, Work: "tree-pipe", Reads: true,
	Prepare: func(ctx context.Context, b *bench) error {
		if err := b.withTree(ctx); err != nil {
			return err
		}
		return b.disk.cold(ctx)
	},
	Theirs: func(b *bench) error {
		return pipeToNull([]string{"tar", "-C", b.disk.mount, "-c", "data"}, []string{"cat"})
	},
}
