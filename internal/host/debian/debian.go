// Package debian fetches Debian packages onto any host as an ordinary user and
// returns them as a root filesystem. Lab images and data sets use it in place
// of mmdebstrap and apt. Its point of view: apt's checksums verify the bytes,
// so any mirror will do and the one that the host already uses is the nearest;
// the host's settings for proxies and certificates apply, too.
package debian

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"whichfs/internal/sys/command"
)

// Architectures maps GOARCH to Debian's name of the architecture.
var Architectures = map[string]string{"amd64": "amd64", "arm64": "arm64", "arm": "armhf"}

// Architecture returns Debian's name of a GOARCH, or GOARCH if it is not in
// the map.
func Architecture(goarch string) string {
	if name, ok := Architectures[goarch]; ok {
		return name
	}
	return goarch
}

// Bootstrap is a root filesystem that mmdebstrap makes of packages, without
// running any of their code.
type Bootstrap struct {
	Suite        string
	Architecture string   // Debian's name
	Include      []string // packages, or apt's patterns
	Sources      []string // see Source
	Options      []string // apt's settings; see HostOptions
	Scratch      string   // directory for mmdebstrap's own files, created if necessary
	Env          []string // added to the caller's environment
}

// arguments returns mmdebstrap's command line. Mode chrootless with variant
// extract needs no privileges and no user namespaces, and runs nothing of what
// it unpacks.
func (b Bootstrap) arguments() []string {
	argv := []string{
		"mmdebstrap", "--verbose", "--mode=chrootless", "--variant=extract", "--format=tar",
		"--architectures=" + b.Architecture,
	}
	for _, i := range b.Include {
		argv = append(argv, "--include="+i)
	}
	for _, o := range b.Options {
		argv = append(argv, "--aptopt="+o)
	}
	return append(append(argv, b.Suite, "-"), b.Sources...)
}

// Fetch fetches and unpacks the packages once; Transient says whether to
// retry. read gets the root filesystem as a tar archive; it may stop early
// with an error. Fetch returns the packages with their versions.
func (b Bootstrap) Fetch(ctx context.Context, progress func(string), read func(archive io.Reader) error) (map[string]string, error) {
	// If root runs it, apt switches to its own user, who must reach its
	// files.
	if err := os.MkdirAll(b.Scratch, 0o755); err != nil {
		return nil, err
	}
	f := &follower{progress: progress, packages: map[string]string{}}
	o := command.Options{Stderr: f, Env: append([]string{"TMPDIR=" + b.Scratch}, b.Env...)}
	if err := Pipe(ctx, o, read, b.arguments()...); err != nil {
		var failed *command.Error
		if errors.As(err, &failed) {
			return nil, fmt.Errorf("fetch the packages: %w", complaint(err))
		}
		return nil, err
	}
	return f.packages, nil
}

// Pipe runs a program and passes its standard output to read, which may stop
// early with an error. It drains what read leaves. If both fail, Pipe returns
// the error that caused the other: a program whose reader stopped is not at
// fault, and neither is a reader whose program died.
func Pipe(ctx context.Context, o command.Options, read func(io.Reader) error, argv ...string) error {
	in, out, err := os.Pipe()
	if err != nil {
		return err
	}
	defer in.Close()
	o.Stdout = out
	p, err := command.Start(o, argv...)
	_ = out.Close()
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() {
		_ = p.Kill()   // Wait reports a process that remains
		_ = in.Close() // which may hold the output open
	})
	defer stop()
	readErr := read(in)
	if readErr == nil {
		// The end mark of an archive is followed by padding; do not
		// stop the writer with a closed pipe.
		_, readErr = io.Copy(io.Discard, in)
	} else {
		_ = in.Close() // or it would wait for its reader
	}
	end := p.Wait(ctx)
	switch {
	case ctx.Err() != nil && end != nil:
		return end
	case ctx.Err() != nil:
		return context.Cause(ctx) // it succeeded, but its output is truncated
	case p.Err() != nil && (readErr == nil || errors.Is(readErr, io.ErrUnexpectedEOF)) || brokenOff(p.Err()):
		return p.Err()
	}
	return readErr
}

// brokenOff reports whether the program itself failed, rather than because its
// reader stopped.
func brokenOff(err error) bool {
	var failed *command.Error
	return errors.As(err, &failed) && failed.Status > 0 && !strings.Contains(failed.Stderr, "Broken pipe")
}

// Pause waits for d or until ctx ends; then the error is its cause.
func Pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
