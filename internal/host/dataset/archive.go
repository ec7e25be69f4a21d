package dataset

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/scenario"
)

// The canonical archive of a tree: entries sorted by the bytes of their paths
// (so that a directory precedes its contents), relative paths without a
// leading dot, a slash after directories, no times, numeric owners, the first
// name of a file with its contents and its other names as links to it, two
// zero blocks at the end and nothing more. The same tree always yields the
// same bytes, so the archive's digest identifies the data.

// Info describes an archive.
type Info struct {
	Size    int64          // B, contents of regular files
	Archive int64          // B, the archive itself
	Files   int            // regular files; hard links do not count
	Digest  string         // sha256 of the archive, hexadecimal
	Skipped map[string]int // number of skipped files, by kind
}

// data converts it for scenarios.
func (i Info) data(name, path string) scenario.Data {
	return scenario.Data{
		Name: name, Kind: "tree", Size: i.Size, Digest: i.Digest, Files: i.Files,
		Archive: i.Archive, Path: path, Skipped: i.Skipped,
	}
}

// The agent's limits.
const (
	maxPath = 4095 // B
	maxName = 255  // B
)

// entry is one name of a tree. Its kind is one of archive/tar's type flags,
// never TypeLink: names of one file have the same inode.
type entry struct {
	path     string // relative, without a slash at the end
	kind     byte
	mode     int64 // permission bits and setuid, setgid, sticky
	uid, gid int
	size     int64
	target   string // of a symbolic link
	inode    any    // nil: the only name
	open     func() (io.ReadCloser, error)
}

// writeArchive sorts entries in place and writes them in canonical order.
// skipped counts skipped files, by kind.
func writeArchive(ctx context.Context, w io.Writer, entries []entry, skipped map[string]int) (Info, error) {
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.path, b.path) })
	hash := sha256.New()
	count := &counter{}
	out := tar.NewWriter(io.MultiWriter(w, hash, count))
	info := Info{}
	first := map[any]string{} // inode → path
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return Info{}, context.Cause(ctx)
		}
		h := &tar.Header{
			Typeflag: e.kind, Name: e.path, Linkname: e.target, Mode: e.mode,
			Uid: e.uid, Gid: e.gid, Size: e.size, ModTime: time.Unix(0, 0),
		}
		if e.kind == tar.TypeDir {
			h.Name += "/"
		}
		if e.inode != nil {
			if name, ok := first[e.inode]; ok {
				h.Typeflag, h.Linkname, h.Size = tar.TypeLink, name, 0
			} else {
				first[e.inode] = e.path
			}
		}
		if err := out.WriteHeader(h); err != nil {
			return Info{}, fmt.Errorf("archive %q: %w", e.path, err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if err := contents(ctx, out, e); err != nil {
			return Info{}, err
		}
		info.Files++
		info.Size += e.size
	}
	if err := out.Close(); err != nil {
		return Info{}, fmt.Errorf("archive: %w", err)
	}
	info.Archive, info.Digest = count.n, hex.EncodeToString(hash.Sum(nil))
	if len(skipped) > 0 {
		info.Skipped = skipped
	}
	return info, nil
}

// contents copies a file of the size given in its entry.
func contents(ctx context.Context, w io.Writer, e entry) error {
	r, err := e.open()
	if err != nil {
		return unreadable(e.path, err)
	}
	defer r.Close()
	from := &cancelled{ctx: ctx, r: r}
	n, err := io.CopyN(w, from, e.size)
	switch {
	case errors.Is(err, io.EOF):
		return fmt.Errorf("%q became shorter while it was read: %d bytes instead of %d", e.path, n, e.size)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case from.err != nil:
		return unreadable(e.path, from.err)
	case err != nil:
		return fmt.Errorf("archive %q: %w", e.path, err)
	}
	return nil
}

// unreadable explains an error of a file or directory, and what helps.
func unreadable(path string, err error) error {
	help := "a data set needs every file, so make it readable or leave it out"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		help = "it disappeared while the directory was read: name a directory that does not change, such as a copy"
	case errors.Is(err, unix.ELOOP):
		help = "it was replaced while the directory was read: name a directory that does not change, such as a copy"
	case errors.Is(err, unix.EIO):
		help = "its storage fails: copy what is still readable, and name the copy"
	}
	return fmt.Errorf("cannot read %q: %w; %s", path, err, help)
}

// cancelled is a reader that fails when its context ends: a data set may have
// files of many gigabytes.
type cancelled struct {
	ctx context.Context
	r   io.Reader
	err error // of r, except EOF
}

func (c *cancelled) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		c.err = err
	}
	return n, err
}

type counter struct{ n int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}

// digestOf reads r to its end.
func digestOf(ctx context.Context, r io.Reader) (digest string, size int64, err error) {
	hash := sha256.New()
	if size, err = io.Copy(hash, &cancelled{ctx: ctx, r: r}); err != nil {
		return "", 0, err
	}
	return hex.EncodeToString(hash.Sum(nil)), size, nil
}
