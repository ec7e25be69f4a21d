package lab

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"

	"whichfs/internal/sys/newc"
)

// rootModules are what every kernel needs to reach its disk; any of them may
// be built in. Filesystems request crc32c by name.
var rootModules = []string{"crc32c_generic", "virtio_pci", "virtio_blk"}

// cardModules are for an SD card.
var cardModules = []string{"sdhci_pci", "mmc_block"}

// BootArchive makes the archive for a guest whose root is the filesystem under
// test: the agent as /init, the modules for the disk in modules/, and those of
// the filesystem in filesystem/. driver lists files below the kernel's module
// tree in insertion order; those that the disk needs are omitted from them.
// card: the disk is an SD card. It returns the sizes of the driver's files in
// bytes, by file.
func (k Kernel) BootArchive(agent string, driver []string, card bool) (archive []byte, sizes map[string]int64, err error) {
	binary, err := os.ReadFile(agent)
	if err != nil {
		return nil, nil, fmt.Errorf("agent: %w", err)
	}
	start, err := k.startModules(card)
	if err != nil {
		return nil, nil, err
	}
	var a newc.Archive
	a.Grow(len(binary) + 8<<20)
	for _, dir := range []string{"dev", "proc", "sys", "modules", "filesystem", "new"} {
		a.Add(dir, 0o040755, nil)
	}
	a.Add("init", 0o100755, binary)
	early, sizes := map[string]bool{}, map[string]int64{}
	put := func(dir string, n int, file string) (int64, error) {
		text, err := os.ReadFile(filepath.Join(k.modules(), file))
		if err != nil {
			return 0, fmt.Errorf("boot archive: %w", err)
		}
		a.Add(fmt.Sprintf("%s/%02d-%s", dir, n, path.Base(file)), 0o100644, text)
		return int64(len(text)), nil
	}
	for n, file := range start {
		early[file] = true
		if _, err := put("modules", n, file); err != nil {
			return nil, nil, err
		}
	}
	for n, file := range driver {
		if early[file] {
			continue
		}
		if sizes[file], err = put("filesystem", n, file); err != nil {
			return nil, nil, err
		}
	}
	return a.Finish(), sizes, nil
}

// startModules lists the modules for the disk, dependencies first.
func (k Kernel) startModules(card bool) ([]string, error) {
	depends, builtin, err := moduleLists(k.modules())
	if err != nil {
		return nil, err
	}
	wanted := slices.Clone(rootModules)
	if _, ok := builtin["virtio_uml"]; ok { // in user mode there is no other bus
		wanted = slices.DeleteFunc(wanted, func(name string) bool { return name == "virtio_pci" })
	}
	if own := k.arch().checksums; depends[own] != nil { // since Linux 6.14 it is in the kernel's library
		wanted = slices.Insert(wanted, 1, own)
	}
	if card {
		wanted = append(wanted, cardModules...)
	}
	files, err := insertionOrder(wanted, depends, builtin)
	if err != nil {
		return nil, fmt.Errorf("kernel %s: %w", k.Release, err)
	}
	return files, nil
}
