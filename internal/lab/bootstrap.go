package lab

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"whichfs/internal/command"
)

// attempts is how often the packages are asked for before the security suite
// is left out: a mirror that is just being synchronised is whole again soon.
const attempts = 3

// retryPause is how long to wait before the second attempt; each further one
// waits longer by as much.
var retryPause = 2 * time.Second

// bootstrapped is what bootstrap learned.
type bootstrapped struct {
	packages map[string]string // name → version
	security bool
}

// bootstrap fetches and unpacks the packages into tree and the kernel image
// into the file aside. scratch is a directory for mmdebstrap's own files.
func (r recipe) bootstrap(ctx context.Context, tree, aside, scratch string, progress func(string)) (bootstrapped, error) {
	from := hostMirrors("/etc", r.Suite)
	options := aptOptions(ctx)
	var last error
	for n := 1; n <= attempts+1; n++ {
		security := n <= attempts
		if n > 1 {
			progress(fmt.Sprintf("fetching the packages failed (%v)", last))
			if !security {
				progress("the security suite is left out")
			} else if err := pause(ctx, time.Duration(n-1)*retryPause); err != nil {
				return bootstrapped{}, err
			}
		}
		packages, err := r.fetch(ctx, from.lines(r.Suite, security), options, tree, aside, scratch, progress)
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
		if !transient(err) && security {
			n = max(n, attempts-1) // once more, then without the security suite
		}
	}
	return bootstrapped{}, last
}

// transient tells a mirror's passing trouble from anything else.
func transient(err error) bool {
	text := err.Error()
	var failed *command.Error
	if errors.As(err, &failed) {
		text += failed.Stderr
	}
	for _, mark := range []string{"Mirror sync in progress", "Hash Sum mismatch", "Temporary failure", "Connection timed out", "Connection reset"} {
		if strings.Contains(text, mark) {
			return true
		}
	}
	return false
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// arguments is mmdebstrap's command line. Mode chrootless with variant extract
// needs no privileges, no user namespaces and runs nothing of what it unpacks.
func (r recipe) arguments(sources, options []string) []string {
	argv := []string{
		"mmdebstrap", "--verbose", "--mode=chrootless", "--variant=extract", "--format=tar",
		"--architectures=" + debian[r.Arch],
		"--include=" + strings.Join(append([]string{r.Kernel}, r.Packages...), ","),
	}
	for _, o := range options {
		argv = append(argv, "--aptopt="+o)
	}
	return append(append(argv, r.Suite, "-"), sources...)
}

func (r recipe) fetch(ctx context.Context, sources, options []string, tree, aside, scratch string, progress func(string)) (map[string]string, error) {
	if err := os.MkdirAll(tree, 0o755); err != nil {
		return nil, err
	}
	// apt drops to its own user when root runs it, and that user must reach
	// its files.
	if err := os.MkdirAll(scratch, 0o755); err != nil {
		return nil, err
	}
	archive, out, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer archive.Close()
	said, words := io.Pipe()
	packages := make(chan map[string]string, 1)
	go func() { packages <- follow(said, progress) }()

	p, err := command.Start(command.Options{Stdout: out, Stderr: words, Env: []string{"TMPDIR=" + scratch}}, r.arguments(sources, options)...)
	_ = out.Close()
	if err != nil {
		_ = words.Close()
		return nil, err
	}
	stop := context.AfterFunc(ctx, p.Kill)
	defer stop()
	unpackErr := extract(archive, tree, r.dropped, aside)
	if unpackErr != nil {
		p.Kill()
	}
	<-p.Done()
	_ = words.Close()
	found := <-packages
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case unpackErr != nil && p.Err() == nil:
		return nil, unpackErr
	case p.Err() != nil:
		return nil, fmt.Errorf("fetch the packages: %w", p.Err())
	}
	return found, nil
}

// saysUnpacking is what follow says when the last package has arrived.
const saysUnpacking = "unpacking the packages"

// follow turns what mmdebstrap and apt say into progress, and returns the
// packages that were fetched with their versions:
//
//	Get:7 http://deb.debian.org/debian bookworm/main amd64 libkmod2 amd64 30+20221128-1 [57.9 kB]
func follow(r io.Reader, progress func(string)) map[string]string {
	packages := map[string]string{}
	scan := bufio.NewScanner(r)
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		line := scan.Text()
		words := strings.Fields(line)
		switch {
		case len(words) >= 8 && strings.HasPrefix(words[0], "Get:") && strings.HasPrefix(words[7], "["):
			if strings.HasSuffix(words[6], "]") {
				continue // a package list, and progress on the same line
			}
			packages[words[4]] = words[6]
			if len(packages)%25 == 0 {
				progress(fmt.Sprintf("%d packages fetched", len(packages)))
			}
		case strings.HasPrefix(line, "Need to get "):
			size, _, _ := strings.Cut(strings.TrimPrefix(line, "Need to get "), " of archives")
			progress("fetching " + size + " of packages")
		case strings.HasPrefix(line, "I: extracting archives"):
			progress(saysUnpacking)
		case strings.HasPrefix(line, "I: creating tarball"):
			progress("writing the root filesystem")
		}
	}
	_, _ = io.Copy(io.Discard, r)
	return packages
}
