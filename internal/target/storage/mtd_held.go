package storage

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"
)

// overlapping is all raw flash that shares erase blocks with m, m first: the partitions of a chip
// that is also shown as a whole, and that chip.
func (r Roots) overlapping(m MTD) ([]MTD, error) {
	all, err := r.mtds()
	if err != nil {
		return nil, err
	}
	family := []MTD{m}
	for _, o := range all {
		nested := strings.HasPrefix(o.dir, m.dir+"/") || strings.HasPrefix(m.dir, o.dir+"/")
		beside := filepath.Dir(o.dir) == filepath.Dir(m.dir) && o.Offset >= 0 && m.Offset >= 0 &&
			o.Offset < m.Offset+m.Size && m.Offset < o.Offset+o.Size
		if o.Number != m.Number && (nested || beside || m.mayHold(o) || o.mayHold(m)) {
			family = append(family, o)
		}
	}
	return family, nil
}

// mayHold reports whether o may be a partition of m. If a partition is added at run time, sysfs
// shows chip and partition side by side without linking them: a chip that is not itself a partition
// then counts as the partition's if the two are alike.
func (m MTD) mayHold(o MTD) bool {
	return filepath.Dir(o.dir) == filepath.Dir(m.dir) && m.Offset < 0 && o.Offset >= 0 && o.Offset+o.Size <= m.Size &&
		o.Type == m.Type && o.Erase == m.Erase && o.Page == m.Page
}

// heldMTD lists what uses the flash or anything that shares blocks with it.
func (r Roots) heldMTD(m MTD) ([]finding, error) {
	family, err := r.overlapping(m)
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
		if !slices.Contains(all, f) { // once per namespace that it is mounted in
			all = append(all, f)
		}
	}
	if m.Flags&mtdWriteable == 0 {
		use("its driver, the board's device tree or the kernel's command line says so", readOnlyDevice)
	}
	if m.Type == "ubi" {
		use("name the flash that UBI is attached to", "it is a UBI volume exported as flash (gluebi)")
	}
	carriers := rootMounts(mounts)
	for _, o := range family {
		who := "it"
		if o.Number != m.Number {
			who = o.Path + ", which shares blocks with it,"
		}
		block := r.blockOf(o)
		for _, mount := range mounts {
			switch {
			case !r.on(mount, block) && !mtdWord(mount.Source, o):
			case carriers[mount]:
				use("choose another device", "%s carries the root filesystem (%s)", who, mount.FSType)
			default:
				use("unmount it first: umount "+mount.Mountpoint, "%s is mounted at %s (%s)", who, mount.Mountpoint, mount.FSType)
			}
		}
		if word := r.bootWord(); word != "" && (mtdWord(word, o) || strings.HasPrefix(word, "/dev/") && r.means(word, block)) {
			use("choose another device", "%s is the root device that this system was booted from (%s)", who, word)
		}
		for _, path := range swaps {
			if r.means(path, block) {
				use("disable it first: swapoff "+path, "%s is in use as swap", who)
			}
		}
		for _, h := range r.holders(block) {
			use("take that apart first", "%s is held by %s", who, h)
		}
		if ubi := r.ubiOn(o); ubi != "" {
			hint := fmt.Sprintf("unmount its volumes and detach it first: ubidetach -m %d", o.Number)
			if onUBI(ubi, carriers) {
				hint = "choose another device: the root filesystem is on it"
			}
			use(hint, "%s is attached to UBI as %s%s", who, ubi, mountedUBI(ubi, mounts))
		}
	}
	return all, nil
}

// blockOf is the mtdblock device of raw flash, whether it exists or not.
func (r Roots) blockOf(m MTD) Device {
	name := "mtdblock" + strconv.Itoa(m.Number)
	return Device{Name: name, Path: filepath.Join(r.Dev, name), Major: mtdblockMajor, Minor: uint32(m.Number),
		dir: filepath.Join(r.Sys, "class/block", name)}
}

// mtdWord reports whether the source of a mount, or a root= of the kernel's
// command line, is the flash: "mtd3" or "mtd:rootfs".
func mtdWord(word string, m MTD) bool {
	label, named := strings.CutPrefix(word, "mtd:")
	return word == m.Name || named && label == m.Label && label != ""
}

// bootWord is the root device on the kernel's command line, as written there.
func (r Roots) bootWord() string {
	for _, word := range strings.Fields(read(r.Proc, "cmdline")) {
		if value, ok := strings.CutPrefix(word, "root="); ok {
			return strings.Trim(value, `"`)
		}
	}
	return ""
}

// ubiOn is the UBI device ("ubi0") that the flash is attached to, "" for none.
func (r Roots) ubiOn(m MTD) string {
	found, _ := filepath.Glob(filepath.Join(r.Sys, "class/ubi/ubi*/mtd_num"))
	for _, p := range found {
		if read(filepath.Dir(p), "mtd_num") == strconv.Itoa(m.Number) {
			return filepath.Base(filepath.Dir(p))
		}
	}
	return ""
}

// volumeOf reports whether the source of a mount is a volume of a UBI device, "ubi0_1" or
// "ubi0:rootfs", or a block device on one.
func volumeOf(ubi string, m *mountinfo.Info) bool {
	source := strings.TrimPrefix(strings.TrimPrefix(m.Source, "/dev/"), "ubiblock")
	number := strings.TrimPrefix(ubi, "ubi")
	return strings.HasPrefix(source, ubi+"_") || strings.HasPrefix(source, ubi+":") || strings.HasPrefix(source, number+"_")
}

func onUBI(ubi string, carriers map[*mountinfo.Info]bool) bool {
	for m := range carriers {
		if volumeOf(ubi, m) {
			return true
		}
	}
	return false
}

func mountedUBI(ubi string, mounts []*mountinfo.Info) string {
	var at []string
	for _, m := range mounts {
		if volumeOf(ubi, m) {
			at = append(at, m.Mountpoint)
		}
	}
	if len(at) == 0 {
		return ""
	}
	return ", with a volume mounted at " + strings.Join(unique(at), ", ")
}
