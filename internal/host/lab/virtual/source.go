package virtual

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
	"whichfs/internal/sys/bounded"
	"whichfs/internal/sys/command"
	"whichfs/internal/sys/whole"
)

// attempts is how often to fetch the source: a mirror that is being
// synchronised soon recovers.
const attempts = 3

// retryPause is how long to wait before the second attempt; each further pause
// is longer by as much.
var retryPause = 2 * time.Second

// mostSource far exceeds the size of the packed source, in bytes.
const mostSource = 1 << 30

// fetch fetches the source package of the recipe's version, or of the newest if
// the mirror no longer has that, and keeps the packed source.
func (b *building) fetch(ctx context.Context) error {
	word := b.Package
	if b.recipe.Version != "" {
		word += "=" + b.recipe.Version
	}
	b.progress("fetching the source of Linux " + b.Series + ", about 150 MB")
	for n := 1; ; n++ {
		err := b.fetchOnce(ctx, word)
		switch {
		case err == nil:
			if b.Wanted != "" {
				b.progress(fmt.Sprintf("the kernel is built from %s %s: its figures may differ from those of other machines", b.Package, b.Version))
			}
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case debian.Absent(err) && word != b.Package:
			b.Wanted = b.recipe.Version
			b.progress(fmt.Sprintf("the mirror has no %s %s any more; fetching the newest", b.Package, b.Wanted))
			n, word = 0, b.Package
		case debian.Absent(err):
			return result.Refuse("name a series of which Debian has the source; the patches were made for "+strings.Join(tried(), ", "),
				"%s has no %s", b.recipe.Suite, b.Package)
		case n == attempts || !debian.Transient(err):
			return err
		default:
			b.progress(fmt.Sprintf("fetching the source failed (%v); trying again", err))
			if err := debian.Pause(ctx, time.Duration(n)*retryPause); err != nil {
				return err
			}
		}
	}
}

func (b *building) fetchOnce(ctx context.Context, word string) error {
	scratch := b.path("apt")
	if err := os.RemoveAll(scratch); err != nil {
		return err
	}
	d := debian.Download{
		Architecture: "amd64", Packages: []string{word}, Options: debian.HostOptions(ctx), Scratch: scratch,
		Sources: []string{debian.Source(debian.HostMirror("/etc", lab.Suite), b.recipe.Suite)},
	}
	versions, err := d.Fetch(ctx, b.progress, func(_ string, contents io.Reader) error {
		return whole.Write(b.path(sourceFile), func(f *os.File) error {
			return debian.CopyFile(bounded.Reader(contents, mostSource, "the package"), "usr/src/"+b.Package+".tar.xz", f)
		})
	})
	if err != nil {
		return err
	}
	if b.Version = versions[b.Package]; b.Version == "" {
		return errors.New("apt-get does not say which version of " + b.Package + " it fetched")
	}
	return os.RemoveAll(scratch)
}

// tree is the kernel's source tree. It is also where the kernel is compiled:
// then no path of this machine gets into the result.
func (b *building) tree() string { return filepath.Join(b.path(sourceDir), b.Package) }

// unpack unpacks and patches the source.
func (b *building) unpack(ctx context.Context) error {
	b.progress("unpacking what the kernel needs of it")
	if err := os.RemoveAll(b.path(sourceDir)); err != nil { // half of one
		return err
	}
	if err := os.RemoveAll(b.path(logFile)); err != nil {
		return err
	}
	if err := os.Mkdir(b.path(sourceDir), 0o755); err != nil {
		return err
	}
	packed, err := os.Open(b.path(sourceFile))
	if err != nil {
		return err
	}
	defer packed.Close()
	err = debian.Pipe(ctx, command.Options{Stdin: packed}, func(r io.Reader) error {
		return lab.Extract(r, b.path(sourceDir), func(name string) bool {
			_, below, _ := strings.Cut(name, "/")
			return b.recipe.dropped(below)
		}, "")
	}, "xz", "--decompress", "--stdout")
	if err != nil {
		return fmt.Errorf("unpack the kernel's source: %w", err)
	}
	for _, p := range b.recipe.patches {
		if !p.changes() {
			continue
		}
		purpose, _, _ := strings.Cut(p.text, "\n")
		b.progress("patch " + p.file + ": " + purpose)
		o := command.Options{Dir: b.tree(), Stdin: strings.NewReader(p.text)}
		// The text before a patch's first file is ignored.
		if _, err := command.Run(ctx, o, "patch", "--strip=1", "--batch", "--forward", "--fuzz=0", "--no-backup-if-mismatch"); err != nil {
			return fmt.Errorf("%s does not fit %s %s: %w", p.file, b.Package, b.Version, err)
		}
	}
	return nil
}
