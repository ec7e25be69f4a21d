package workload

import (
	"encoding/binary"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"whichfs/internal/fault/script"
)

// dirBuffer is the buffer size for listing a directory: that of the C library.
const dirBuffer = 32 << 10

// walk goes through directories in the order in which the filesystem lists them. Everything it
// needs is allocated when it is made.
type walk struct {
	base   string // the root of the walk, for messages
	st     unix.Stat_t
	depth  int // frames in use
	frames [maxDepth + 1]frame
}

// frame is one directory that is open.
type frame struct {
	fd      int
	out     int    // the copy of this directory, where one is made
	mode    uint32 // the directory's mode, if a copy is made
	n, off  int    // of buf: filled, and where the next entry begins
	idle    int    // calls of getdents64 in a row that gave no name
	name    []byte // the current entry: its name, with NUL
	removed bool   // something was removed in this pass over it
	buf     []byte
}

func newWalk(base string) *walk {
	w := &walk{base: base}
	all := make([]byte, len(w.frames)*dirBuffer)
	for i := range w.frames {
		w.frames[i].buf = all[i*dirBuffer : (i+1)*dirBuffer]
		w.frames[i].out = -1
	}
	return w
}

// top is the current directory.
func (w *walk) top() *frame { return &w.frames[w.depth-1] }

// enter opens a directory and makes it the top. dir may be AT_FDCWD.
func (w *walk) enter(dir int, name *byte) error {
	if w.depth == len(w.frames) {
		return Subject("%q is more than %d directories deep", w.path(), maxDepth)
	}
	fd, errno := openat(dir, name, listFlags, 0)
	if errno != 0 {
		return w.fail("open", errno)
	}
	f := &w.frames[w.depth]
	f.fd, f.out, f.n, f.off, f.idle, f.name, f.removed = fd, -1, 0, 0, 0, nil, false
	w.depth++
	return nil
}

// leave closes the top; the current entry is then that directory's own.
func (w *walk) leave() error {
	f := w.top()
	w.depth--
	errno := closefd(f.fd)
	if f.out >= 0 {
		if e := closefd(f.out); errno == 0 {
			errno = e
		}
	}
	if errno != 0 {
		return w.fail("close", errno)
	}
	return nil
}

// closeAll closes what an error left open.
func (w *walk) closeAll() {
	for w.depth > 0 {
		_ = w.leave()
	}
}

// next returns the next entry of the top and its type (DT_REG and so on), or
// nil at the end. The name is valid until the entry after it.
func (w *walk) next() (*byte, uint8, error) {
	f := w.top()
	for {
		if f.off >= f.n {
			f.name = nil
			n, errno := getdents(f.fd, f.buf)
			if errno != 0 {
				return nil, 0, w.fail("list", errno)
			}
			if n <= 0 {
				return nil, 0, nil
			}
			if f.idle++; f.idle > script.MostIdle {
				return nil, 0, endless(w.path())
			}
			f.n, f.off = n, 0
		}
		name, kind, length := dirent(f.buf[f.off:f.n])
		if length == 0 {
			return nil, 0, w.fail("list", unix.EIO)
		}
		f.off += length
		if name[0] == '.' && (name[1] == 0 || name[1] == '.' && name[2] == 0) {
			continue
		}
		f.name, f.idle = name, 0
		if kind == unix.DT_UNKNOWN {
			if errno := statat(f.fd, &name[0], &w.st); errno != 0 {
				return nil, 0, w.fail("stat", errno)
			}
			kind = uint8(w.st.Mode & unix.S_IFMT >> 12) // as the kernel derives one from the other
		}
		return &name[0], kind, nil
	}
}

// endless is the failure of a filesystem to come to the end of a directory.
func endless(path string) error { return Subject("listing %q does not end", path) }

// dirent takes the first struct linux_dirent64 from buf: its name with the NUL, its type and its
// length; a length of 0 means that it is broken. The layout is the same on every architecture.
func dirent(buf []byte) (name []byte, kind uint8, length int) {
	const head = 19 // d_ino, d_off, d_reclen, d_type
	if len(buf) < head+2 {
		return nil, 0, 0
	}
	length = int(binary.NativeEndian.Uint16(buf[16:]))
	if length < head+2 || length > len(buf) {
		return nil, 0, 0
	}
	name = buf[head:length]
	for i, c := range name {
		if c == 0 && i > 0 {
			return name[:i+1], buf[18], length
		}
	}
	return nil, 0, 0
}

// path is the current position of the walk.
func (w *walk) path() string {
	var b strings.Builder
	b.WriteString(w.base)
	for i := range w.frames[:w.depth] {
		if name := w.frames[i].name; len(name) > 1 {
			fmt.Fprintf(&b, "/%s", name[:len(name)-1])
		}
	}
	return b.String()
}

func (w *walk) fail(op string, errno unix.Errno) error { return errOp(op, w.path(), errno) }
