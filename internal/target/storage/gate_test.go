package storage

import (
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/media"
	"whichfs/internal/testing/needs"
)

// hashOf hashes the contents of a file.
func hashOf(t *testing.T, path string) [32]byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return sha256.Sum256(b)
}

// node makes a separate node for a device, replacing the one at link.
func node(t *testing.T, link, device string) {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(device, &st); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(link); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if err := unix.Mknod(link, unix.S_IFBLK|0o600, int(st.Rdev)); err != nil {
		t.Fatal(err)
	}
}

// An exchanged device is never written to again, not even when the right one is back: what happened
// to it meanwhile is unknown.
func TestExchangedDeviceIsNeverWritten(t *testing.T) {
	needs.Devices(t)
	path, _ := loop(t, 16<<20, 0)
	foreign, file := loop(t, 16<<20, 0)
	if _, err := file.WriteAt([]byte("precious"), 1<<20); err != nil {
		t.Fatal(err)
	}
	before := hashOf(t, foreign)
	for _, noticed := range []bool{true, false} {
		link := filepath.Join(t.TempDir(), "disk")
		node(t, link, path)
		c, err := open(t, link, ownID(t, path))
		if err != nil {
			t.Fatal(err)
		}
		part, err := c.Part(1<<20, 8<<20)
		if err != nil {
			t.Fatal(err)
		}
		node(t, link, foreign)
		var gone *Gone
		if noticed && !errors.As(c.Recheck(), &gone) {
			t.Error("the exchange is not noticed")
		}
		back := func(then bool) {
			if _, err := c.Right(nil, unix.O_EXCL); !errors.As(err, &gone) {
				t.Errorf("the right to write, back %v: %v", then, err)
			}
			if _, err := c.Discard(context.Background()); !errors.As(err, &gone) {
				t.Errorf("discarding, back %v: %v", then, err)
			}
			if write, _ := c.Sentinel(nil); !strings.Contains(write.Absent, "no longer the device") {
				t.Errorf("the sentinel, back %v: %+v", then, write)
			}
			if write, _ := c.Sentinel(part); !strings.Contains(write.Absent, "no longer the device") {
				t.Errorf("the sentinel of a part, back %v: %+v", then, write)
			}
			if _, err := c.Part(12<<20, 1<<20); !errors.As(err, &gone) {
				t.Errorf("a part, back %v: %v", then, err)
			}
			if err := c.Unmounted(); !errors.As(err, &gone) {
				t.Errorf("before a program, back %v: %v", then, err)
			}
		}
		back(false)
		node(t, link, path)
		back(true)
		if err := errors.Join(part.Close(), c.Close()); err != nil { // the kernel forgets the part
			t.Error(err)
		}
	}
	if hashOf(t, foreign) != before {
		t.Error("the other device was written to")
	}
}

// A descriptor of another device than the path seemed to name is not written to.
func TestDescriptorIsVerified(t *testing.T) {
	needs.Devices(t)
	path, _ := loop(t, 16<<20, 0)
	foreign, _ := loop(t, 16<<20, 0)
	c, err := open(t, path, ownID(t, path))
	if err != nil {
		t.Fatal(err)
	}
	// A part whose path leads elsewhere represents an exchange between checking the path and
	// opening it.
	other := &Part{Path: foreign, dev: c.device.Number()}
	var gone *Gone
	if _, err := c.Right(other, 0); !errors.As(err, &gone) || !strings.Contains(err.Error(), "the opened device is") {
		t.Errorf("%v", err)
	}
}

// card is a loop device that claims to be a medium in a card reader.
func card(t *testing.T) (path string, file *os.File, r Roots) {
	t.Helper()
	path, file = loop(t, 16<<20, 0)
	sys := t.TempDir()
	name := filepath.Base(path)
	real, err := filepath.EvalSymlinks("/sys/class/block/" + name)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(sys, "devices/pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/host6/target6:0:0/6:0:0:0/block", name)
	for _, f := range []string{"dev", "size", "ro", "diskseq"} {
		put(t, filepath.Join(dir, f), read(real, f)+"\n", "")
	}
	put(t, filepath.Join(dir, "removable"), "1\n", "")
	put(t, filepath.Join(sys, "devices/pci0000:00/0000:00:14.0/usb2/2-1/idVendor"), "05e3\n", "")
	put(t, filepath.Join(sys, "devices/pci0000:00/0000:00:14.0/usb2/2-1/serial"), "000000264001\n", "")
	put(t, filepath.Join(sys, "class/block", name), "", dir)
	put(t, filepath.Join(sys, "dev/block", read(real, "dev")), "", dir)
	return path, file, Roots{Sys: sys}.filled()
}

