package storage

import (
	"context"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/media"
	"whichfs/internal/testing/needs"
)

// A part is where it was requested, can hold a filesystem, and leaves nothing behind.
func TestPart(t *testing.T) {
	needs.Devices(t)
	spec, _ := media.Parse("loop:64M")
	c, err := Open(context.Background(), spec, "", Options{Work: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // a loop device of ours
	const start, length = 8<<20 + 63*512, 16 << 20
	p, err := c.Part(start, length)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(p.Name, c.Name()+"p") || p.Path != "/dev/"+p.Name {
		t.Errorf("%+v of %s", p, c.Name())
	}
	mark := []byte(strings.Repeat("whichfs.", 512))
	f, err := os.OpenFile(p.Path, os.O_RDWR|unix.O_SYNC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if end, err := f.Seek(0, 2); err != nil || end != length {
		t.Errorf("the part has %d bytes (%v), want %d", end, err, length)
	}
	if _, err := f.WriteAt(mark, 0); err != nil {
		t.Error(err)
	}
	_ = f.Close()
	whole, err := os.ReadFile(c.Path())
	if err != nil || !strings.HasPrefix(string(whole[start:]), string(mark)) {
		t.Errorf("what was written to the part is not at byte %d of the storage (%v)", start, err)
	}
	run(t, "mkfs.ext4", "-q", "-F", p.Path)
	dir := t.TempDir()
	if err := unix.Mount(p.Path, dir, "ext4", 0, ""); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err == nil {
		t.Error("a part in use was removed")
	}
	if err := unix.Unmount(dir, 0); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := c.Recheck(); err != nil {
		t.Error(err)
	}
	if now, err := System.filled().byName(c.Name()); err != nil || len(now.Partitions) != 0 {
		t.Errorf("left behind: %v, %v", now.Partitions, err)
	}
}

func TestPartRefused(t *testing.T) {
	needs.Devices(t)
	spec, _ := media.Parse("loop:4M")
	c, err := Open(context.Background(), spec, "", Options{Work: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // a loop device of ours
	for _, bad := range [][2]int64{{0, 8 << 20}, {1, 512}, {512, 0}, {-512, 1024}, {0, 513}, {4 << 20, 512}} {
		_, err := c.Part(bad[0], bad[1])
		refused(t, err, "not a range of 512-byte sectors within its 4194304 bytes")
	}
	p, err := c.Part(0, 2<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close() //nolint:errcheck // the loop device goes with it
	_, err = c.Part(1<<20, 2<<20)
	refused(t, err, "overlaps")
}
