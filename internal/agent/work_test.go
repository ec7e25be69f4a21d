package agent

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestSweep(t *testing.T) {
	parent := t.TempDir()
	mine, lock, err := lockedDir(parent)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	dead, abandoned, err := lockedDir(parent)
	if err != nil {
		t.Fatal(err)
	}
	if err := abandoned.Close(); err != nil { // as the kernel does for the killed
		t.Fatal(err)
	}
	full, foreign := filepath.Join(parent, workPrefix+"full"), filepath.Join(parent, "somebody-else")
	for _, d := range []string{full, foreign, filepath.Join(full, "inside")} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(parent, workPrefix+"link")
	if err := os.Symlink(foreign, link); err != nil {
		t.Fatal(err)
	}
	sweep(parent)
	if _, err := os.Stat(dead); !os.IsNotExist(err) {
		t.Errorf("the dead agent's directory is still there: %v", err)
	}
	for _, d := range []string{mine, full, foreign, link} {
		if _, err := os.Lstat(d); err != nil {
			t.Errorf("%s was removed: %v", d, err)
		}
	}
	sweep(filepath.Join(parent, "nowhere"))
	if _, _, err := lockedDir(filepath.Join(parent, "nowhere")); err == nil {
		t.Error("a directory in a directory that is not there")
	}
	fd, err := unix.Open(mine, unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd) //nolint:errcheck // read only
	if unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) == nil {
		t.Error("a living agent's directory is not locked")
	}
}
