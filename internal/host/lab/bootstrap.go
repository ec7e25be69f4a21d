package lab

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"whichfs/internal/host/debian"
	"whichfs/internal/sys/command"
)

// attempts is how often to request the packages: a mirror that is being
// synchronised soon recovers.
const attempts = 4

// retryPause is how long to wait before the second attempt; each further pause
// is longer by as much.
var retryPause = 2 * time.Second

// bootstrap fetches and unpacks the packages into tree and the kernel image
// into the file aside, and returns the version of each. scratch is a directory
// for mmdebstrap's own files.
func (r recipe) bootstrap(ctx context.Context, tree, aside, scratch string, progress func(string)) (map[string]string, error) {
	b := debian.Bootstrap{
		Suite: r.Suite, Architecture: debian.Architectures[r.Arch],
		Include: append([]string{r.Kernel}, r.Packages...),
		// The suite alone, without security and other updates: it no longer changes, so that
		// every image has the same programs. Guests have no network.
		Sources: []string{debian.Source(debian.HostMirror("/etc", r.Suite), r.Suite)},
		Options: debian.HostOptions(ctx), Scratch: scratch,
	}
	for n := 1; ; n++ {
		if err := os.MkdirAll(tree, 0o755); err != nil {
			return nil, err
		}
		packages, err := b.Fetch(ctx, progress, func(archive io.Reader) error {
			return Extract(archive, tree, r.dropped, aside)
		})
		if err == nil || ctx.Err() != nil || command.Missing(err) || n == attempts {
			return packages, err
		}
		progress(fmt.Sprintf("fetching the packages failed (%v)", err))
		if !debian.Transient(err) {
			n = max(n, attempts-1) // once more
		}
		if err := os.RemoveAll(tree); err != nil {
			return nil, err
		}
		if err := debian.Pause(ctx, time.Duration(n)*retryPause); err != nil {
			return nil, err
		}
	}
}
