package storage

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/media"
	"whichfs/internal/testing/needs"
)

// reading claims a path for reading only.
func reading(t *testing.T, path string, inUse bool) (*Claim, error) {
	t.Helper()
	spec, err := media.Parse(path)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Open(context.Background(), spec, "", Options{ReadOnly: true, InUse: inUse})
	if err == nil {
		t.Cleanup(func() { _ = c.Close() })
	}
	return c, err
}

// written is how often the kernel has written or discarded on a device.
func written(t *testing.T, path string) string {
	t.Helper()
	f := strings.Fields(read("/sys/class/block/"+strings.TrimPrefix(path, "/dev/"), "stat"))
	if len(f) < 13 {
		t.Fatalf("statistics %q", f)
	}
	return strings.Join(append(append([]string{}, f[4:7]...), f[11:14]...), " ")
}

func digest(t *testing.T, file *os.File) [32]byte {
	t.Helper()
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(file, 0, 1<<40)); err != nil {
		t.Fatal(err)
	}
	return [32]byte(h.Sum(nil))
}

// A device that holds a filesystem is read, and every byte of it stays; not even a request to
// change one reaches it.
func TestReadOnlyClaim(t *testing.T) {
	needs.Devices(t)
	path, file := loop(t, 64<<20, 0)
	run(t, "mkfs.ext4", "-q", "-F", path)
	if _, err := open(t, path, ""); err == nil {
		t.Fatal("a device with a filesystem may be overwritten")
	}
	had, before := digest(t, file), written(t, path)
	c, err := reading(t, path, false)
	if err != nil {
		t.Fatal(err)
	}
	if !c.ReadOnly() || c.Size() != 64<<20 || len(c.Users()) != 0 || c.Identity() == "" {
		t.Errorf("%v %d %v %q", c.ReadOnly(), c.Size(), c.Users(), c.Identity())
	}
	mode, err := unix.FcntlInt(c.node.Fd(), unix.F_GETFL, 0)
	if err != nil || mode&unix.O_ACCMODE != unix.O_RDONLY {
		t.Errorf("the node is open with mode %o, %v", mode, err)
	}
	if _, err := c.Discard(context.Background()); !errors.Is(err, errReading) {
		t.Errorf("emptying it: %v", err)
	}
	if err := c.Recheck(); err != nil {
		t.Error(err)
	}
	// A run and a probe, or two probes, exclude each other.
	_, err = reading(t, path, true)
	refused(t, err, "cannot be probed: another run of whichfs")
	_, err = open(t, path, c.Identity())
	refused(t, err, "another run of whichfs")
	// Another program starts to use it meanwhile.
	dir := t.TempDir()
	if err := unix.Mount(path, dir, "ext4", unix.MS_RDONLY, "noload"); err != nil {
		t.Fatal(err)
	}
	refused(t, c.Recheck(), "mounted at "+dir)
	if err := unix.Unmount(dir, 0); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if digest(t, file) != had || written(t, path) != before {
		t.Errorf("something was written: %s, and before %s", written(t, path), before)
	}
}

func TestReadOnlyInUse(t *testing.T) {
	needs.Devices(t)
	path, _ := loop(t, 64<<20, 0)
	run(t, "mkfs.ext4", "-q", "-F", path)
	dir := t.TempDir()
	if err := unix.Mount(path, dir, "ext4", 0, ""); err != nil {
		t.Fatal(err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH) //nolint:errcheck // it may be unmounted
	_, err := reading(t, path, false)
	e := refused(t, err, path+" cannot be probed: it is mounted at "+dir+" (ext4)")
	if e.Type != "--in-use" || !strings.Contains(e.Advice(), "to read it anyway, with the other I/O on it in the figures, add --in-use; unmount it first: umount "+dir) {
		t.Errorf("%q", e.Advice())
	}
	c, err := reading(t, path, true)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Users()) != 1 || !strings.Contains(c.Users()[0], dir) || c.Recheck() != nil {
		t.Errorf("%q %v", c.Users(), c.Recheck())
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := unix.Unmount(dir, 0); err != nil {
		t.Fatal(err)
	}
	// Held by a program that no list shows.
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_EXCL, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = reading(t, path, false)
	refused(t, err, "holds it exclusively", "--in-use")
	if c, err := reading(t, path, true); err != nil || len(c.Users()) != 1 {
		t.Errorf("%v", err)
	}
	_ = f.Close()
}

// A write-protected device can still be read.
func TestReadOnlyProtected(t *testing.T) {
	needs.Devices(t)
	path, _ := loop(t, 16<<20, 0)
	protect(t, path, 1)
	defer protect(t, path, 0) // the next file in this loop device would have it
	if _, err := open(t, path, ""); err == nil {
		t.Error("a write-protected device is taken for writing")
	}
	if c, err := reading(t, path, false); err != nil || len(c.Users()) != 0 {
		t.Errorf("%v", err)
	}
}

func protect(t *testing.T, path string, on int) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // for reading
	if err := unix.IoctlSetPointerInt(int(f.Fd()), unix.BLKROSET, on); err != nil {
		t.Fatal(err)
	}
}

func TestReadOnlyRefused(t *testing.T) {
	for path, want := range map[string]string{
		"/dev/null": "/dev/null cannot be probed: it is not a block device", "/dev/nonesuch": "no such device",
		"/etc/passwd": "it is a regular file", "/tmp": "it is a directory",
	} {
		_, err := reading(t, path, false)
		refused(t, err, want)
	}
}

func TestDeviceStatements(t *testing.T) {
	r := fixture(t, "sd-card")
	c := &Claim{o: Options{Roots: r}, device: device(t, r, "mmcblk0")}
	got := map[string]Fact{}
	for _, f := range c.Stated() {
		got[f.Name] = f
		if f.Value == "" || !strings.HasPrefix(f.From, r.Sys+"/block/mmcblk0/") {
			t.Errorf("%+v", f)
		}
	}
	for name, want := range map[string]string{"preferred_erase_size": "4M (4194304 B)", "rotational": "0", "logical_block_size": "512 (512 B)"} {
		if got[name].Value != want {
			t.Errorf("%s: %+v, want %q", name, got[name], want)
		}
	}
}
