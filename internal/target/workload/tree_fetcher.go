package workload

import (
	"bytes"

	"golang.org/x/sys/unix"
)

// fetchBuffer is the size of the buffer for reads and writes of files, in bytes: cp's.
const fetchBuffer = 128 << 10

// maxValue is the kernel's limit for the value of an extended attribute.
const maxValue = 64 << 10

// fetcher copies a tree out of a filesystem into one in memory. The calls are those of cp -a:
// contents are read and written; times, owner, extended attributes and mode are set in this order;
// several names of one file stay hard links.
type fetcher struct {
	dir, to     []byte // absolute paths with NUL
	walk        *walk
	names       *names
	buf, link   []byte
	list, value []byte // of extended attributes
	st          unix.Stat_t
	times       [2]unix.Timespec
	out         int // the top of the copy

	files, bytes int64
	want         wanted
}

func (f *fetcher) run(t *Tally) error {
	if errno := mkdirat(unix.AT_FDCWD, &f.to[0], 0o700); errno != 0 {
		return &opError{op: "mkdir", path: string(f.to[:len(f.to)-1]), errno: errno}
	}
	var errno unix.Errno
	if f.out, errno = openat(unix.AT_FDCWD, &f.to[0], listFlags, 0); errno != 0 {
		return &opError{op: "open", path: string(f.to[:len(f.to)-1]), errno: errno}
	}
	defer closefd(f.out)
	defer f.walk.closeAll()
	if err := f.walk.enter(unix.AT_FDCWD, &f.dir[0]); err != nil {
		return err
	}
	w := f.walk
	for w.depth > 0 {
		name, kind, err := w.next()
		if err != nil {
			return err
		}
		if name == nil {
			if err := f.leave(); err != nil {
				return err
			}
			continue
		}
		if err := f.entry(name, kind, t); err != nil {
			return err
		}
	}
	t.Bytes = f.bytes
	return f.want.check(f.files, f.bytes)
}

// into is the copy of the directory at the top of the walk.
func (f *fetcher) into() int {
	if out := f.walk.top().out; out >= 0 {
		return out
	}
	return f.out
}

func (f *fetcher) entry(name *byte, kind uint8, t *Tally) error {
	w := f.walk
	from, to := w.top().fd, f.into()
	call, errno := "", unix.Errno(0)
	switch kind {
	case unix.DT_DIR:
		t.Files++
		return f.enter(from, to, name)
	case unix.DT_REG:
		f.files++
		call, errno = f.file(from, to, name)
	case unix.DT_LNK:
		call, errno = f.symlink(from, to, name)
	default: // sockets and devices, which trees do not have
		return nil
	}
	t.Files++
	if errno != 0 {
		return w.fail(call, errno)
	}
	return nil
}

func (f *fetcher) enter(from, to int, name *byte) error {
	w := f.walk
	if errno := mkdirat(to, name, 0o700); errno != 0 {
		return w.fail("mkdir the copy of", errno)
	}
	if err := w.enter(from, name); err != nil {
		return err
	}
	fd, errno := openat(to, name, listFlags, 0)
	if errno != 0 {
		return w.fail("open the copy of", errno)
	}
	w.top().out = fd
	return nil
}

// leave sets the metadata of a directory's copy: creating entries in it has changed its times.
func (f *fetcher) leave() error {
	w := f.walk
	if call, errno := f.finish(w.top().fd, f.into()); errno != 0 {
		return w.fail(call, errno)
	}
	return w.leave()
}

// file copies a regular file, or links to its copy if another of its names was met before.
func (f *fetcher) file(from, to int, name *byte) (string, unix.Errno) {
	in, errno := openat(from, name, readFlags, 0)
	if errno != 0 {
		return "open", errno
	}
	call, errno := f.opened(in, to, name)
	if e := closefd(in); errno == 0 {
		call, errno = "close", e
	}
	return call, errno
}

