package dataset

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"whichfs/internal/plan/tree"
)

// RepackOptions say how to change another program's archive.
type RepackOptions struct {
	// Keep selects paths (relative, without a trailing slash); nil: all.
	// Directories above kept paths are kept, too.
	Keep func(path string) bool
	// Plain makes the result independent of the archive's author and
	// umask: everything belongs to 0:0, directories and executable files
	// have mode 0755, other files 0644.
	Plain bool
	// Spool is the directory for the contents until the order is known; ""
	// is the system's for temporary files.
	Spool string
	// MaxContents limits the total size of the files, in bytes; 0: 16 GiB.
	// A small archive can promise a very large file.
	MaxContents int64
}

// Repack reads a tar archive to the end of r and writes its canonical form to
// w. It skips and counts sockets, fifos and device nodes among what is kept.
func Repack(ctx context.Context, r io.Reader, w io.Writer, o RepackOptions) (tree.Info, error) {
	p, err := newRepacker(o)
	if err != nil {
		return tree.Info{}, err
	}
	defer p.spool.Close()
	if err := p.read(ctx, r); err != nil {
		return tree.Info{}, fmt.Errorf("archive: %w", err)
	}
	return p.write(ctx, w)
}

// newRepacker returns one with an open spool, which the caller closes.
func newRepacker(o RepackOptions) (*repacker, error) {
	if o.MaxContents == 0 {
		o.MaxContents = 16 << 30
	}
	spool, err := os.CreateTemp(o.Spool, "whichfs-spool-*")
	if err != nil {
		return nil, err
	}
	// Unlinked, so that it disappears with this process.
	if err := os.Remove(spool.Name()); err != nil {
		_ = spool.Close()
		return nil, err
	}
	return &repacker{o: o, spool: spool, at: map[string]int{}, skipped: map[string]int{}}, nil
}

// write writes the canonical archive of everything that was read.
func (p *repacker) write(ctx context.Context, w io.Writer) (tree.Info, error) {
	entries, err := p.chosen()
	if err != nil {
		return tree.Info{}, fmt.Errorf("archive: %w", err)
	}
	return tree.Write(ctx, w, entries, p.skipped)
}

type repacker struct {
	o       RepackOptions
	spool   *os.File
	spooled int64
	entries []tree.Entry
	at      map[string]int // path → index
	skipped map[string]int
	// merge allows several archives to contain the same directory.
	merge bool
	// below is the directory for everything that is read; "": the top.
	below string
}

// read may be called for several archives.
func (p *repacker) read(ctx context.Context, r io.Reader) error {
	r = tree.Until(ctx, r)
	in := tar.NewReader(r)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return why(ctx, err)
		}
		if err := p.entry(h, in); err != nil {
			return why(ctx, fmt.Errorf("entry %q: %w", h.Name, err))
		}
	}
	// The writer must not find the pipe closed before its padding.
	_, err := io.Copy(io.Discard, r)
	return why(ctx, err)
}

