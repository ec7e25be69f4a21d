package workload

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"whichfs/internal/sys/dirlist"
)

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
	list    dirlist.List
	name    []byte // the current entry: its name, with NUL
	removed bool   // something was removed in this pass over it
	buf     []byte
}

func newWalk(base string) *walk {
	w := &walk{base: base}
	all := make([]byte, len(w.frames)*dirlist.Buffer)
	for i := range w.frames {
		w.frames[i].buf = all[i*dirlist.Buffer : (i+1)*dirlist.Buffer]
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
	f.fd, f.out, f.list, f.name, f.removed = fd, -1, dirlist.Of(fd, f.buf), nil, false
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
	name, kind, err := f.list.Next()
	f.name = name
	switch {
	case err != nil:
		return nil, 0, unlisted(w.path(), err)
	case name == nil:
		return nil, 0, nil
	case kind == unix.DT_UNKNOWN:
		if errno := statat(f.fd, &name[0], &w.st); errno != 0 {
			return nil, 0, w.fail("stat", errno)
		}
		kind = uint8(w.st.Mode & unix.S_IFMT >> 12) // as the kernel derives one from the other
	}
	return &name[0], kind, nil
}

// unlisted is the failure to list a directory, with an error of dirlist.
func unlisted(path string, err error) error {
	if errno, ok := err.(unix.Errno); ok {
		return errOp("list", path, errno)
	}
	return Subject("listing %q: %v", path, err)
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
