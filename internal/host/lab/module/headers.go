package module

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"whichfs/internal/host/debian"
	"whichfs/internal/host/lab"
	"whichfs/internal/result"
)

// attempts is how often to fetch the headers: a mirror that is being synchronised soon recovers.
const attempts = 3

// retryPause is how long to wait before the second attempt; each further pause is longer by as much.
var retryPause = 2 * time.Second

// headersOf is the directory with the headers of an image's kernel in which the kernel's makefiles
// run. They are fetched once, from the suite of the image.
func headersOf(ctx context.Context, home string, image lab.Image, progress func(string)) (string, error) {
	release := image.Manifest.Kernel
	dir := filepath.Join(home, "headers-"+release)
	source := "usr/src/linux-headers-" + release
	at := filepath.Join(dir, source)
	if _, err := os.Stat(filepath.Join(at, "Makefile")); err == nil {
		return at, nil
	}
	temp := filepath.Join(home, lab.UnfinishedPrefix+"headers")
	defer os.RemoveAll(temp)
	version := image.Manifest.Packages["linux-image-"+release]
	common := strings.TrimSuffix(release, "-amd64") + "-common"
	d := debian.Download{
		Architecture: image.Arch().Name, Options: debian.HostOptions(ctx), Scratch: filepath.Join(temp, "apt"),
		Sources: []string{debian.Source(debian.HostMirror("/etc", lab.Suite), lab.Suite)},
	}
	for _, name := range []string{"linux-headers-" + release, "linux-headers-" + common, "linux-kbuild-" + lab.Offer{Release: release}.Series()} {
		d.Packages = append(d.Packages, name+"="+version)
	}
	progress("fetching the headers of kernel " + release + ", about 14 MB")
	tree := filepath.Join(temp, "headers")
	if err := fetch(ctx, d, temp, tree, progress); err != nil {
		if debian.Absent(err) {
			return "", result.Refuse("whichfs lab build --force makes the lab with the kernel that the mirror has", "the mirror no longer has the headers of kernel %s", release)
		}
		return "", fmt.Errorf("headers of kernel %s: %w", release, err)
	}
	// It names the other package's directory by the path where that is usually installed.
	makefile := "include ../linux-headers-" + common + "/Makefile\n"
	if err := os.WriteFile(filepath.Join(tree, source, "Makefile"), []byte(makefile), 0o644); err != nil {
		return "", fmt.Errorf("headers of kernel %s: %w", release, err)
	}
	if err := errors.Join(lab.Sync(tree), os.RemoveAll(dir), os.Rename(tree, dir)); err != nil {
		return "", fmt.Errorf("headers of kernel %s: %w", release, err)
	}
	return at, nil
}

// fetch fetches and unpacks the packages into tree, in the directory temp of its own.
func fetch(ctx context.Context, d debian.Download, temp, tree string, progress func(string)) error {
	for n := 1; ; n++ {
		if err := os.RemoveAll(temp); err != nil {
			return err
		}
		if err := os.MkdirAll(tree, 0o755); err != nil {
			return err
		}
		_, err := d.Fetch(ctx, progress, func(_ string, contents io.Reader) error {
			return lab.Extract(contents, tree, unneeded, "")
		})
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case n == attempts || !debian.Transient(err):
			return err
		}
		progress(fmt.Sprintf("fetching the headers failed (%v); trying again", err))
		if err := debian.Pause(ctx, time.Duration(n)*retryPause); err != nil {
			return err
		}
	}
}

// unneeded reports whether a file of the packages is left out: documents, and what is for other
// processors.
func unneeded(name string) bool {
	return !lab.AnyMatch([]string{"usr/src", "usr/lib"}, name) ||
		lab.AnyMatch([]string{"usr/src/*/arch/*"}, name) && !lab.AnyMatch([]string{"usr/src/*/arch/x86"}, name)
}
