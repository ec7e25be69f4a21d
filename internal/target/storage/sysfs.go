package storage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Roots say where to find the kernel's views, so that captured ones can replace them. The zero
// value means this system.
type Roots struct {
	Sys, Proc, Dev string        // default /sys, /proc, /dev
	Run            string        // of whichfs, cleared at boot; default /run/whichfs
	Wipefs         string        // program that finds signatures; default wipefs
	WipefsLimit    time.Duration // how long it may take; default 20 s
}

// System is this system.
var System Roots

func (r Roots) filled() Roots {
	for p, v := range map[*string]string{&r.Sys: "/sys", &r.Proc: "/proc", &r.Dev: "/dev", &r.Run: "/run/whichfs", &r.Wipefs: "wipefs"} {
		if *p == "" {
			*p = v
		}
	}
	if r.WipefsLimit <= 0 {
		r.WipefsLimit = 20 * time.Second
	}
	return r
}

// Device is a block device or partition as sysfs shows it. Strings that the kernel does not provide
// are empty.
type Device struct {
	Name         string // the kernel's: sdb, mmcblk0p1
	Path         string // /dev/sdb
	Major, Minor uint32
	Size         int64  // B
	Partition    int    // its number; 0 for a whole disk
	Disk         string // the kernel's name of the whole disk; its own for a whole disk
	Partitions   []string
	ReadOnly     bool
	Removable    bool
	// Sequence is the kernel's number of this appearance of the disk; 0 on kernels before 5.15,
	// which have none.
	Sequence  uint64
	Model     string
	Vendor    string
	Serial    string // of the whole disk
	WWID      string
	CID       string // unique register of a card or eMMC
	Firmware  string
	Transport string   // sata, nvme, usb, mmc, virtio, scsi, loop, device-mapper, …
	ByID      []string // names below /dev/disk/by-id, of this very device

	dir, disk string   // in sysfs, symbolic links resolved
	shared    bool     // another disk has the same serial number
	twins     []Device // other devices that are the same storage
	doubt     string   // of a twin: why it may not be one
}

// Number is the device number as the kernel writes it, "8:16".
func (d Device) Number() string { return fmt.Sprintf("%d:%d", d.Major, d.Minor) }

// errNoDevice says that a device is not in sysfs.
var errNoDevice = errors.New("the kernel does not list it as a block device")

// byNumber finds a device by its number.
func (r Roots) byNumber(major, minor uint32) (Device, error) {
	return r.load(filepath.Join(r.Sys, "dev/block", fmt.Sprintf("%d:%d", major, minor)))
}

// byName finds a device by the kernel's name.
func (r Roots) byName(name string) (Device, error) {
	return r.load(filepath.Join(r.Sys, "class/block", name))
}

// names lists all block devices and partitions, in order.
func (r Roots) names() ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(r.Sys, "class/block"))
	if err != nil {
		return nil, fmt.Errorf("list of block devices: %w", err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, nil
}

func (r Roots) load(link string) (Device, error) {
	dir, err := filepath.EvalSymlinks(link)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			err = errNoDevice
		}
		return Device{}, err
	}
	d := Device{Name: filepath.Base(dir), dir: dir, disk: dir}
	d.Path = filepath.Join(r.Dev, strings.ReplaceAll(d.Name, "!", "/"))
	if _, err := fmt.Sscanf(read(dir, "dev"), "%d:%d", &d.Major, &d.Minor); err != nil {
		return Device{}, fmt.Errorf("device number of %s: %w", d.Name, err)
	}
	sectors, err := strconv.ParseInt(read(dir, "size"), 10, 54)
	if err != nil || sectors < 0 {
		return Device{}, fmt.Errorf("size of %s: %q is not a number of sectors", d.Name, read(dir, "size"))
	}
	d.Size = sectors * 512 // always units of 512 bytes, whatever the block size
	if n := read(dir, "partition"); n != "" {
		if d.Partition, err = strconv.Atoi(n); err != nil {
			return Device{}, fmt.Errorf("partition number of %s: %q", d.Name, n)
		}
		d.disk = filepath.Dir(dir)
	} else {
		d.Partitions = partitions(dir)
	}
	d.Disk = filepath.Base(d.disk)
	d.ReadOnly = read(dir, "ro") == "1" || read(d.disk, "ro") == "1"
	d.Removable = read(d.disk, "removable") == "1"
	d.Sequence, _ = strconv.ParseUint(read(d.disk, "diskseq"), 10, 64)
	d.identify()
	d.ByID = r.byID(d)
	return d, nil
}

// disks loads every whole disk.
func (r Roots) disks() ([]Device, error) {
	names, err := r.names()
	if err != nil {
		return nil, err
	}
	var all []Device
	for _, name := range names {
		if has(filepath.Join(r.Sys, "class/block", name), "partition") {
			continue
		}
		if d, err := r.byName(name); err == nil { // otherwise it disappeared meanwhile
			all = append(all, d)
		}
	}
	return all, nil
}

// partitions lists those of the disk in a directory of sysfs. Their names begin
// with the disk's.
func partitions(dir string) []string {
	entries, _ := os.ReadDir(dir)
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), filepath.Base(dir)) && has(filepath.Join(dir, e.Name()), "partition") {
			names = append(names, e.Name())
		}
	}
	return names
}

// byID returns the names that udev gave the device. A link is compared by what
// it points to, since a captured /dev has no device nodes.
func (r Roots) byID(d Device) []string {
	dir := filepath.Join(r.Dev, "disk/by-id")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // no udev
	}
	var names []string
	for _, e := range entries {
		target, err := os.Readlink(filepath.Join(dir, e.Name()))
		if err != nil {
			continue
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(dir, target)
		}
		if filepath.Clean(target) == d.Path {
			names = append(names, e.Name())
		}
	}
	return names
}

// read returns a file's contents without surrounding space, "" if there is none.
func read(dir, name string) string {
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(strings.TrimRight(string(b), "\x00"))
}

// has reports whether a file exists.
func has(dir, name string) bool {
	_, err := os.Lstat(filepath.Join(dir, name))
	return err == nil
}
