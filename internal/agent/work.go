package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// workPrefix begins the names of agents' directories.
const workPrefix = "whichfs-agent-"

// makeWork makes the directory for mount points and images: a file system in
// memory of the agent's own, so that nothing under test shares its storage.
func (a *Agent) makeWork(dir string) error {
	if dir == "" {
		dir = os.TempDir()
	}
	sweep(dir)
	made, lock, err := lockedDir(dir)
	if err != nil {
		return fmt.Errorf("no directory to work in: %w", err)
	}
	a.work, a.workLock = made, lock
	if err := unix.Mount("whichfs", made, "tmpfs", 0, "mode=0700,size=90%"); err != nil {
		return fmt.Errorf("mounting a file system in memory on %s: %w", made, err)
	}
	for _, d := range []string{"mnt", "tree"} {
		if err := os.Mkdir(filepath.Join(made, d), 0o755); err != nil {
			return err
		}
	}
	return nil
}

// leaveWork removes what makeWork made.
func (a *Agent) leaveWork() {
	if a.work == "" {
		return
	}
	_ = unix.Unmount(a.work, unix.MNT_DETACH)
	_ = os.Remove(a.work)
	_ = a.workLock.Close()
	a.work, a.workLock = "", nil
}

// lockedDir makes a directory whose lock says that its agent lives.
func lockedDir(parent string) (string, *os.File, error) {
	for range 100 {
		path, err := os.MkdirTemp(parent, workPrefix)
		if err != nil {
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

// sweep removes the directories of agents that were killed. What they had
// mounted went with them, so theirs are empty, and only empty ones can go: a
// living agent's is locked.
func sweep(parent string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), workPrefix) {
			continue
		}
		path := filepath.Join(parent, e.Name())
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		var st unix.Stat_t
		if unix.Fstat(fd, &st) == nil && int(st.Uid) == os.Geteuid() && unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) == nil {
			_ = unix.Rmdir(path)
		}
		_ = unix.Close(fd)
	}
}
