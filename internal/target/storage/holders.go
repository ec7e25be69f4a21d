package storage

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// finding is a reason against writing to a device.
type finding struct {
	text string
	// always: no permission helps, since the device is in use.
	always bool
	hint   string // what to do about it
}

// readOnlyDevice is a reason against writing, but not against reading.
const readOnlyDevice = "it is read-only"

// family is every device that shares blocks with d: its partitions, or the disk that it is part of,
// and other devices that are the same storage.
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
	return append(all, d.twins...), nil
}

// twins are other devices that are the same storage as d, or as what d is built on: a LUN reached
// over two paths has one WWID, and several loop devices may share a file. All partitions of a twin
// count; for a partition, only the one with the same number.
func (r Roots) twins(d Device, disks []Device) ([]Device, error) {
	var all []Device
	for _, own := range r.below(d, 0) {
		file, loop := own.file()
		for _, o := range disks {
			if o.Name == own.Disk {
				continue
			}
			same := own.WWID != "" && own.WWID == o.WWID
			if loop && !same {
				other, ok := o.file()
				o.doubt = cmp.Or(file.unknown, other.unknown)
				same = ok && (file == other && file.on == "" || o.doubt != "")
			}
			if !same {
				continue
			}
			all = append(all, o)
			for _, name := range o.Partitions {
				part, err := r.byName(name)
				if err != nil {
					return nil, fmt.Errorf("device %s, which is the same storage as %s: %w", name, d.Name, err)
				}
				part.doubt = o.doubt
				if own.Partition == 0 || own.Partition == part.Partition {
					all = append(all, part)
				}
			}
		}
	}
	return all, nil
}

// mostBelow is how many layers of devices are followed down; the kernel itself stops far earlier.
const mostBelow = 16

// below is the device and everything under it: the devices in a device-mapper table, the members of
// an array.
func (r Roots) below(d Device, depth int) []Device {
	all := []Device{d}
	entries, _ := os.ReadDir(filepath.Join(d.dir, "slaves"))
	for _, e := range entries {
		if o, err := r.byName(e.Name()); err == nil && depth < mostBelow {
			all = append(all, r.below(o, depth+1)...)
		}
	}
	return all
}

// backingFile is what backs a loop device.
type backingFile struct {
	device, inode uint64
	path          string // of a file of whichfs, instead of the above
	on            string // the number of the block device behind it; "" for a file
	unknown       string // why the kernel gave no answer; "" if it did
}

// loopAnswer is how long a loop device may take to name its backing file. It takes longer only if
// something below it hangs.
const loopAnswer = 20 * time.Second

// mayNotAsk is why an unprivileged user does not see what backs a loop device.
const mayNotAsk = "no permission to ask for its backing file"

