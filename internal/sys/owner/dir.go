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

// Dir makes a directory and holds a lock on it that shows that its process is
// alive.
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
			continue // swept before we locked it
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
	return "", nil, fmt.Errorf("directories made in %s keep disappearing", parent)
}

// Abandoned lists the directories that Dir made in parent and whose processes
// have ended, and files with such names. It omits those of other users and, if
// kind is not empty, other kinds.
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

// claim locks a directory that is ours and abandoned. A mount on top of it has
// a different lock, and files have none, so it also checks whether the process
// is alive.
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
		err = errors.New("owned by another user, or not made by whichfs")
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

// Mounts lists what is mounted on a directory and below it, newest first: nothing
// if another process has removed it meanwhile.
func Mounts(path string) ([]string, error) {
	path, err := filepath.EvalSymlinks(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
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

// Remove removes an abandoned file, or an abandoned directory and its contents
// once nothing is mounted there.
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
		return fmt.Errorf("something is still mounted there: %s", strings.Join(mounts, ", "))
	}
	return os.RemoveAll(path)
}

// Sweep unmounts and removes, as far as possible, the abandoned directories of
// a kind in parent.
func Sweep(parent, kind string) {
	for _, path := range Abandoned(parent, kind) {
		mounts, _ := Mounts(path)
		for _, m := range mounts {
			_ = unix.Unmount(m, unix.MNT_DETACH)
		}
		_ = Remove(path)
	}
}
