package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// toFile writes a file whole or not at all. Until it is whole it has no
// name, so a program that is killed leaves nothing behind.
func toFile(path string, write func(io.Writer) error) error {
	fd, err := unix.Open(filepath.Dir(path), unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return writeBeside(path, write) // not every filesystem has nameless files
	}
	f := os.NewFile(uintptr(fd), path)
	err = write(f)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = giveName(f, path)
	}
	return errors.Join(err, f.Close())
}

// giveName gives a nameless file its name. What has that name already can only
// be replaced by a rename; the name in between is always the same, so what a
// program that was killed just then has left goes with the next one.
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
func writeBeside(path string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	err = write(f)
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
