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
func Pack(ctx context.Context, dir string, w io.Writer, l Limits) (Info, error) {
	p, err := survey(ctx, dir, l)
	if err != nil {
		return Info{}, err
	}
	return writeArchive(ctx, w, p.entries, p.skipped)
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
			return unreadable(path, err)
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
	entries []entry
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
		return unreadable(path, err)
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
	e := entry{path: rel, mode: int64(st.Mode) & 0o7777, uid: int(st.Uid), gid: int(st.Gid)}
	if len(rel) > maxPath {
		return fmt.Errorf("%q: its path is longer than %d bytes", path, maxPath)
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
		e.inode = id
	}
	switch {
	case info.IsDir():
		e.kind = tar.TypeDir
	case info.Mode()&fs.ModeSymlink != 0:
		e.kind = tar.TypeSymlink
		e.mode = 0o777 // filesystems differ here, and nothing depends on it
		if e.target, err = os.Readlink(path); err != nil {
			return unreadable(path, err)
		}
	default:
		e.kind, e.size = tar.TypeReg, info.Size()
		e.open = func() (io.ReadCloser, error) {
			return os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
		}
		if st.Blocks*512 < e.size && e.size > p.limits.Sparse {
			p.skipped["sparse files longer than "+units.Value(float64(p.limits.Sparse), "B")]++
			return nil
		}
		if err := p.count(e); err != nil {
			return err
		}
	}
	p.entries = append(p.entries, e)
	p.archive += headerRoom(e)
	if p.limits.Archive > 0 && p.archive+2*block > p.limits.Archive {
		return &ErrTooLarge{Path: e.path, Limit: p.limits.Archive}
	}
	return nil
}

// block is the unit of archives, in bytes.
const block = 512

// headerRoom is the maximum size of an entry's headers in an archive, in
// bytes. Names that are long or not plain text need a second one, and so do
// large numbers; the target of a hard link is assumed to be as long.
func headerRoom(e entry) int64 {
	plain := len(e.path) <= 100 && len(e.target) <= 100 && e.inode == nil && e.size < 1<<33 && max(e.uid, e.gid) < 1<<21
	for _, c := range []byte(e.path + e.target) {
		plain = plain && c >= ' ' && c < 0x7f
	}
	if plain {
		return block
	}
	return 3*block + rounded(int64(2*len(e.path)+len(e.target)))
}

// rounded rounds n up to whole blocks.
func rounded(n int64) int64 { return (n + block - 1) / block * block }

// count adds a file to the sum, only once if it has several names.
func (p *packer) count(e entry) error {
	if id, ok := e.inode.(inode); ok {
		if p.counted[id] {
			return nil
		}
		if p.counted == nil {
			p.counted = map[inode]bool{}
		}
		p.counted[id] = true
	}
	p.size += e.size
	p.archive += rounded(e.size)
	if p.limits.Contents > 0 && p.size > p.limits.Contents {
		return &ErrTooLarge{Path: e.path, Limit: p.limits.Contents}
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
