package owner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// Dir makes a directory whose lock says that its process lives.
func Dir(parent, kind string) (path string, lock *os.File, err error) {
	for range 100 {
		name, err := Name(kind)
		if err != nil {
			return "", nil, err
		}
		path := filepath.Join(parent, name)
		if err := os.Mkdir(path, 0o700); err != nil {
			return "", nil, err
		}
		lock, err := os.Open(path)
		if errors.Is(err, os.ErrNotExist) {
			continue // swept before it was locked
		}
		if err != nil {
			return "", nil, err
		}
		err = unix.Flock(int(lock.Fd()), unix.LOCK_EX)
		held, errHeld := lock.Stat()
		there, errThere := os.Stat(path)
		switch {
		case err != nil:
			_ = lock.Close()
			return "", nil, fmt.Errorf("lock on %s: %w", path, err)
		case errHeld == nil && errThere == nil && os.SameFile(held, there):
			return path, lock, nil
		}
		_ = lock.Close()
	}
	return "", nil, fmt.Errorf("directories made in %s vanish again", parent)
}

// Abandoned lists what Dir made in parent and whose process has ended, and files
// that have such a name. Those of other users, and other kinds where a kind is
// given, are left out.
func Abandoned(parent, kind string) []string {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		path := filepath.Join(parent, e.Name())
		if of, _, ours := Of(e.Name()); !ours || kind != "" && kind != of {
			continue
		}
		if fd, err := claim(path); err == nil {
			_ = unix.Close(fd)
			out = append(out, path)
		}
	}
	return out
}

// claim locks a directory that is ours and nobody's any more. Where something is
// mounted on it that has another lock, and files have none, so the process is
// asked for, too.
func claim(path string) (fd int, err error) {
	_, o, _ := Of(filepath.Base(path))
	lives, known := o.lives("/proc")
	if lives {
		return -1, unix.EWOULDBLOCK
	}
	fd, err = unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	kind := st.Mode & unix.S_IFMT
	if err == nil && (int(st.Uid) != os.Geteuid() || kind != unix.S_IFDIR && (kind != unix.S_IFREG || !known)) {
		err = errors.New("another user's, or not what we make")
	}
	if err == nil {
		err = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// Mounts lists what is mounted on a directory and below, the last first.
func Mounts(path string) ([]string, error) {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	mounts, err := mountinfo.GetMounts(mountinfo.PrefixFilter(path))
	if err != nil {
		return nil, err
	}
	var out []string
	for _, m := range mounts {
		out = append(out, m.Mountpoint)
	}
	slices.Reverse(out)
	return out, nil
}

// Remove removes an abandoned file, or directory with all that is in it when
// nothing is mounted there any more.
func Remove(path string) error {
	fd, err := claim(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case errors.Is(err, unix.EWOULDBLOCK):
		return errors.New("it is in use")
	case err != nil:
		return err
	}
	defer unix.Close(fd) //nolint:errcheck // read only
	switch mounts, err := Mounts(path); {
	case err != nil:
		return err
	case len(mounts) > 0:
		return fmt.Errorf("there still is something mounted: %s", strings.Join(mounts, ", "))
	}
	return os.RemoveAll(path)
}

// Sweep removes the directories of a kind that were abandoned in parent, and what
// is mounted there, as well as that goes.
func Sweep(parent, kind string) {
	for _, path := range Abandoned(parent, kind) {
		mounts, _ := Mounts(path)
		for _, m := range mounts {
			_ = unix.Unmount(m, unix.MNT_DETACH)
		}
		_ = Remove(path)
	}
}
