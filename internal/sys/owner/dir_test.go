package owner

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// dead returns a directory as a killed process leaves it.
func dead(t *testing.T, parent, kind string) string {
	t.Helper()
	path := filepath.Join(parent, deadName(t, kind))
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSweep(t *testing.T) {
	parent := t.TempDir()
	mine, lock, err := Dir(parent, "agent")
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	gone, other := dead(t, parent, "agent"), dead(t, parent, "bench")
	locked := dead(t, parent, "agent") // for example by a process of another namespace
	hold, err := os.Open(locked)
	if err == nil {
		err = unix.Flock(int(hold.Fd()), unix.LOCK_EX)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer hold.Close()
	// A living process's directory, even if its lock is not visible.
	name, err := Name("agent")
	if err != nil {
		t.Fatal(err)
	}
	stay := []string{mine, other, locked, filepath.Join(parent, name), filepath.Join(parent, "whichfs-agent-12345"), filepath.Join(parent, "somebody-else")}
	for _, d := range append(slices.Clone(stay[3:]), filepath.Join(gone, "inside")) {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(parent, deadName(t, "agent"))
	if err := os.Symlink(stay[5], link); err != nil {
		t.Fatal(err)
	}
	file, pipe := filepath.Join(parent, deadName(t, "bench")), filepath.Join(parent, deadName(t, "bench"))
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	Sweep(parent, "agent")
	if _, err := os.Stat(gone); !os.IsNotExist(err) {
		t.Errorf("the dead agent's directory is still there: %v", err)
	}
	for _, d := range append(stay, link, file, pipe) {
		if _, err := os.Lstat(d); err != nil {
			t.Errorf("%s was removed: %v", d, err)
		}
	}
	want := []string{other, file}
	slices.Sort(want)
	if got := Abandoned(parent, ""); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	Sweep(filepath.Join(parent, "nowhere"), "agent")
	if _, _, err := Dir(filepath.Join(parent, "nowhere"), "agent"); err == nil {
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

func TestMountsOfNothing(t *testing.T) {
	if got, err := Mounts(filepath.Join(t.TempDir(), "gone")); err != nil || got != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// What is mounted in an abandoned directory survives.
func TestMountsStay(t *testing.T) {
	path := dead(t, t.TempDir(), "bench")
	point := filepath.Join(path, "a mount")
	if err := os.Mkdir(point, 0o700); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		if err := unix.Mount("test", point, "tmpfs", 0, ""); err != nil {
			t.Fatal(err)
		}
		defer unix.Unmount(point, unix.MNT_DETACH) //nolint:errcheck // it may be gone
		if got, err := Mounts(path); err != nil || !slices.Equal(got, []string{point}) {
			t.Errorf("%q, %v", got, err)
		}
		if err := os.WriteFile(filepath.Join(point, "file"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Remove(path); err == nil {
			t.Error("a directory with a mount was removed")
		}
		if _, err := os.Stat(filepath.Join(point, "file")); err != nil {
			t.Error(err)
		}
		Sweep(filepath.Dir(path), "bench")
	}
	for range 2 {
		if err := Remove(path); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Error(err)
	}
}
