package storage

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"whichfs/internal/testing/needs"
	"whichfs/internal/testing/wait"
)

// On a host whose mounts are not shared, mounts of a contained process do not outlive an unmount on
// the host: the device becomes free. Other mounts stay there, above all the process's own.
func TestPrivateMountsFollow(t *testing.T) {
	needs.Devices(t)
	above := t.TempDir()
	mount := func(source, dir, kind string, flags uintptr) {
		t.Helper()
		if err := unix.Mount(source, dir, kind, flags, ""); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	}
	unmount := func(dir string) {
		t.Helper()
		if err := unix.Unmount(dir, 0); err != nil {
			t.Fatal(err)
		}
	}
	mount(above, above, "", unix.MS_BIND)
	if err := unix.Mount("none", above, "", unix.MS_PRIVATE, ""); err != nil {
		t.Fatal(err)
	}
	var devices, dirs []string
	for _, name := range []string{"goes", "stays", "below", "own"} {
		path, _ := loop(t, 4<<20, 0)
		run(t, "mkfs.ext4", "-q", path)
		devices, dirs = append(devices, path), append(dirs, filepath.Join(above, name))
	}
	goes, stays, below, own := dirs[0], dirs[1], filepath.Join(dirs[1], "lost+found"), dirs[3]
	for _, dir := range []string{goes, stays, own} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	mount(devices[0], goes, "ext4", 0)
	mount(devices[1], stays, "ext4", 0)
	mount(devices[2], below, "ext4", 0)
	mount("none", below, "tmpfs", 0) // on top of it

	_, process := other(t, "mount", devices[3], own)
	there := func() map[string]int {
		f, err := os.Open(filepath.Join("/proc", strconv.Itoa(process.Pid()), "mountinfo"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close() //nolint:errcheck // read only
		all, err := mountinfo.GetMountsFromReader(f, nil)
		if err != nil {
			t.Fatal(err)
		}
		count := map[string]int{}
		for _, m := range all {
			count[m.Mountpoint]++
		}
		return count
	}
	want := func(when string, want map[string]int) {
		t.Helper()
		wait.While(t, func() string {
			got := there()
			for dir, n := range want {
				if got[dir] != n {
					return fmt.Sprintf("%s: %v, want %v", when, got, want)
				}
			}
			return ""
		})
	}
	want("at first", map[string]int{goes: 1, stays: 1, below: 2, own: 1})
	unmount(goes)
	want("one unmounted", map[string]int{goes: 0, stays: 1, below: 2, own: 1})
	// Nothing holds it once the kernel has shut it down.
	wait.While(t, func() string {
		fd, err := unix.Open(devices[0], unix.O_RDWR|unix.O_EXCL|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Sprintf("%s: %v", devices[0], err)
		}
		_ = unix.Close(fd)
		return ""
	})
	unmount(below)
	want("what lay on top unmounted", map[string]int{goes: 0, stays: 1, below: 1, own: 1})
	unmount(below)
	unmount(stays)
	want("the others unmounted", map[string]int{goes: 0, stays: 0, below: 0, own: 1})
}

// A mount of the process's own stays, if it got the ID of a copy that the kernel has unmounted.
func TestPrivateMountsOfReusedIDs(t *testing.T) {
	needs.Devices(t)
	outside, err := os.Create(filepath.Join(t.TempDir(), "mountinfo"))
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile("/proc/self/mountinfo")
	if err == nil {
		_, err = outside.Write(before)
	}
	if err != nil {
		t.Fatal(err)
	}
	here := func(dir string) *mountinfo.Info {
		t.Helper()
		at, err := mountinfo.GetMounts(mountinfo.SingleEntryFilter(dir))
		if err != nil {
			t.Fatal(err)
		}
		if len(at) == 0 {
			return nil
		}
		return at[0]
	}
	own, copied := t.TempDir(), t.TempDir()
	for _, dir := range []string{own, copied} {
		if err := unix.Mount("none", dir, "tmpfs", 0, ""); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	}
	gone := *here(own) // as it would be listed had the copy not gone
	gone.Mountpoint = copied + "/removed"
	c := copies{outside: outside, ids: map[int]*mountinfo.Info{gone.ID: &gone, here(copied).ID: here(copied)}}
	c.drop()
	if here(own) == nil || here(copied) != nil {
		t.Errorf("its own: %v, the copy of what is gone outside: %v", here(own), here(copied))
	}
}
