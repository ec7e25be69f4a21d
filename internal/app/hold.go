package app

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"whichfs/internal/result"
)

// A running run is marked by an abstract socket, which has no file: the kernel removes it with the
// process, however that ends, so nothing stale can be left behind.

// mark is the address of a run of the store at path.
func mark(path, id string) (*unix.SockaddrUnix, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil, errors.New("this system does not report inode numbers")
	}
	return &unix.SockaddrUnix{Name: fmt.Sprintf("@whichfs-run-%x-%x-%s", st.Dev, st.Ino, id)}, nil
}

// holdRun marks a run as being carried out, until release is called. It
// refuses a run that another process has marked.
func holdRun(path, id string) (release func(), err error) {
	at, err := mark(path, id)
	if err != nil {
		return nil, err
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("marking run %s: %w", id, err)
	}
	switch err := unix.Bind(fd, at); {
	case err == nil:
		return func() { _ = unix.Close(fd) }, nil
	case errors.Is(err, unix.EADDRINUSE):
		_ = unix.Close(fd)
		return nil, result.Refuse("wait for that process to end, or interrupt it", "another process is carrying out run %s", id)
	default:
		_ = unix.Close(fd)
		return nil, fmt.Errorf("marking run %s: %w", id, err)
	}
}

// Held reports whether a process is carrying out a run of the store at path.
func Held(path, id string) bool {
	at, err := mark(path, id)
	if err != nil {
		return false
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was sent
	return unix.Connect(fd, at) == nil
}
