// Package whole writes files that are either complete or absent.
package whole

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Write writes a file, whose contents are on storage before it gets its name. Until then it has
// none, so a killed program leaves nothing behind. It replaces an existing file of that name.
func Write(path string, write func(*os.File) error) error {
	fd, err := unix.Open(filepath.Dir(path), unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return writeBeside(path, write) // not every filesystem has nameless files
	}
	f := os.NewFile(uintptr(fd), path)
	if err = fill(f, write); err == nil {
		err = giveName(f, path)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// fill writes and syncs the contents.
func fill(f *os.File, write func(*os.File) error) error {
	if err := write(f); err != nil {
		return err
	}
	if err := f.Chmod(0o644); err != nil {
		return err
	}
	return f.Sync()
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// giveName gives a nameless file its name. An existing file can only be replaced by a rename; the
// intermediate name is always the same, so the next call removes what a program killed in between
// has left.
func giveName(f *os.File, path string) error {
	link := func(to string) error {
		err := unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", f.Fd()), unix.AT_FDCWD, to, unix.AT_SYMLINK_FOLLOW)
		if err != nil {
			return &os.PathError{Op: "link", Path: to, Err: err}
		}
		return nil
	}
	err := link(path)
	between := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".new")
	for range 100 { // another program may write the same file
		if !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		_ = os.Remove(between)
		if err = link(between); err == nil {
			err = os.Rename(between, path)
		}
	}
	return err
}

// writeBeside writes a file under another name first.
func writeBeside(path string, write func(*os.File) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	err = errors.Join(fill(f, write), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return err
	}
	return syncDir(filepath.Dir(path))
}
