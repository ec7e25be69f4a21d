package agent

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"whichfs/internal/sys/owner"
)

// workKind is owner's name for agents' directories.
const workKind = "agent"

// makeWork makes the directory for mount points and images: a filesystem in memory that only the
// agent uses, so that nothing under test shares its storage.
func (a *Agent) makeWork(dir string) error {
	if dir == "" {
		dir = os.TempDir()
	}
	owner.Sweep(dir, workKind)
	made, lock, err := owner.Dir(dir, workKind)
	if err != nil {
		return fmt.Errorf("cannot make a work directory: %w", err)
	}
	a.work, a.workLock = made, lock
	if err := unix.Mount("whichfs", made, "tmpfs", 0, "mode=0700,size=90%"); err != nil {
		return fmt.Errorf("mounting a filesystem in memory on %s: %w", made, err)
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
	removeWork(a.work, a.workLock)
	a.work, a.workLock = "", nil
}

func removeWork(dir string, lock *os.File) {
	_ = unix.Unmount(dir, unix.MNT_DETACH)
	_ = os.Remove(dir)
	_ = lock.Close()
}
