package storage

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/moby/sys/mountinfo"
)

// finding is something that stands against writing to a device.
type finding struct {
	text string
	// always: no permission helps, since the device is in use.
	always bool
	hint   string // what to do about it
}

// readOnlyDevice stands against writing, and not against reading.
const readOnlyDevice = "it is read-only"

// family is every device that shares blocks with d: its partitions, or the disk
// that it is a part of.
func (r Roots) family(d Device) ([]Device, error) {
	all := []Device{d}
	others := d.Partitions
	if d.Partition != 0 {
		others = []string{d.Disk}
	}
	for _, name := range others {
		o, err := r.byName(name)
		if err != nil {
			return nil, fmt.Errorf("device %s, which shares blocks with %s: %w", name, d.Name, err)
		}
		all = append(all, o)
	}
	return all, nil
}

// held lists who uses the device or anything that shares blocks with it. It
// opens nothing.
func (r Roots) held(d Device) ([]finding, error) {
	family, err := r.family(d)
	if err != nil {
		return nil, err
	}
	mounts, err := r.mounts()
	if err != nil {
		return nil, err
	}
	swaps, err := r.swaps()
	if err != nil {
		return nil, err
	}
	var all []finding
	use := func(hint, format string, args ...any) {
		f := finding{text: fmt.Sprintf(format, args...), always: true, hint: hint}
		for _, had := range all {
			if had.text == f.text {
				return
			}
		}
		all = append(all, f)
	}
	if d.ReadOnly {
		use("remove the write protection (the switch of a card, or blockdev --setrw "+d.Path+")", readOnlyDevice)
	}
	if file := d.backing(); strings.HasPrefix(file, r.Dev+"/") || strings.HasPrefix(file, "/dev/") {
		use("name "+file+" itself", "it is a loop device over the block device %s", file)
	}
	carriers, boot := rootMounts(mounts), r.bootRoot()
	for _, o := range family {
		who := "it"
		if o.Name != d.Name {
			who = o.Path
		}
		for _, m := range r.mountsOn(mounts, o) {
			if carriers[m] {
				use("choose another device", "%s carries the root filesystem (%s)", who, m.FSType)
			} else {
				use("unmount it first: umount "+m.Mountpoint, "%s is mounted at %s (%s)", who, m.Mountpoint, m.FSType)
			}
		}
		if boot != "" && r.means(boot, o) {
			use("choose another device", "%s is the root device that this system was started from (%s)", who, boot)
		}
		for _, path := range swaps {
			if r.means(path, o) {
				use("give it up first: swapoff "+path, "%s is in use as swap", who)
			}
		}
		for _, h := range r.holders(o) {
			use("take that apart first", "%s is held by %s", who, h)
		}
	}
	return all, nil
}

func (r Roots) mountsOn(mounts []*mountinfo.Info, d Device) []*mountinfo.Info {
	var on []*mountinfo.Info
	for _, m := range mounts {
		if r.on(m, d) {
			on = append(on, m)
		}
	}
	return on
}

// holders lists the block devices and filesystems that are built on a device.
func (r Roots) holders(d Device) []string {
	var all []string
	entries, _ := os.ReadDir(filepath.Join(d.dir, "holders"))
	for _, e := range entries {
		all = append(all, r.holder(e.Name()))
	}
	// A btrfs of several devices shows only one of them as mounted.
	on, _ := filepath.Glob(filepath.Join(r.Sys, "fs/btrfs/*/devices", d.Name))
	for _, p := range on {
		all = append(all, "a mounted btrfs ("+filepath.Base(filepath.Dir(filepath.Dir(p)))+")")
	}
	loops, _ := filepath.Glob(filepath.Join(r.Sys, "class/block/loop*/loop/backing_file"))
	for _, p := range loops {
		if file := read(filepath.Dir(p), "backing_file"); strings.HasPrefix(file, "/dev/") && r.means(file, d) {
			all = append(all, "loop device "+filepath.Base(filepath.Dir(filepath.Dir(p))))
		}
	}
	return all
}

// holder describes a device that lies on another.
func (r Roots) holder(name string) string {
	dm := filepath.Join(r.Sys, "class/block", name, "dm")
	uuid := read(dm, "uuid")
	switch {
	case strings.HasPrefix(uuid, "LVM-"):
		return "LVM volume " + read(dm, "name") + " (" + name + ")"
	case strings.HasPrefix(uuid, "CRYPT-"):
		return "encrypted volume " + read(dm, "name") + " (" + name + ")"
	case strings.HasPrefix(uuid, "mpath-"):
		return "multipath device " + read(dm, "name") + " (" + name + ")"
	case strings.HasPrefix(name, "dm-"):
		return strings.TrimSpace("device-mapper device "+read(dm, "name")) + " (" + name + ")"
	case strings.HasPrefix(name, "md"):
		return "RAID array " + name
	case strings.HasPrefix(name, "bcache"):
		return "bcache device " + name
	}
	return name
}