func (f *fetcher) opened(in, to int, name *byte) (string, unix.Errno) {
	if err := unix.Fstat(in, &f.st); err != nil {
		return "stat", err.(unix.Errno) //nolint:errorlint,forcetypeassert // an errno as it is
	}
	if f.st.Nlink > 1 {
		if first := f.names.first(uint64(f.st.Dev), f.st.Ino, f.walk); first != nil { //nolint:unconvert // its width differs by architecture
			return "link the copy of", linkat(f.out, first, to, name)
		}
	}
	out, errno := openat(to, name, createFlags, 0o600)
	if errno != 0 {
		return "create the copy of", errno
	}
	// Only advice: a filesystem may ignore it.
	_ = unix.Fadvise(in, 0, 0, unix.FADV_SEQUENTIAL)
	call, errno := f.content(in, out)
	if errno == 0 {
		call, errno = f.finish(in, out)
	}
	if e := closefd(out); errno == 0 {
		call, errno = "close the copy of", e
	}
	return call, errno
}

func (f *fetcher) content(in, out int) (string, unix.Errno) {
	for {
		n, errno := readfd(in, f.buf)
		if errno != 0 {
			return "read", errno
		}
		if n == 0 {
			return "", 0
		}
		if errno := writeAll(out, f.buf[:n]); errno != 0 {
			return "write the copy of", errno
		}
		f.bytes += int64(n)
	}
}

// finish sets the times, owner, extended attributes and mode of a copy to those of its source.
func (f *fetcher) finish(in, out int) (string, unix.Errno) {
	if err := unix.Fstat(in, &f.st); err != nil {
		return "stat", err.(unix.Errno) //nolint:errorlint,forcetypeassert // an errno as it is
	}
	f.times = [2]unix.Timespec{f.st.Atim, f.st.Mtim}
	if errno := utimesat(out, nil, &f.times); errno != 0 {
		return "set the times of the copy of", errno
	}
	if errno := fchown(out, f.st.Uid, f.st.Gid); errno != 0 {
		return "chown the copy of", errno
	}
	if call, errno := f.attributes(in, out); errno != 0 {
		return call, errno
	}
	return "chmod the copy of", fchmod(out, f.st.Mode&0o7777)
}

// attributes copies extended attributes as far as the filesystem in memory accepts them.
func (f *fetcher) attributes(in, out int) (string, unix.Errno) {
	n, errno := listxattr(in, f.list)
	if errno == unix.EOPNOTSUPP || errno == 0 && n == 0 {
		return "", 0
	}
	if errno != 0 {
		return "list attributes of", errno
	}
	for left := f.list[:n]; len(left) > 0; {
		end := bytes.IndexByte(left, 0)
		if end < 0 {
			return "list attributes of", unix.EIO
		}
		size, errno := getxattr(in, &left[0], f.value)
		if errno != 0 {
			return "get an attribute of", errno
		}
		if errno := setxattr(out, &left[0], f.value[:size]); errno != 0 && errno != unix.EOPNOTSUPP {
			return "set an attribute of the copy of", errno
		}
		left = left[end+1:]
	}
	return "", 0
}

func (f *fetcher) symlink(from, to int, name *byte) (string, unix.Errno) {
	if errno := statat(from, name, &f.st); errno != 0 {
		return "stat", errno
	}
	n, errno := readlinkat(from, name, f.link[:unix.PathMax])
	if errno != 0 {
		return "readlink", errno
	}
	f.link[n] = 0
	if errno := symlinkat(&f.link[0], to, name); errno != 0 {
		return "symlink the copy of", errno
	}
	f.times = [2]unix.Timespec{f.st.Atim, f.st.Mtim}
	if errno := utimesat(to, name, &f.times); errno != 0 {
		return "set the times of the copy of", errno
	}
	return "chown the copy of", chownat(to, name, f.st.Uid, f.st.Gid)
}
