package script_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"whichfs/internal/fault"
	"whichfs/internal/fault/script"
	"whichfs/internal/sys/command"
	"whichfs/internal/target/blockdev"
	"whichfs/internal/testing/needs"
	"whichfs/internal/testing/wait"
)

// natives are filesystems of the host's kernel with the promises that
// internal/filesystem documents.
var natives = []struct {
	kind     string
	size     int64
	make     []string
	promises script.Promises
}{
	{"ext4", 16 << 20, []string{"mkfs.ext4", "-q", "-F"}, strong},
	{"xfs", 300 << 20, []string{"mkfs.xfs", "-q", "-f"}, script.Promises{NewName: true, AtomicReplace: true, Ordered: true, NoStale: true}},
	{"btrfs", 112 << 20, []string{"mkfs.btrfs", "-q", "-f", "-m", "single"}, script.Promises{NewName: true, AtomicReplace: true, ReplaceSyncs: true, NoStale: true}},
}

var strong = script.Promises{NewName: true, AtomicReplace: true, ReplaceSyncs: true, Ordered: true, NoStale: true}

// point is the contents of the disk at a mark.
type point struct {
	began, acked int
	image        fault.Image
}

// On each filesystem, a script that ran to its end and was unmounted is found
// whole, and the contents of the disk at some of its marks, without an unmount, are
// as promised. (That is one crash state per mark; explore covers all others.) The
// test is not parallel: a program that is being started briefly holds copies of our
// descriptors, and with them a filesystem.
func TestNativeFilesystems(t *testing.T) {
	needs.Devices(t)
	for _, fs := range natives {
		t.Run(fs.kind, func(t *testing.T) {
			disk, err := blockdev.NewDisk(fs.size)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := disk.Close(); err != nil {
					t.Error(err)
				}
			}()
			if _, err := command.Run(t.Context(), command.Options{}, append(append([]string{}, fs.make...), disk.Path())...); err != nil {
				t.Fatal(err)
			}
			empty, err := disk.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			mounting := mounting{disk.Path(), dir, fs.kind}
			defer func() { _ = unix.Unmount(dir, unix.MNT_DETACH) }() // if the test fails while it is mounted
			all := script.Library()
			for i, s := range append(script.Sequences(1), script.Sequences(2)...) {
				if fs.kind == "ext4" && i%97 == 0 {
					all = append(all, s)
				}
			}
			judged := 0
			for _, sc := range all {
				j, err := script.NewJudge(sc, fs.promises, "lost+found")
				if err != nil {
					t.Fatal(err)
				}
				for _, p := range recordNative(t, sc, disk, empty, mounting, fs.kind == "ext4") {
					if err := disk.Restore(p.image); err != nil {
						t.Fatal(err)
					}
					mounting.mount(t)
					found := script.ReadTree(dir)
					breaches, looked := j.Judge(p.began, p.acked, found, dir)
					mounting.umount(t)
					judged++
					if looked == 0 {
						t.Errorf("%s: no promise was judged", sc.Name)
					}
					if len(breaches) > 0 {
						t.Errorf("%s, began %d, acked %d: %+v\n%s", sc.Name, p.began, p.acked, breaches, listing(found))
					}
				}
			}
			t.Logf("%d states of %d scripts", judged, len(all))
		})
	}
}

// mounting is a disk's mount point, and its filesystem type.
type mounting struct{ device, dir, kind string }

func (m mounting) mount(t *testing.T) {
	t.Helper()
	if err := unix.Mount(m.device, m.dir, m.kind, unix.MS_NOATIME, ""); err != nil {
		t.Fatalf("mount: %v", err)
	}
}

func (m mounting) umount(t *testing.T) {
	t.Helper()
	// Another process that lists this machine's mounts may be using ours at this
	// moment.
	wait.Until(t, "it is unmounted", func() bool {
		err := unix.Unmount(m.dir, 0)
		if err != nil && err != unix.EBUSY {
			t.Fatalf("unmount: %v", err)
		}
		return err == nil
	})
}

// recordNative carries a script out and returns the contents of the disk at the
// end, unmounted, and, if marked, at some of its marks.
func recordNative(t *testing.T, sc script.Script, disk *blockdev.Disk, empty fault.Image, m mounting, marked bool) []point {
	t.Helper()
	if err := disk.Restore(empty); err != nil {
		t.Fatal(err)
	}
	m.mount(t)
	if err := sc.Prepare(m.dir); err != nil {
		t.Fatal(err)
	}
	began, acked, marks := 0, 0, 0
	var points []point
	err := sc.Run(m.dir, func(text string) error {
		if n, _ := fmt.Sscanf(text, "begin %d", &began); n == 0 {
			if _, err := fmt.Sscanf(text, "end %d", &acked); err != nil {
				return err
			}
		}
		if marks++; sc.Careless || !marked || marks%8 != 0 {
			return nil
		}
		im, err := disk.Snapshot()
		points = append(points, point{began, acked, im})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if acked != sc.Steps() {
		t.Errorf("%s: %d of %d operations were marked", sc.Name, acked, sc.Steps())
	}
	m.umount(t)
	im, err := disk.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	return append(points, point{acked, acked, im})
}

// listing describes a tree.
func listing(found script.Tree) string {
	text := ""
	for path, f := range found {
		text += fmt.Sprintf("%q %s %d bytes, %d links, inode %d %s\n", path, f.Kind, f.Size, f.Links, f.Inode, f.Err)
	}
	return text
}

// ext2 cannot preallocate space: such scripts are absent, not failed.
func TestAbsent(t *testing.T) {
	needs.Devices(t)
	disk, err := blockdev.NewDisk(8 << 20)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := disk.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := command.Run(t.Context(), command.Options{}, "mkfs.ext2", "-q", "-F", disk.Path()); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := unix.Mount(disk.Path(), dir, "ext2", 0, ""); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	}()
	absent := map[string]bool{}
	for _, s := range script.Library() {
		below := filepath.Join(dir, s.Name)
		if err := os.Mkdir(below, 0o755); err != nil {
			t.Fatal(err)
		}
		err := s.Prepare(below)
		if err == nil {
			err = s.Run(below, func(string) error { return nil })
		}
		switch {
		case errors.Is(err, script.ErrAbsent):
			absent[s.Name] = true
		case err != nil:
			t.Errorf("%s: %v", s.Name, err)
		}
	}
	for _, name := range []string{"fallocate", "fallocate-keep-size"} {
		if !absent[name] {
			t.Errorf("%s could be carried out on ext2", name)
		}
	}
	if len(absent) != 2 {
		t.Errorf("absent: %v", absent)
	}
}
