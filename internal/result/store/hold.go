package store

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"whichfs/internal/result"
)

// marker marks runs as being carried out. Nothing stale may be left behind,
// however a process ends.
type marker interface {
	// lost: the connection was lost while this process marked it, perhaps successfully.
	hold(id string, lost bool) (release func(), err error)
	held(id string) bool
}

// Hold marks a run as being carried out, until release is called. It refuses a
// run that another process has marked.
func (s *Store) Hold(id string) (release func(), err error) {
	lost := false
	err = s.persist(func() error {
		release, err = s.marker.hold(id, lost)
		lost = true
		return err
	})
	return release, s.wrap(err, "marking run "+id)
}

// Held reports whether a process is carrying out a run.
func (s *Store) Held(id string) bool { return s.marker.held(id) }

func heldElsewhere(id string) error {
	return result.Refuse("wait for that process to end, or interrupt it", "another process is carrying out run %s", id)
}

// A run in a file is marked by an abstract socket, which has no file: the kernel removes it with the
// process.

// mark is the address of a run of the store.
func (f file) mark(id string) (*unix.SockaddrUnix, error) {
	info, err := os.Stat(f.path)
	if err != nil {
		return nil, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil, errors.New("this system does not report inode numbers")
	}
	return &unix.SockaddrUnix{Name: fmt.Sprintf("@whichfs-run-%x-%x-%s", st.Dev, st.Ino, id)}, nil
}

func (f file) hold(id string, _ bool) (release func(), err error) {
	at, err := f.mark(id)
	if err != nil {
		return nil, err
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	switch err := unix.Bind(fd, at); {
	case err == nil:
		return func() { _ = unix.Close(fd) }, nil
	case errors.Is(err, unix.EADDRINUSE):
		_ = unix.Close(fd)
		return nil, heldElsewhere(id)
	default:
		_ = unix.Close(fd)
		return nil, err
	}
}

func (f file) held(id string) bool {
	at, err := f.mark(id)
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
