// Package tree writes trees of files as canonical archives, which are what data sets are kept and sent as.
package tree

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

// Data converts it for scenarios.
func (i Info) Data(name, path string) scenario.Data {
	return scenario.Data{
		Name: name, Kind: "tree", Size: i.Size, Digest: i.Digest, Files: i.Files,
		Archive: i.Archive, Path: path, Skipped: i.Skipped,
	}
}

// Block is the unit of archives, in bytes.
const Block = 512

// The agent's limits.
const (
	MaxPath = 4095 // B
	MaxName = 255  // B
)

// Entry is one name of a tree. Its kind is one of archive/tar's type flags,
// never TypeLink: names of one file have the same inode.
type Entry struct {
	Path     string // relative, without a slash at the end
	Kind     byte
	Mode     int64 // permission bits and setuid, setgid, sticky
	UID, GID int
	Size     int64
	Target   string // of a symbolic link
	Inode    any    // nil: the only name
	Open     func() (io.ReadCloser, error)
}

// Write sorts entries in place and writes them in canonical order.
// skipped counts skipped files, by kind.
func Write(ctx context.Context, w io.Writer, entries []Entry, skipped map[string]int) (Info, error) {
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
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
			Typeflag: e.Kind, Name: e.Path, Linkname: e.Target, Mode: e.Mode,
			Uid: e.UID, Gid: e.GID, Size: e.Size, ModTime: time.Unix(0, 0),
		}
		if e.Kind == tar.TypeDir {
			h.Name += "/"
		}
		if e.Inode != nil {
			if name, ok := first[e.Inode]; ok {
				h.Typeflag, h.Linkname, h.Size = tar.TypeLink, name, 0
			} else {
				first[e.Inode] = e.Path
			}
		}
		if err := out.WriteHeader(h); err != nil {
			return Info{}, fmt.Errorf("archive %q: %w", e.Path, err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if err := contents(ctx, out, e); err != nil {
			return Info{}, err
		}
		info.Files++
		info.Size += e.Size
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
func contents(ctx context.Context, w io.Writer, e Entry) error {
	r, err := e.Open()
	if err != nil {
		return Unreadable(e.Path, err)
	}
	defer r.Close()
	from := &cancelled{ctx: ctx, r: r}
	n, err := io.CopyN(w, from, e.Size)
	switch {
	case errors.Is(err, io.EOF):
		return fmt.Errorf("%q became shorter while it was read: %d bytes instead of %d", e.Path, n, e.Size)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case from.err != nil:
		return Unreadable(e.Path, from.err)
	case err != nil:
		return fmt.Errorf("archive %q: %w", e.Path, err)
	}
	return nil
}

// Unreadable explains an error of a file or directory, and what helps.
func Unreadable(path string, err error) error {
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

// Until is a reader that fails when its context ends: a data set may have files of many gigabytes.
func Until(ctx context.Context, r io.Reader) io.Reader { return &cancelled{ctx: ctx, r: r} }

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

// Relative checks a name of an archive and returns it without a leading "./"
// and a trailing slash; "" is the top of the tree.
func Relative(name string) (string, error) {
	name = strings.TrimSuffix(strings.TrimPrefix(name, "./"), "/")
	switch {
	case name == "" || name == ".":
		return "", nil
	case strings.IndexByte(name, 0) >= 0:
		return "", errors.New("a NUL byte in the name")
	case len(name) > MaxPath:
		return "", fmt.Errorf("a path of %d bytes, %d are allowed", len(name), MaxPath)
	}
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case part == "" || part == "." || part == "..":
			return "", errors.New("a path that leaves the tree or is not in its shortest form")
		case len(part) > MaxName:
			return "", fmt.Errorf("a name of %d bytes, %d are allowed", len(part), MaxName)
		}
	}
	return name, nil
}
