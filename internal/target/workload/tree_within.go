package workload

import (
	"golang.org/x/sys/unix"
)

// within copies a tree inside a filesystem. Files are read and written, or cloned, with nothing in
// between: the kernel's copy_file_range would clone where the filesystem can, and the figures would
// not show that.
//
// Modes are those of the source (less the umask); owners and times are not set; several names of
// one file become separate files, all as in cp -r. Sockets and devices are not copied.
type within struct {
	walk  *walk
	clone bool
	buf   []byte
	link  []byte
	st    unix.Stat_t
}

func newWithin(base string, clone bool) *within {
	return &within{walk: newWalk(base), clone: clone, buf: buffer(readBuffer), link: make([]byte, unix.PathMax+1)}
}

// copy copies the directory from to the new directory to, both in dir.
func (c *within) copy(dir int, from, to *byte, t *Tally) error {
	w := c.walk
	defer w.closeAll()
	if err := c.enter(dir, from, dir, to); err != nil {
		return err
	}
	for w.depth > 0 {
		name, kind, err := w.next()
		if err != nil {
			return err
		}
		if name == nil {
			if err := c.leave(dir, to); err != nil {
				return err
			}
			continue
		}
		f := w.top()
		t.Files++
		switch kind {
		case unix.DT_DIR:
			if err := c.enter(f.fd, name, f.out, name); err != nil {
				return err
			}
		case unix.DT_REG:
			n, call, errno := c.file(f.fd, f.out, name)
			if errno != 0 {
				return w.fail(call, errno)
			}
			t.Bytes += n
		case unix.DT_LNK:
			n, errno := readlinkat(f.fd, name, c.link[:unix.PathMax])
			if errno != 0 {
				return w.fail("readlink", errno)
			}
			c.link[n] = 0
			if errno := symlinkat(&c.link[0], f.out, name); errno != 0 {
				return w.fail("symlink", errno)
			}
		default:
			t.Files--
		}
	}
	return nil
}

// enter opens the source directory and makes its copy.
func (c *within) enter(dir int, from *byte, outDir int, to *byte) error {
	w := c.walk
	if err := w.enter(dir, from); err != nil {
		return err
	}
	f := w.top()
	if err := unix.Fstat(f.fd, &c.st); err != nil {
		return w.fail("stat", err.(unix.Errno)) //nolint:errorlint,forcetypeassert // an errno as it is
	}
	f.mode = c.st.Mode & 0o7777
	if errno := mkdirat(outDir, to, f.mode|0o700); errno != 0 {
		return w.fail("mkdir the copy of", errno)
	}
	fd, errno := openat(outDir, to, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errno != 0 {
		return w.fail("open the copy of", errno)
	}
	f.out = fd
	return nil
}

// leave finishes a directory; a mode that denies its owner access comes last.
func (c *within) leave(dir int, to *byte) error {
	w := c.walk
	mode := w.top().mode
	if err := w.leave(); err != nil {
		return err
	}
	if mode&0o700 == 0o700 {
		return nil
	}
	if w.depth > 0 {
		dir, to = w.top().out, &w.top().name[0]
	}
	if errno := chmodat(dir, to, mode); errno != 0 {
		return w.fail("chmod the copy of", errno)
	}
	return nil
}

// file copies one file and returns its length, or the call that failed.
func (c *within) file(dir, outDir int, name *byte) (int64, string, unix.Errno) {
	in, errno := openat(dir, name, readFlags, 0)
	if errno != 0 {
		return 0, "open", errno
	}
	if err := unix.Fstat(in, &c.st); err != nil {
		_ = closefd(in)
		return 0, "stat", err.(unix.Errno) //nolint:errorlint,forcetypeassert // an errno as it is
	}
	out, errno := openat(outDir, name, createFlags, c.st.Mode&0o7777)
	if errno != 0 {
		_ = closefd(in)
		return 0, "create the copy of", errno
	}
	n, call, errno := c.content(in, out)
	_ = closefd(in)
	if e := closefd(out); e != 0 && errno == 0 {
		return n, "close the copy of", e
	}
	return n, call, errno
}

func (c *within) content(in, out int) (int64, string, unix.Errno) {
	if c.clone {
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(out), unix.FICLONE, uintptr(in))
		return c.st.Size, "clone", errno
	}
	var sum int64
	for {
		n, errno := readfd(in, c.buf)
		if errno != 0 {
			return sum, "read", errno
		}
		if n == 0 {
			return sum, "", 0
		}
		if errno := writeAll(out, c.buf[:n]); errno != 0 {
			return sum, "write the copy of", errno
		}
		sum += int64(n)
	}
}
