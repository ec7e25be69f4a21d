package dataset

import (
	"context"
	"io"
	"os"
	"path"
	"path/filepath"

	"whichfs/internal/host/debian"
	"whichfs/internal/plan/tree"
	"whichfs/internal/sys/bounded"
	"whichfs/internal/sys/command"
)

// download fetches only the packages of a set and writes the canonical archive
// of the files to keep to f.
func (d debianSet) download(ctx context.Context, f *os.File, scratch, mirror string, options []string, progress func(string)) (tree.Info, error) {
	if err := os.MkdirAll(scratch, 0o755); err != nil {
		return tree.Info{}, err
	}
	p, err := newRepacker(RepackOptions{Keep: d.keep, Plain: true, Spool: scratch})
	if err != nil {
		return tree.Info{}, err
	}
	defer p.spool.Close()
	p.merge = true
	packages := debian.Download{
		Architecture: d.arch(), Packages: d.include, Sources: []string{debian.Source(mirror, suite)},
		Options: options, Scratch: filepath.Join(scratch, "apt"),
	}
	_, err = packages.Fetch(ctx, progress, func(name string, archive io.Reader) error {
		p.below = ""
		if d.apart {
			p.below = name
		}
		if name+".tar.xz" == path.Base(d.unpack) {
			return p.unpack(ctx, archive, d.unpack, scratch, progress)
		}
		return p.read(ctx, archive)
	})
	if err != nil {
		return tree.Info{}, err
	}
	info, err := p.write(ctx, f)
	return info, d.empty(info, err)
}

// unpack reads the compressed archive name from within another archive, and
// puts its contents in its place.
func (p *repacker) unpack(ctx context.Context, r io.Reader, name, scratch string, progress func(string)) error {
	inner, err := os.CreateTemp(scratch, "inner-*")
	if err != nil {
		return err
	}
	defer inner.Close()
	if err := os.Remove(inner.Name()); err != nil {
		return err
	}
	r = bounded.Reader(tree.Until(ctx, r), p.o.MaxContents, "the package")
	if err := debian.CopyFile(r, name, inner); err != nil {
		return why(ctx, err)
	}
	if _, err := inner.Seek(0, io.SeekStart); err != nil {
		return err
	}
	progress("unpacking " + path.Base(name))
	p.below = path.Join(p.below, path.Dir(name))
	o := command.Options{Stdin: inner}
	return debian.Pipe(ctx, o, func(tree io.Reader) error { return p.read(ctx, tree) }, "xz", "--decompress", "--stdout")
}
