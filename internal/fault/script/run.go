package script

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// Run carries a script's operations out below dir, which Prepare has set up. It
// calls mark with "begin N" before and "end N" after each operation; mark returns
// when the mark is in the log. An operation that the filesystem does not support is
// an error that wraps ErrAbsent; the log is useless then.
func (s Script) Run(dir string, mark func(text string) error) error {
	if s.Program != "" {
		return runDatabase(context.Background(), s, dir, mark)
	}
	m, err := replay(s, Promises{})
	if err != nil {
		return err
	}
	root, err := openRoot(dir)
	if err != nil {
		return err
	}
	defer unix.Close(root) //nolint:errcheck // only a directory
	steps := make([]func() error, len(s.Ops))
	for i, o := range s.Ops {
		steps[i] = step(root, o, m.data[i+1])
	}
	for i, do := range steps {
		number := strconv.Itoa(i + 1)
		if err := mark(Begin + " " + number); err != nil {
			return fmt.Errorf("script %s: mark: %w", s.Name, err)
		}
		if err := do(); err != nil {
			return s.failed("operation", i, s.Ops[i], err)
		}
		if err := mark(End + " " + number); err != nil {
			return fmt.Errorf("script %s: mark: %w", s.Name, err)
		}
	}
	return nil
}

// Prepare carries out Setup below dir and syncs it. It returns an error that wraps
// ErrAbsent if the filesystem lacks what the script needs.
func (s Script) Prepare(dir string) error {
	m, err := replay(s, Promises{})
	if err != nil {
		return err
	}
	root, err := openRoot(dir)
	if err != nil {
		return err
	}
	defer unix.Close(root) //nolint:errcheck // only a directory
	for i, o := range s.Setup {
		if err := step(root, o, m.data[setupBase+i+1])(); err != nil {
			return s.failed("setup", i, o, err)
		}
	}
	if s.Program != "" {
		if err := prepareDatabase(context.Background(), s, dir); err != nil {
			return err
		}
	}
	if err := unix.Syncfs(root); err != nil {
		return fmt.Errorf("script %s: sync after setup: %w", s.Name, err)
	}
	return nil
}

func openRoot(dir string) (int, error) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	return fd, nil
}

// optional are operations that a filesystem need not support, with the errors that
// report this.
var optional = map[string][]error{
	"fallocate": {unix.EOPNOTSUPP, unix.ENOSYS},
	"punch":     {unix.EOPNOTSUPP, unix.ENOSYS},
	"link":      {unix.EOPNOTSUPP, unix.EPERM, unix.ENOSYS},
	"symlink":   {unix.EOPNOTSUPP, unix.EPERM, unix.ENOSYS},
	"fsync-dir": {unix.EINVAL, unix.EOPNOTSUPP},
}

func (s Script) failed(what string, i int, o Op, err error) error {
	for _, e := range optional[o.Do] {
		if errors.Is(err, e) {
			return fmt.Errorf("script %s: this filesystem has no %s (%w): %w", s.Name, o.Do, err, ErrAbsent)
		}
	}
	return fmt.Errorf("script %s, %s %d: %s %s: %w", s.Name, what, i+1, o.Do, o.Path, err)
}

// step prepares an operation below a directory, so that only its system calls
// remain.
func step(root int, o Op, p payload) func() error {
	path := o.Path
	if path == "" {
		path = "."
	}
	switch o.Do {
	case "create":
		return opened(root, path, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, func(int) error { return nil })
	case "write", "append":
		flags := unix.O_WRONLY
		if o.Sync {
			flags |= unix.O_SYNC
		}
		return opened(root, path, flags, func(fd int) error { return writeAll(fd, p.data, p.offset) })
	case "mmap-write":
		return opened(root, path, unix.O_RDWR, func(fd int) error { return mapped(fd, o.Offset, p.data) })
	case "msync":
		return opened(root, path, unix.O_RDWR, func(fd int) error { return mapped(fd, 0, nil) })
	case "truncate":
		return opened(root, path, unix.O_WRONLY, func(fd int) error { return retry(func() error { return unix.Ftruncate(fd, o.Size) }) })
	case "fallocate", "punch":
		mode := uint32(0)
		if o.KeepSize || o.Do == "punch" {
			mode |= unix.FALLOC_FL_KEEP_SIZE
		}
		if o.Do == "punch" {
			mode |= unix.FALLOC_FL_PUNCH_HOLE
		}
		return opened(root, path, unix.O_WRONLY, func(fd int) error {
			return retry(func() error { return unix.Fallocate(fd, mode, o.Offset, o.Size) })
		})
	case "fsync":
		return opened(root, path, unix.O_WRONLY, unix.Fsync)
	case "fdatasync":
		return opened(root, path, unix.O_WRONLY, unix.Fdatasync)
	case "fsync-dir":
		return opened(root, path, unix.O_RDONLY|unix.O_DIRECTORY, unix.Fsync)
	case "rename":
		return func() error { return unix.Renameat(root, path, root, o.To) }
	case "link":
		return func() error { return unix.Linkat(root, path, root, o.To, 0) }
	case "symlink":
		return func() error { return unix.Symlinkat(o.To, root, path) }
	case "unlink":
		return func() error { return unix.Unlinkat(root, path, 0) }
	case "rmdir":
		return func() error { return unix.Unlinkat(root, path, unix.AT_REMOVEDIR) }
	case "mkdir":
		return func() error { return unix.Mkdirat(root, path, 0o755) }
	case "sync":
		return func() error { return unix.Syncfs(root) }
	}
	return func() error { return fmt.Errorf("no such operation %q", o.Do) }
}

// opened opens a file, runs work on it and closes it.
func opened(root int, path string, flags int, work func(fd int) error) func() error {
	return func() error {
		fd := -1
		if err := retry(func() (err error) {
			fd, err = unix.Openat(root, path, flags|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o644)
			return err
		}); err != nil {
			return err
		}
		if err := work(fd); err != nil {
			return errors.Join(err, unix.Close(fd))
		}
		return unix.Close(fd)
	}
}

func retry(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

func writeAll(fd int, data []byte, offset int64) error {
	for len(data) > 0 {
		n, err := unix.Pwrite(fd, data, offset)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		data, offset = data[n:], offset+int64(n)
	}
	return nil
}

// mapped writes data to a shared mapping of the whole file; if data is nil, it
// syncs the mapping.
func mapped(fd int, offset int64, data []byte) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Size == 0 {
		return nil
	}
	mem, err := unix.Mmap(fd, 0, int(st.Size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	if data != nil {
		copy(mem[offset:], data)
	} else if err := unix.Msync(mem, unix.MS_SYNC); err != nil {
		return errors.Join(err, unix.Munmap(mem))
	}
	runtime.KeepAlive(mem)
	return unix.Munmap(mem)
}
