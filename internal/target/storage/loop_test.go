package storage

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/media"
	"whichfs/internal/testing/needs"
	"whichfs/internal/testing/wait"
)

func TestLoop(t *testing.T) {
	needs.Devices(t)
	work := t.TempDir()
	spec, _ := media.Parse("loop:64M")
	c, err := Open(context.Background(), spec, "", Options{Work: work})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // closed below
	if c.Size() != 64<<20 || !strings.HasPrefix(c.Identity(), "loop file of 64M on ") || !strings.HasPrefix(c.Path(), "/dev/loop") {
		t.Errorf("%d %q %s", c.Size(), c.Identity(), c.Path())
	}
	facts := map[string]string{}
	for _, f := range c.Conditions() {
		facts[f.Name] = f.Value
	}
	if facts["loop file lies on"] == "" || facts["transport"] != "loop" || facts["direct i/o"] == "" {
		t.Error(facts)
	}
	if left, err := os.ReadDir(work); err != nil || len(left) != 0 {
		t.Errorf("the file has a name: %v %v", left, err)
	}
	// No other run may claim it.
	_, err = open(t, c.Path(), "")
	refused(t, err, "another run of whichfs")
	// A filesystem is made, used and discarded on it; afterwards it is empty.
	run(t, "mkfs.ext4", "-q", "-F", c.Path())
	dir := t.TempDir()
	if err := unix.Mount(c.Path(), dir, "ext4", 0, ""); err != nil {
		t.Fatal(err)
	}
	refused(t, c.Recheck(), "mounted at "+dir)
	if err := unix.Unmount(dir, 0); err != nil {
		t.Fatal(err)
	}
	if err := c.Recheck(); err != nil {
		t.Fatal(err)
	}
	if absent, err := c.Discard(context.Background()); err != nil || absent != "" {
		t.Fatalf("%q %v", absent, err)
	}
	image, err := os.ReadFile(c.Path())
	if err != nil || len(image) != 64<<20 || strings.Trim(string(image), "\x00") != "" {
		t.Errorf("%d bytes, not all zero: %v", len(image), err)
	}
	name := c.Name()
	if err := errors.Join(c.Close(), c.Close()); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, name+" is free again", func() bool {
		return !strings.HasPrefix(read("/sys/class/block/"+name, "loop/backing_file"), work)
	})
}

func TestLoopDiesWithProcess(t *testing.T) {
	needs.Devices(t)
	work := t.TempDir()
	path, process := other(t, "claim", "loop:16M", work)
	name := filepath.Base(path)
	if file := read("/sys/class/block/"+name, "loop/backing_file"); !strings.HasPrefix(file, work) {
		t.Fatalf("%s: %q", path, file)
	}
	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, name+" is free again", func() bool {
		return !strings.HasPrefix(read("/sys/class/block/"+name, "loop/backing_file"), work)
	})
	if left, err := os.ReadDir(work); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestLoopRefused(t *testing.T) {
	needs.Devices(t)
	try := func(text string, o Options) error {
		spec, err := media.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		c, err := Open(context.Background(), spec, "", o)
		if err == nil {
			_ = c.Close()
		}
		return err
	}
	refused(t, try("loop:4095T", Options{Work: t.TempDir()}), "MiB free", "may grow to 4293918720 MiB")
	refused(t, try("loop:1M", Options{Work: filepath.Join(t.TempDir(), "none")}), "another work directory")
	refused(t, try("loop:1M", Options{Roots: Roots{Dev: t.TempDir()}}), "modprobe loop")
}

// A device that cannot discard is zeroed at both ends, and the reason is reported.
func TestDiscardUnsupported(t *testing.T) {
	needs.Devices(t)
	path, _ := loop(t, 16<<20, 0)
	run(t, "mkfs.ext4", "-q", "-F", path)
	c, err := open(t, path, ownID(t, path))
	if err != nil {
		t.Fatal(err)
	}
	c.device.disk = t.TempDir() // sysfs without discard
	put(t, c.device.disk+"/queue/discard_max_bytes", "0\n", "")
	absent, err := c.Discard(context.Background())
	if err != nil || !strings.Contains(absent, "cannot discard") {
		t.Fatalf("%q %v", absent, err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	// mkfs left something in the middle, and that was not discarded.
	refused(t, Guard(context.Background(), path, "", Roots{}), "it has no known signature, but 1 of ")
}

func TestAppear(t *testing.T) {
	r := fixture(t, "virtio")
	spec := func(text string) media.Storage { s, _ := media.Parse(text); return s }
	d, err := r.appear(context.Background(), spec("serial:target"), 1)
	if err != nil || d.Name != "vdb" {
		t.Errorf("%s %v", d.Name, err)
	}
	if _, err = r.appear(context.Background(), spec("serial:targe"), 1); err == nil || !strings.Contains(err.Error(), "vdb target") {
		t.Error(err)
	}
	if _, err = r.appear(context.Background(), spec("mmc:0"), 1); err == nil {
		t.Error("a card appeared")
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	stop := errors.New("enough")
	cancel(stop)
	if _, err = r.appear(ctx, spec("serial:x"), 1<<40); !errors.Is(err, stop) {
		t.Error(err)
	}
	r = fixture(t, "sd-card")
	put(t, r.Dev+"/mmcblk0", "", "")
	d, err = r.appear(context.Background(), spec("mmc:0"), 1)
	if err != nil || d.Name != "mmcblk0" {
		t.Errorf("%s %v", d.Name, err)
	}
	if _, err = r.appear(context.Background(), spec("mmc:1"), 1); err == nil {
		t.Error("a second card appeared")
	}
}

func TestPrivateMounts(t *testing.T) {
	needs.Devices(t)
	path, _ := loop(t, 16<<20, 0)
	run(t, "mkfs.ext4", "-q", "-F", path)
	// Below a shared mount, as distributions have them, mounts would spread.
	shared := t.TempDir()
	if err := errors.Join(unix.Mount(shared, shared, "", unix.MS_BIND, ""), unix.Mount("", shared, "", unix.MS_SHARED, "")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(shared, unix.MNT_DETACH) })
	dir := filepath.Join(shared, "dir")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	line, process := other(t, "mount", path, dir)
	if line != "mounted" {
		t.Fatal(line)
	}
	r := Roots{}.filled()
	mounts, err := r.ownMounts()
	if err != nil || len(r.mountsOn(mounts, device(t, r, filepath.Base(path)))) != 0 {
		t.Errorf("the mount is seen outside: %v", err)
	}
	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the mount vanishes with the process", func() bool {
		f, err := exclusive(path)
		return err == nil && f.Close() == nil
	})
}
