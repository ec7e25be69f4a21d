package storage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"whichfs/internal/plan/media"
)

// MTD is raw flash as the kernel shows it: a chip, or a partition of one. Texts
// that the kernel does not give are empty.
type MTD struct {
	Name   string // the kernel's: mtd3
	Number int    // its number: 3
	Path   string // /dev/mtd3
	Label  string // what the partition table or the driver calls it: "rootfs"
	Type   string // nand, mlc-nand, nor, ram, rom, dataflash, ubi
	Size   int64  // B, without spare bytes
	Erase  int64  // erase block, B
	Page   int64  // B; 1 where bytes can be written one by one
	Sub    int64  // smallest part of a page that is programmed on its own, B
	OOB    int64  // spare bytes of a page
	Flags  uint64 // MTD_… of include/uapi/mtd/mtd-abi.h
	Offset int64  // of a partition on its chip, B; -1 where it is none
	Parent string // the parent device of the chip, "" for none

	Major, Minor uint32
	dir          string // in sysfs, symbolic links resolved
	shared       bool   // another one has the same label and size
}

// mtdWriteable is MTD_WRITEABLE of mtd-abi.h.
const mtdWriteable = 0x400

// Numbers of devices (Documentation/admin-guide/devices.txt).
const (
	mtdMajor      = 90 // /dev/mtd*: two for each, the odd ones read-only
	mtdblockMajor = 31 // /dev/mtdblock*; a jffs2 has such a number too, without one
)

// simulatorLabel is what nandsim calls its first partition.
const simulatorLabel = "NAND simulator partition 0"

var mtdName = regexp.MustCompile(`^mtd([0-9]+)$`)

// Simulated reports whether the kernel's nandsim makes it.
func (m MTD) Simulated() bool {
	return strings.HasPrefix(m.Label, "NAND simulator partition ") && strings.Contains(m.dir, "/devices/virtual/")
}

// IDs are the names that --destroy accepts for this very flash, the recommended one first. Kernel
// numbers change from boot to boot, so label and size identify it; the number is added only where
// two are alike.
func (m MTD) IDs() []string {
	name := m.Label + "/" + media.FormatSize(m.Size)
	numbered := m.Name + ":" + name
	if m.shared || m.Label == "" {
		return []string{numbered}
	}
	return []string{"mtd:" + name, numbered}
}

// Is reports whether id names this very flash. Only an exact match counts.
func (m MTD) Is(id string) bool { return id != "" && slices.Contains(m.IDs(), id) }

// errNoMTD says that sysfs does not know raw flash of a number.
var errNoMTD = errors.New("the kernel does not list it as raw flash (MTD)")

// mtds lists all raw flash, in the order of the numbers.
func (r Roots) mtds() ([]MTD, error) {
	entries, err := os.ReadDir(filepath.Join(r.Sys, "class/mtd"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil // no driver
	}
	if err != nil {
		return nil, fmt.Errorf("list of raw flash: %w", err)
	}
	var all []MTD
	for _, e := range entries {
		if !mtdName.MatchString(e.Name()) {
			continue // mtd0ro
		}
		m, err := r.loadMTD(e.Name())
		if errors.Is(err, errNoMTD) {
			continue // it has disappeared
		}
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b MTD) int { return a.Number - b.Number })
	for i := range all {
		for j := range all {
			if i != j && all[i].Label == all[j].Label && all[i].Size == all[j].Size {
				all[i].shared = true
			}
		}
	}
	return all, nil
}

// mtd finds raw flash by its number.
func (r Roots) mtd(number int) (MTD, error) {
	all, err := r.mtds()
	if err != nil {
		return MTD{}, err
	}
	for _, m := range all {
		if m.Number == number {
			return m, nil
		}
	}
	return MTD{}, errNoMTD
}

func (r Roots) loadMTD(name string) (MTD, error) {
	dir, err := filepath.EvalSymlinks(filepath.Join(r.Sys, "class/mtd", name))
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			err = errNoMTD
		}
		return MTD{}, err
	}
	m := MTD{Name: name, Path: filepath.Join(r.Dev, name), dir: dir, Offset: -1,
		Label: printable(read(dir, "name")), Type: read(dir, "type")}
	if m.Number, err = strconv.Atoi(mtdName.FindStringSubmatch(name)[1]); err != nil {
		return MTD{}, fmt.Errorf("number of %s: %w", name, err)
	}
	if _, err := fmt.Sscanf(read(dir, "dev"), "%d:%d", &m.Major, &m.Minor); err != nil {
		return MTD{}, fmt.Errorf("device number of %s: %w", name, err)
	}
	for file, to := range map[string]*int64{"size": &m.Size, "erasesize": &m.Erase, "writesize": &m.Page} {
		if *to, err = strconv.ParseInt(read(dir, file), 10, 64); err != nil || *to <= 0 {
			return MTD{}, fmt.Errorf("%s of %s: %q is not a number of bytes", file, name, read(dir, file))
		}
	}
	for file, to := range map[string]*int64{"subpagesize": &m.Sub, "oobsize": &m.OOB, "offset": &m.Offset} {
		if v, err := strconv.ParseInt(read(dir, file), 10, 64); err == nil {
			*to = v
		}
	}
	if m.Flags, err = strconv.ParseUint(read(dir, "flags"), 0, 64); err != nil {
		return MTD{}, fmt.Errorf("flags of %s: %q is not a number", name, read(dir, "flags"))
	}
	if parent, err := filepath.EvalSymlinks(filepath.Join(dir, "device")); err == nil {
		m.Parent = filepath.Base(parent)
	}
	return m, nil
}

// chip is the sysfs directory of the flash and everything else on the same controller.
func (m MTD) chip() string {
	before, _, _ := strings.Cut(m.dir, "/mtd/")
	return filepath.Join(before, "mtd")
}

// Blocks is the number of erase blocks, including bad ones.
func (m MTD) Blocks() int64 { return m.Size / m.Erase }
