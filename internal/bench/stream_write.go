package bench

import "context"

var streamWrite = comparison{
	Name: "stream-write", Tools: "cp FILE DIR; sync -f", Starts: 2, Work: "stream-write", Stream: true, Load: true,
	Prepare: func(ctx context.Context, b *bench) error { return b.disk.fresh(ctx) },
	Theirs: func(b *bench) error {
		return then([]string{"cp", b.data.stream, b.disk.mount + "/stream.1"}, []string{"sync", "-f", b.disk.mount})
	},
}