// file is what backs a loop device; ok is false for any other device and for one without a file.
//
// The path that the kernel shows is enough if it still leads to a file of that size. It need not:
// the file may be deleted, or belong to another mount namespace. Then the driver is asked, which
// means opening the device, and that can hang if the device does.
func (d Device) file() (f backingFile, ok bool) {
	path := d.backing()
	if path == "" || d.Partition != 0 {
		return f, false
	}
	number := func(rdev uint64) string { return fmt.Sprintf("%d:%d", unix.Major(rdev), unix.Minor(rdev)) }
	var st unix.Stat_t
	if unix.Stat(path, &st) == nil {
		offset, _ := strconv.ParseInt(read(d.disk, "loop/offset"), 10, 64)
		switch {
		case st.Mode&unix.S_IFMT == unix.S_IFBLK:
			return backingFile{on: number(uint64(st.Rdev))}, true
		case st.Mode&unix.S_IFMT == unix.S_IFREG && st.Size >= offset+d.Size:
			return backingFile{device: uint64(st.Dev), inode: st.Ino}, true
		}
	}
	if name := filepath.Base(path); strings.HasPrefix(name, "whichfs-loop-") && strings.HasSuffix(name, " (deleted)") {
		return backingFile{path: path}, true // made for a run, and out of reach for others
	}
	answer := make(chan backingFile, 1)
	go func() {
		f := backingFile{unknown: "it does not name its backing file"}
		fd, err := unix.Open(d.Path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		switch {
		case errors.Is(err, os.ErrPermission):
			f.unknown = mayNotAsk
		case err == nil:
			if info, err := unix.IoctlLoopGetStatus64(fd); err == nil {
				f = backingFile{device: info.Device, inode: info.Inode}
				if info.Rdevice != 0 {
					f.on = number(info.Rdevice)
				}
			}
			_ = unix.Close(fd)
		}
		answer <- f
	}()
	select {
	case f = <-answer:
		if f.unknown != "" && d.backing() == "" {
			return backingFile{}, false // it was detached meanwhile
		}
	case <-time.After(loopAnswer):
		f = backingFile{unknown: fmt.Sprintf("it did not name its backing file within %v", loopAnswer)}
	}
	return f, true
}

// held lists what uses the device or anything that shares blocks with it. It opens nothing.
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
	switch file, loop := d.file(); {
	case loop && (file.on != "" || file.unknown != "" && strings.HasPrefix(d.backing(), "/dev/")):
		use("name "+d.backing()+" itself", "it is a loop device on the block device %s", d.backing())
	}
	for _, beside := range r.beside(d) {
		use("name that device, or take this one apart", "%s", beside)
	}
	carriers, boot := rootMounts(mounts), r.bootRoot()
	for _, o := range family {
		who := "it"
		switch {
		case o.doubt != "":
			who = fmt.Sprintf("%s, which may be the same storage (%s),", o.Path, o.doubt)
		case slices.ContainsFunc(d.twins, func(t Device) bool { return t.Name == o.Name }):
			who = o.Path + ", which is the same storage,"
		case o.Name != d.Name:
			who = o.Path
		}
		for _, m := range r.mountsOn(mounts, o) {
			switch {
			case carriers[m]:
				use("choose another device", "%s carries the root filesystem (%s)", who, m.FSType)
			case o.doubt == mayNotAsk:
				use("run whichfs as root (sudo)", "%s is mounted at %s (%s)", who, m.Mountpoint, m.FSType)
			default:
				use("unmount it first: umount "+m.Mountpoint, "%s is mounted at %s (%s)", who, m.Mountpoint, m.FSType)
			}
		}
		if boot != "" && r.means(boot, o) {
			use("choose another device", "%s is the root device that this system was booted from (%s)", who, boot)
		}
		for _, path := range swaps {
			if r.means(path, o) {
				use("disable it first: swapoff "+path, "%s is in use as swap", who)
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
		name := filepath.Base(filepath.Dir(filepath.Dir(p)))
		loop, err := r.byName(name)
		if err != nil {
			continue // it was detached meanwhile
		}
		file, ok := loop.file()
		if ok && (file.on == d.Number() || file.unknown != "" && r.means(loop.backing(), d)) {
			all = append(all, "loop device "+name)
		}
	}
	return all
}

// beside lists the other device-mapper devices on the same underlying device as d. Two tables may
// name the same blocks. Only the volumes of one LVM, and the partitions that kpartx makes, are
// known not to overlap.
func (r Roots) beside(d Device) []string {
	own := read(d.dir, "dm/uuid")
	var all []string
	slaves, _ := os.ReadDir(filepath.Join(d.dir, "slaves"))
	for _, slave := range slaves {
		others, _ := os.ReadDir(filepath.Join(r.Sys, "class/block", slave.Name(), "holders"))
		for _, o := range others {
			theirs := read(filepath.Join(r.Sys, "class/block", o.Name()), "dm/uuid")
			apart := func(prefix string) bool { return strings.HasPrefix(own, prefix) && strings.HasPrefix(theirs, prefix) }
			if o.Name() == d.Name || apart("LVM-") || apart("part") {
				continue
			}
			all = append(all, fmt.Sprintf("it shares %s with %s", slave.Name(), r.holder(o.Name())))
		}
	}
	return all
}

// holder describes a device that is built on another.
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
