package dataset

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/tree"
	"whichfs/internal/sys/units"
)

// Limits of a packed directory, in bytes.
type Limits struct {
	// Contents of all files together, including holes of sparse files; 0:
	// no limit.
	Contents int64
	// Archive is the length of the archive, computed before the first byte
	// is written; 0: no limit.
	Archive int64
	// Sparse is the longest file with holes that is written out in full;
	// longer ones are skipped and counted. 0: 1 GiB.
	Sparse int64
}

// ErrTooLarge means that a tree exceeds its Limits.
type ErrTooLarge struct {
	Path  string // where the limit was exceeded
	Limit int64  // B
}

func (e *ErrTooLarge) Error() string {
	return fmt.Sprintf("the files up to %q need more than the %s that are available", e.Path, units.Value(float64(e.Limit), "B"))
}

// Pack writes the tree below dir to w as a canonical archive. It skips
// sockets, fifos, device nodes, other filesystems mounted below and overlong
// sparse files, and counts them in Info.Skipped. An unreadable file is an
// error. It writes nothing before it has read all names and checked the
// limits.
func Pack(ctx context.Context, dir string, w io.Writer, l Limits) (tree.Info, error) {
	p, err := survey(ctx, dir, l)
	if err != nil {
		return tree.Info{}, err
	}
	return tree.Write(ctx, w, p.entries, p.skipped)
}

// survey reads the names and metadata of a tree, but no contents.
func survey(ctx context.Context, dir string, l Limits) (*packer, error) {
	if l.Sparse == 0 {
		l.Sparse = 1 << 30
	}
	top, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, notThere(dir, err)
	}
	p := &packer{top: top, limits: l, skipped: map[string]int{}}
	err = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return tree.Unreadable(path, err)
		}
		return p.add(path, d)
	})
	return p, err
}

// notThere is the reason why the top directory cannot be found.
func notThere(dir string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no directory %q: %w", dir, fs.ErrNotExist)
	}
	return fmt.Errorf("cannot find %q: %w", dir, err)
}

type packer struct {
	top     string
	limits  Limits
	entries []tree.Entry
	skipped map[string]int
	size    int64  // of contents
	archive int64  // of their archive form
	device  uint64 // of the top
	counted map[inode]bool
}

// inode identifies a file with several names.
type inode struct{ device, number uint64 }

func (p *packer) add(path string, d fs.DirEntry) error {
	info, err := d.Info()
	if err != nil {
		return tree.Unreadable(path, err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("%q: no metadata on this system", path)
	}
	id := inode{uint64(st.Dev), st.Ino} //nolint:unconvert // its width differs by architecture
	if path == p.top {
		if !info.IsDir() {
			return fmt.Errorf("%q is not a directory", path)
		}
		p.device = id.device
		return nil
	}
	rel, err := filepath.Rel(p.top, path)
	if err != nil {
		return err
	}
	e := tree.Entry{Path: rel, Mode: int64(st.Mode) & 0o7777, UID: int(st.Uid), GID: int(st.Gid)}
	if len(rel) > tree.MaxPath {
		return fmt.Errorf("%q: its path is longer than %d bytes", path, tree.MaxPath)
	}
	if id.device != p.device {
		p.skipped["other filesystems mounted in it"]++
		if info.IsDir() {
			return fs.SkipDir
		}
		return nil
	}
	if kind := special(info.Mode()); kind != "" {
		p.skipped[kind]++
		return nil
	}
	if st.Nlink > 1 && !info.IsDir() {
		e.Inode = id
	}
	switch {
	case info.IsDir():
		e.Kind = tar.TypeDir
	case info.Mode()&fs.ModeSymlink != 0:
		e.Kind = tar.TypeSymlink
		e.Mode = 0o777 // filesystems differ here, and nothing depends on it
		if e.Target, err = os.Readlink(path); err != nil {
			return tree.Unreadable(path, err)
		}
	default:
		e.Kind, e.Size = tar.TypeReg, info.Size()
		e.Open = func() (io.ReadCloser, error) {
			return os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
		}
		if st.Blocks*512 < e.Size && e.Size > p.limits.Sparse {
			p.skipped["sparse files longer than "+units.Value(float64(p.limits.Sparse), "B")]++
			return nil
		}
		if err := p.count(e); err != nil {
			return err
		}
	}
	p.entries = append(p.entries, e)
	p.archive += headerRoom(e)
	if p.limits.Archive > 0 && p.archive+2*tree.Block > p.limits.Archive {
		return &ErrTooLarge{Path: e.Path, Limit: p.limits.Archive}
	}
	return nil
}

// headerRoom is the maximum size of an entry's headers in an archive, in
// bytes. Names that are long or not plain text need a second one, and so do
// large numbers; the target of a hard link is assumed to be as long.
func headerRoom(e tree.Entry) int64 {
	plain := len(e.Path) <= 100 && len(e.Target) <= 100 && e.Inode == nil && e.Size < 1<<33 && max(e.UID, e.GID) < 1<<21
	for _, c := range []byte(e.Path + e.Target) {
		plain = plain && c >= ' ' && c < 0x7f
	}
	if plain {
		return tree.Block
	}
	return 3*tree.Block + rounded(int64(2*len(e.Path)+len(e.Target)))
}

// rounded rounds n up to whole blocks.
func rounded(n int64) int64 { return (n + tree.Block - 1) / tree.Block * tree.Block }

// count adds a file to the sum, only once if it has several names.
func (p *packer) count(e tree.Entry) error {
	if id, ok := e.Inode.(inode); ok {
		if p.counted[id] {
			return nil
		}
		if p.counted == nil {
			p.counted = map[inode]bool{}
		}
		p.counted[id] = true
	}
	p.size += e.Size
	p.archive += rounded(e.Size)
	if p.limits.Contents > 0 && p.size > p.limits.Contents {
		return &ErrTooLarge{Path: e.Path, Limit: p.limits.Contents}
	}
	return nil
}

// special names kinds of files that archives of workloads skip; "" for
// everything else.
func special(m fs.FileMode) string {
	switch {
	case m&fs.ModeSocket != 0:
		return "sockets"
	case m&fs.ModeNamedPipe != 0:
		return "fifos"
	case m&fs.ModeCharDevice != 0:
		return "character devices"
	case m&fs.ModeDevice != 0:
		return "block devices"
	case m&fs.ModeIrregular != 0:
		return "files of unknown kind"
	}
	return ""
}
