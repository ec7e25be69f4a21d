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

// attempts is how often to request the packages before leaving out the
// security suite: a mirror that is being synchronised soon recovers.
const attempts = 3

// retryPause is how long to wait before the second attempt; each further pause
// is longer by as much.
var retryPause = 2 * time.Second

// bootstrapped is the result of bootstrap.
type bootstrapped struct {
	packages map[string]string // name → version
	security bool
}

// bootstrap fetches and unpacks the packages into tree and the kernel image
// into the file aside. scratch is a directory for mmdebstrap's own files.
func (r recipe) bootstrap(ctx context.Context, tree, aside, scratch string, progress func(string)) (bootstrapped, error) {
	from := debian.HostMirrors("/etc", r.Suite)
	b := debian.Bootstrap{
		Suite: r.Suite, Architecture: debian.Architectures[r.Arch],
		Include: append([]string{r.Kernel}, r.Packages...),
		Options: debian.HostOptions(ctx), Scratch: scratch,
	}
	var last error
	for n := 1; n <= attempts+1; n++ {
		security := n <= attempts
		if n > 1 {
			progress(fmt.Sprintf("fetching the packages failed (%v)", last))
			if !security {
				progress("continuing without the security suite")
			} else if err := debian.Pause(ctx, time.Duration(n-1)*retryPause); err != nil {
				return bootstrapped{}, err
			}
		}
		if err := os.MkdirAll(tree, 0o755); err != nil {
			return bootstrapped{}, err
		}
		b.Sources = r.sources(from, security)
		packages, err := b.Fetch(ctx, progress, func(archive io.Reader) error {
			return Extract(archive, tree, r.dropped, aside)
		})
		if err == nil {
			return bootstrapped{packages: packages, security: security}, nil
		}
		if ctx.Err() != nil || command.Missing(err) {
			return bootstrapped{}, err
		}
		last = err
		if err := os.RemoveAll(tree); err != nil {
			return bootstrapped{}, err
		}
		if !debian.Transient(err) && security {
			n = max(n, attempts-1) // once more, then without the security suite
		}
	}
	return bootstrapped{}, last
}

// sources returns the suite with its updates and, if wanted, its security
// suite.
func (r recipe) sources(from debian.Mirrors, security bool) []string {
	out := []string{debian.Source(from.Main, r.Suite), debian.Source(from.Main, r.Suite+"-updates")}
	if security {
		out = append(out, debian.Source(from.Security, r.Suite+"-security"))
	}
	return out
}
