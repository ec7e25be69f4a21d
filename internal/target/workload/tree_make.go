package workload

import "golang.org/x/sys/unix"

// make makes one entry of a tree in the directory that is open, and returns the call that failed. A
// file that fails is not left behind half written. lenient: files of this copy were left out, so
// links to them cannot be made.
func (w *treeWriter) make(o *op, lenient bool, t *Tally) (call string, errno unix.Errno) {
	dir := w.dirs[w.depth-1]
	switch o.kind {
	case opFile:
		if call, errno = writeFile(dir, o.name, o.data, o.mode); errno != 0 {
			_ = unlinkat(dir, o.name, 0)
			return call, errno
		}
		t.Bytes += int64(len(o.data))
	case opDir:
		call, errno = w.down(dir, o.name, o.mode)
	case opUp:
		w.depth--
		call, errno = "close", closefd(dir)
		if o.close && errno == 0 {
			call, errno = "chmod", chmodat(w.dirs[w.depth-1], o.name, o.mode)
		}
		return call, errno
	case opSymlink:
		call, errno = "symlink", symlinkat(o.target, dir, o.name)
	case opLink:
		call, errno = "link", linkat(w.dirs[0], o.target, dir, o.name)
		if errno == unix.ENOENT && lenient {
			return "", 0
		}
	}
	if errno == 0 {
		t.Files++
	}
	return call, errno
}
