package study

import (
	"fmt"
	"strings"

	"whichfs/internal/result"
)

// b10Layers are phases that a filesystem without UBI lacks.
var b10Layers = []string{"layer", "attach", "block"}

func b10Columns() []Column {
	both, rw := []string{b10ReadWrite, b10ReadOnly}, []string{b10ReadWrite}
	terms := func(metric string, phases ...string) []Term {
		var all []Term
		for _, p := range phases {
			all = append(all, Term{p, metric})
		}
		return all
	}
	wall := func(phases ...string) []Term { return terms(result.Wall, phases...) }
	initialise := []string{"layer", "attach", "module-load", "block"}
	all := []Column{
		{Name: "Initialisation", Key: "init", Unit: "s", Terms: wall(initialise...), Optional: b10Layers,
			About: "loading the driver: its modules, with UBI also attaching the chip, for a block device on UBI also creating it; contained in the next but one"},
		{Name: "Mount", Key: "mount", Unit: "s", Terms: wall("mount"),
			About: "mounting the filled and cleanly unmounted filesystem with cold caches; contained in the next"},
		{Name: "Init. and mount", Key: "ready", Unit: "s", Uses: both, Terms: wall(append(initialise, "mount")...), Optional: b10Layers,
			About: "both together: the wait at boot"},
		{Name: "Memory", Key: "memory", Unit: "B", Uses: both, Terms: terms(result.MemTaken, append(initialise, "mount")...), Optional: b10Layers,
			About: "memory that the kernel takes for itself in initialisation and mount: slabs, modules and other mappings, without caches of data"},
		{Name: "Used space", Key: "used", Unit: "B", Uses: both, Terms: []Term{{"space-filled", result.SpaceUsed}},
			About: "used space by the filesystem's own figures with the files; the length of an image"},
		{Name: "Read", Key: "files-read", Unit: "s", Uses: both, Terms: wall("files-read"), Per: result.DataBytes, About: "every byte of every file, from cold caches"},
		{Name: "Remove", Key: "files-remove", Unit: "s", Uses: rw, Terms: wall("files-remove"), About: "removing all files, until the removal is on storage"},
		{Name: "Write", Key: "files-write", Unit: "s", Uses: rw, Terms: wall("files-write"), Per: result.DataBytes,
			About: "writing the files from memory, until the filesystem reports that they are on storage"},
		{Name: "Video write", Key: "video", Unit: "s", Uses: rw, Terms: wall("video"), Per: result.DataBytes,
			About: "writing an incompressible file (on the card several), until it is on storage"},
		{Name: "Unmount", Key: "unmount", Unit: "s", Extra: true, Terms: wall("unmount"), About: "the last unmount of the scenario"},

		{Name: "Attach", Key: "attach", Unit: "s", Extra: true, Terms: wall("attach"), About: "UBI attaching the chip: it reads the headers of every erase block"},
		{Name: "Layer's module", Key: "layer", Unit: "s", Extra: true, Terms: wall("layer"), About: "loading the layer below the filesystem: ubi, or mtdblock"},
		{Name: "Module load", Key: "module-load", Unit: "s", Extra: true, Terms: wall("module-load"), About: "loading the filesystem's module with its remaining dependencies"},
		{Name: "Module size", Key: "module-size", Unit: "B", Extra: true, Terms: terms(result.ModuleSize, "layer", "module-load"), Optional: b10Layers,
			About: "module files of filesystem and layer, as stored"},
		{Name: "Slab memory", Key: "slab", Unit: "B", Extra: true, Terms: terms(result.MemSlabTaken, append(initialise, "mount")...), Optional: b10Layers,
			About: "the part of the memory in the kernel's slabs"},
		{Name: "Mount, unclean", Key: "unclean", Unit: "s", Extra: true, Terms: wall("mount-unclean"),
			About: "mounting after a power loss with everything on storage and nothing unmounted"},
		{Name: "Attach, unclean", Key: "attach-unclean", Unit: "s", Extra: true, Terms: wall("attach-unclean"), About: "UBI attaching the chip after that"},
		{Name: "First mount", Key: "first-mount", Unit: "s", Extra: true, Terms: wall("first-mount"), About: "mounting the new filesystem"},
		{Name: "Used when empty", Key: "empty", Unit: "B", Extra: true, Terms: []Term{{"space-empty", result.SpaceUsed}},
			About: "space that the empty filesystem counts as used"},
		{Name: "Total space", Key: "total", Unit: "B", Extra: true, Level: true, Terms: []Term{{"space-empty", result.SpaceTotal}},
			About: "size of the filesystem by its own figures: layers and filesystem use the rest of the partition for themselves"},
		{Name: "Make", Key: "mkfs", Unit: "s", Extra: true, Terms: wall("mkfs"), About: "making the empty filesystem"},
		{Name: "Format", Key: "format", Unit: "s", Extra: true, Terms: wall("format"), About: "formatting the chip for UBI"},
		{Name: "Fill", Key: "fill", Unit: "s", Extra: true, Terms: wall("fill"), About: "the first files onto the empty filesystem"},
		{Name: "Spread of erases", Key: "wear-spread", Unit: "1", Extra: true, Terms: terms(result.FlashMost, "wear"), Over: terms(result.FlashMean, "wear"),
			About: "on the small chip, the erases of its most worn block over those of a block on average"},
		{Name: "Blocks never erased", Key: "wear-untouched", Unit: "1", Extra: true, Terms: terms(result.FlashUntouched, "wear"),
			About: "of the 64 of the small chip, half of which is not written to again: those that nothing moved the data from"},
		{Name: "Image", Key: "image", Unit: "s", Extra: true, Terms: wall("image"), About: "making the image in memory"},
		{Name: "Flash", Key: "flashing", Unit: "s", Extra: true, Terms: wall("flashing"), About: "writing that image to the chip"},
	}
	return all
}

// sizeName is the name of a level of the partition size: "8 MiB".
func sizeName(bytes int64) string { return fmt.Sprintf("%d MiB", bytes>>20) }

// shareName is the name of a fill level: "5 % full".
func shareName(share float64) string { return fmt.Sprintf("%g %% full", 100*share) }

// mediumFault is a place in a chip that fails after some uses.
func mediumFault(place, uses int) string { return fmt.Sprintf("%d/%d", place, uses) }

func joinColons(words []string) string { return strings.Join(words, ":") }
