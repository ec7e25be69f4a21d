package script

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"whichfs/internal/sys/dirlist"
)

// Limits of a Reader, so that the claims of a damaged tree do not exhaust memory.
const (
	mostDepth   = 32
	mostEntries = 100_000
	mostData    = 64 << 20 // bytes, of one file
)

// Reader reads trees repeatedly with the same memory. It must be used from one
// goroutine.
type Reader struct {
	list  []byte // buffer for listing a directory
	arena []byte // contents of files
	tree  Tree
}

// ReadTree reads everything below dir. It never gives up: what cannot be read is
// recorded with its path.
func ReadTree(dir string) Tree { return new(Reader).Read(dir) }

// Read reads everything below dir; the result is valid until the next call.
func (r *Reader) Read(dir string) Tree {
	if r.tree == nil {
		r.tree, r.list = Tree{}, make([]byte, dirlist.Buffer)
	}
	clear(r.tree)
	r.arena = r.arena[:0]
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC|unix.O_NOATIME, 0)
	if err != nil {
		r.tree[""] = Found{Kind: kindDir, Err: err.Error()}
		return r.tree
	}
	defer unix.Close(fd) //nolint:errcheck // only a directory
	r.dir(fd, "", 0)
	return r.tree
}

// listed is one name of a directory.
type listed struct {
	name string
	kind byte // DT_REG …
}

// dir reads an open directory and everything below it.
func (r *Reader) dir(fd int, path string, depth int) {
	here := Found{Kind: kindDir}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		here.Err = err.Error()
	}
	here.Size, here.Links, here.Inode = st.Size, int(st.Nlink), st.Ino
	names, err := r.names(fd)
	switch {
	case err != nil:
		here.Err = "list: " + err.Error()
	case depth >= mostDepth:
		here.Err, names = "directories are nested without end", nil
	}
	r.tree[path] = here
	for _, n := range names {
		below := join(path, n.name)
		if _, twice := r.tree[below]; twice {
			r.tree[below] = Found{Kind: kindOther, Err: "it is listed twice"}
			continue
		}
		r.look(fd, n, below, depth)
	}
}

// look reads what one name refers to.
func (r *Reader) look(at int, n listed, path string, depth int) {
	var st unix.Stat_t
	if n.kind != unix.DT_REG && n.kind != unix.DT_DIR {
		if err := unix.Fstatat(at, n.name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			r.tree[path] = Found{Kind: kindOf(n.kind), Err: "look up: " + err.Error()}
			return
		}
		n.kind = byte(st.Mode & unix.S_IFMT >> 12)
	}
	switch n.kind {
	case unix.DT_DIR:
		fd, err := open(at, n.name, unix.O_DIRECTORY)
		if err != nil {
			r.tree[path] = Found{Kind: kindDir, Err: "open: " + err.Error()}
			return
		}
		r.dir(fd, path, depth+1)
		_ = unix.Close(fd) // only read
	case unix.DT_REG:
		r.tree[path] = r.file(at, n.name)
	case unix.DT_LNK:
		f := Found{Kind: kindSymlink, Links: int(st.Nlink), Inode: st.Ino}
		target := make([]byte, 4096)
		k, err := unix.Readlinkat(at, n.name, target)
		if err != nil {
			f.Err = "read link: " + err.Error()
		}
		f.Data, f.Size = target[:max(k, 0)], int64(max(k, 0))
		r.tree[path] = f
	default:
		r.tree[path] = Found{Kind: kindOther, Size: st.Size, Links: int(st.Nlink), Inode: st.Ino}
	}
}

// open opens for reading, without updating the access time if the filesystem and
// the owner permit that.
func open(at int, name string, flags int) (int, error) {
	flags |= unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_CLOEXEC | unix.O_NONBLOCK
	fd, err := unix.Openat(at, name, flags|unix.O_NOATIME, 0)
	if err == unix.EPERM {
		fd, err = unix.Openat(at, name, flags, 0)
	}
	return fd, err
}

// file reads a file's contents and metadata.
func (r *Reader) file(at int, name string) Found {
	f := Found{Kind: kindFile}
	fd, err := open(at, name, 0)
	if err != nil {
		f.Err = "open: " + err.Error()
		return f
	}
	defer unix.Close(fd) //nolint:errcheck // only read
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		f.Err = "stat: " + err.Error()
		return f
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		f.Kind, f.Err = kindOf(byte(st.Mode&unix.S_IFMT>>12)), "the directory says that it is a file"
		return f
	}
	f.Size, f.Links, f.Inode = st.Size, int(st.Nlink), st.Ino
	if st.Size > mostData {
		f.Err = fmt.Sprintf("it says that it has %d bytes", st.Size)
		return f
	}
	start := len(r.arena)
	if need := start + int(st.Size); need > cap(r.arena) {
		// Data already returned keep the old memory.
		r.arena, start = make([]byte, 0, max(2*cap(r.arena), int(st.Size), 256<<10)), 0
	}
	data := r.arena[start : start+int(st.Size)]
	done := 0
	for done < len(data) {
		n, err := unix.Pread(fd, data[done:], int64(done))
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			f.Err = fmt.Sprintf("read at %d: %v", done, err)
			break
		}
		if n == 0 {
			f.Err = fmt.Sprintf("it says that it has %d bytes, and %d can be read", st.Size, done)
			break
		}
		done += n
	}
	r.arena = r.arena[:start+done]
	f.Data = data[:done:done]
	return f
}

// names lists a directory, as far as the tree may grow. Besides an error it returns the names
// before it.
func (r *Reader) names(fd int) (all []listed, err error) {
	list := dirlist.Of(fd, r.list)
	for len(r.tree)+len(all) < mostEntries {
		name, kind, err := list.Next()
		if name == nil {
			return all, err
		}
		all = append(all, listed{string(name[:len(name)-1]), kind})
	}
	return all, errors.New("names without end")
}

// kindOf names the type of a directory entry.
func kindOf(t byte) string {
	switch t {
	case unix.DT_REG:
		return kindFile
	case unix.DT_DIR:
		return kindDir
	case unix.DT_LNK:
		return kindSymlink
	}
	return kindOther
}