func why(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func (p *repacker) entry(h *tar.Header, body io.Reader) error {
	name, err := tree.Relative(h.Name)
	if err != nil {
		return err
	}
	if name == "" {
		return nil // the top
	}
	name = path.Join(p.below, name)
	if i, ok := p.at[name]; ok {
		if p.merge && h.Typeflag == tar.TypeDir && p.entries[i].Kind == tar.TypeDir {
			return nil
		}
		return errors.New("it occurs twice")
	}
	if p.skip(name, h.Typeflag) {
		return nil
	}
	e := tree.Entry{Path: name, Kind: h.Typeflag, Mode: h.Mode & 0o7777, UID: h.Uid, GID: h.Gid}
	if e.UID < 0 || e.GID < 0 || int64(e.UID) > 1<<32-1 || int64(e.GID) > 1<<32-1 {
		return fmt.Errorf("owner %d:%d", e.UID, e.GID)
	}
	switch h.Typeflag {
	case tar.TypeDir:
	case tar.TypeReg:
		if err := p.store(&e, h.Size, body); err != nil {
			return err
		}
	case tar.TypeSymlink:
		if h.Linkname == "" || len(h.Linkname) > tree.MaxPath || strings.IndexByte(h.Linkname, 0) >= 0 {
			return fmt.Errorf("a symbolic link to %q", h.Linkname)
		}
		e.Target, e.Mode = h.Linkname, 0o777
	case tar.TypeLink:
		if e, err = p.link(name, h.Linkname); err != nil {
			return err
		}
	case tar.TypeChar, tar.TypeBlock, tar.TypeFifo:
	default:
		return fmt.Errorf("unknown entry type %q", h.Typeflag)
	}
	if p.o.Plain {
		plain(&e)
	}
	p.at[name] = len(p.entries)
	p.entries = append(p.entries, e)
	return nil
}

// skip reports that a name will not be kept, so that its contents need no
// room. In a single archive it may still be the target of a hard link that is
// kept.
func (p *repacker) skip(name string, kind byte) bool {
	return p.merge && kind != tar.TypeDir && p.o.Keep != nil && !p.o.Keep(name)
}

// store moves a file's contents to the spool.
func (p *repacker) store(e *tree.Entry, size int64, body io.Reader) error {
	if size < 0 || size > p.o.MaxContents-p.spooled {
		return &ErrTooLarge{Path: e.Path, Limit: p.o.MaxContents}
	}
	offset := p.spooled
	n, err := io.Copy(p.spool, body)
	if err == nil && n != size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return err
	}
	p.spooled += n
	e.Size = n
	e.Open = func() (io.ReadCloser, error) {
		return io.NopCloser(io.NewSectionReader(p.spool, offset, n)), nil
	}
	return nil
}

// link makes another name of an earlier file.
func (p *repacker) link(name, target string) (tree.Entry, error) {
	to, err := tree.Relative(target)
	if err != nil {
		return tree.Entry{}, fmt.Errorf("hard link to %q: %w", target, err)
	}
	to = path.Join(p.below, to)
	i, ok := p.at[to]
	if !ok {
		return tree.Entry{}, fmt.Errorf("hard link to %q, which does not precede it", target)
	}
	if p.entries[i].Kind == tar.TypeDir {
		return tree.Entry{}, fmt.Errorf("hard link to %q, a directory", target)
	}
	if p.entries[i].Inode == nil {
		p.entries[i].Inode = i
	}
	e := p.entries[i]
	e.Path = name
	return e, nil
}

// chosen returns the entries to keep, with all directories above them.
func (p *repacker) chosen() ([]tree.Entry, error) {
	var out []tree.Entry
	taken := map[string]bool{}
	for _, e := range p.entries {
		if p.o.Keep != nil && !p.o.Keep(e.Path) {
			continue
		}
		switch e.Kind {
		case tar.TypeChar:
			p.skipped["character devices"]++
			continue
		case tar.TypeBlock:
			p.skipped["block devices"]++
			continue
		case tar.TypeFifo:
			p.skipped["fifos"]++
			continue
		}
		if !taken[e.Path] {
			taken[e.Path] = true
			out = append(out, e)
		}
		for dir := path.Dir(e.Path); dir != "."; dir = path.Dir(dir) {
			above := tree.Entry{Path: dir, Kind: tar.TypeDir, Mode: 0o755}
			if i, ok := p.at[dir]; ok {
				above = p.entries[i]
			}
			if above.Kind != tar.TypeDir {
				return nil, fmt.Errorf("%q is below %q, which is not a directory", e.Path, dir)
			}
			if !taken[dir] {
				taken[dir] = true
				out = append(out, above)
			}
		}
	}
	return out, nil
}

func plain(e *tree.Entry) {
	e.UID, e.GID = 0, 0
	switch {
	case e.Kind == tar.TypeSymlink:
	case e.Kind == tar.TypeDir || e.Mode&0o100 != 0:
		e.Mode = 0o755
	default:
		e.Mode = 0o644
	}
}