// The name of a reader is not enough: the contents of its medium belong to the name.
func TestMediumInReader(t *testing.T) {
	needs.Devices(t)
	path, file, r := card(t)
	guard := func(destroy string) error { return Guard(context.Background(), path, destroy, r) }
	first := refused(t, guard(""), "it is blank in all", "add --destroy 000000264001@")
	id := strings.TrimPrefix(first.Type, "--destroy ")
	refused(t, guard("000000264001"), "names only the reader or slot, not the medium in it", first.Type)
	refused(t, guard("000000264001@"), "its contents have changed since")
	if err := guard(id); err != nil {
		t.Error(err)
	}
	for _, l := range []Listed{r.list(context.Background(), device(t, r, filepath.Base(path)))} {
		if l.ID != id || l.Type != first.Type {
			t.Errorf("%+v", l)
		}
	}
	if _, err := file.WriteAt([]byte("precious"), 9<<20); err != nil {
		t.Fatal(err)
	}
	// Only sampled places can be distinguished: this is between them.
	if err := guard(id); err != nil {
		t.Log("a change between the samples shows:", err)
	}
	if _, err := file.WriteAt([]byte("precious"), 70000); err != nil {
		t.Fatal(err)
	}
	second := refused(t, guard(id), "its contents have changed since --destroy "+id+" was printed", "add --destroy 000000264001@")
	if second.Type == first.Type {
		t.Errorf("another medium has the same name: %s", second.Type)
	}

	// Between two trials it is identified by what the last one left.
	id = strings.TrimPrefix(second.Type, "--destroy ")
	spec, err := media.Parse(path)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Open(context.Background(), spec, id, Options{Roots: r})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // nothing depends on it
	if _, err := c.Discard(context.Background()); err == nil {
		err = c.Left()
	}
	if err := errors.Join(err, c.Recheck(), c.Left()); err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteAt([]byte("another card"), 30000); err != nil {
		t.Fatal(err)
	}
	var gone *Gone
	if err := c.Recheck(); !errors.As(err, &gone) || !strings.Contains(err.Error(), "its contents are not what the last trial left") {
		t.Errorf("another medium between two trials: %v", err)
	}
	before := hashOf(t, path)
	if _, err := c.Discard(context.Background()); !errors.As(err, &gone) || hashOf(t, path) != before {
		t.Errorf("it is emptied: %v", err)
	}
}

// Any device's name may be pinned to its contents.
func TestIDMayBePinnedToContents(t *testing.T) {
	disk := Device{Serial: "S@1", Sequence: 3}
	reader := Device{Serial: "R", Removable: true}
	for _, c := range []struct {
		d    Device
		id   string
		want bool
	}{
		{disk, "S@1", true}, {disk, "S@1@abc", true}, {disk, "S@1@abd", false}, {disk, "S", false}, {disk, "", false},
		{reader, "R", false}, {reader, "R@abc", true}, {reader, "R@abd", false}, {reader, "R@", false}, {reader, "@abc", false},
		{Device{Serial: "C", Removable: true, CID: "0353"}, "C", true},
		{Device{Major: 8, Size: 512}, "8:0-512", false},
		{Device{Major: 8, Size: 512}, "8:0-512@abc", true},
		{Device{Major: 8, Size: 512, Sequence: 2}, "8:0-512-2", true},
	} {
		if got := c.d.Named(c.id, "abc"); got != c.want {
			t.Errorf("%q: %v", c.id, got)
		}
	}
	if reader.Named("R@", "") {
		t.Error("what could not be read has a fingerprint")
	}
}
