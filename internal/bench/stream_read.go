package bench

import "context"

var streamRead = comparison{
	Name: "stream-read", Tools: "cat FILE >/dev/null", Starts: 1, Work: "stream-read", Stream: true, Reads: true,
	Prepare: func(ctx context.Context, b *bench) error {
		if b.ready != "stream" {
			if err := b.disk.fresh(ctx); err != nil {
				return err
			}
			if _, err := b.phase(streamWrite); err != nil {
				return err
			}
			b.ready = "stream"
		}
		return b.disk.cold(ctx)
	},
	Theirs: func(b *bench) error { return toNull("cat", b.disk.mount+"/data/stream.1") },
}
