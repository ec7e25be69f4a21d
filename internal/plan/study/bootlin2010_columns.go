package study

import (
	"fmt"
	"strings"

	"whichfs/internal/result"
)

// b10Layers are phases that a filesystem without UBI does without.
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
			About: "bringing up the driver: its modules, with UBI also attaching the chip, for a block device on UBI also making it; contained in the next but one"},
		{Name: "Mount", Key: "mount", Unit: "s", Terms: wall("mount"),
			About: "mounting the filled and cleanly unmounted filesystem with cold caches; contained in the next"},
		{Name: "Init. and mount", Key: "ready", Unit: "s", Uses: both, Terms: wall(append(initialise, "mount")...), Optional: b10Layers,
			About: "both together: what a boot waits for"},
		{Name: "Memory", Key: "memory", Unit: "B", Uses: both, Terms: terms(result.MemTaken, append(initialise, "mount")...), Optional: b10Layers,
			About: "free memory that initialisation and mount take, caches of what they read included"},
		{Name: "Used space", Key: "used", Unit: "B", Uses: both, Terms: []Term{{"space-filled", result.SpaceUsed}},
			About: "used space by the filesystem's own account once it holds the files; of an image its length"},
		{Name: "Read", Key: "files-read", Unit: "s", Uses: both, Terms: wall("files-read"), Per: result.DataBytes, About: "every byte of every file, from cold caches"},
		{Name: "Remove", Key: "files-remove", Unit: "s", Uses: rw, Terms: wall("files-remove"), About: "removing all files, until that is on storage"},
		{Name: "Write", Key: "files-write", Unit: "s", Uses: rw, Terms: wall("files-write"), Per: result.DataBytes,
			About: "writing the files from memory, until the filesystem says that they are on storage"},
		{Name: "Video write", Key: "video", Unit: "s", Uses: rw, Terms: wall("video"), Per: result.DataBytes,
			About: "writing an incompressible file (on the card several), until it is on storage"},
		{Name: "Unmount", Key: "unmount", Unit: "s", Extra: true, Terms: wall("unmount"), About: "the last unmount of the scenario"},

		{Name: "Attach", Key: "attach", Unit: "s", Extra: true, Terms: wall("attach"), About: "UBI attaching the chip: it reads the headers of every erase block"},
		{Name: "Layer's module", Key: "layer", Unit: "s", Extra: true, Terms: wall("layer"), About: "loading what lies below the filesystem: ubi, or mtdblock"},
		{Name: "Module load", Key: "module-load", Unit: "s", Extra: true, Terms: wall("module-load"), About: "loading the filesystem's module with what it still needs"},
		{Name: "Module size", Key: "module-size", Unit: "B", Extra: true, Terms: terms(result.ModuleSize, "layer", "module-load"), Optional: b10Layers,
			About: "files of the modules of filesystem and layer, as stored"},
		{Name: "Slab memory", Key: "slab", Unit: "B", Extra: true, Terms: terms(result.MemSlabTaken, append(initialise, "mount")...), Optional: b10Layers,
			About: "the part of the memory that lies in the kernel's slabs"},
		{Name: "Mount, unclean", Key: "unclean", Unit: "s", Extra: true, Terms: wall("mount-unclean"),
			About: "mounting after the power went away with everything on storage and nothing unmounted"},
		{Name: "Attach, unclean", Key: "attach-unclean", Unit: "s", Extra: true, Terms: wall("attach-unclean"), About: "UBI attaching the chip after that"},
		{Name: "First mount", Key: "first-mount", Unit: "s", Extra: true, Terms: wall("first-mount"), About: "mounting the filesystem that was just made"},
		{Name: "Used when empty", Key: "empty", Unit: "B", Extra: true, Terms: []Term{{"space-empty", result.SpaceUsed}},
			About: "space that the empty filesystem counts as used"},
		{Name: "Total space", Key: "total", Unit: "B", Extra: true, Level: true, Terms: []Term{{"space-empty", result.SpaceTotal}},
			About: "size of the filesystem by its own account: what is missing to the partition, layers and filesystem keep for themselves"},
		{Name: "Make", Key: "mkfs", Unit: "s", Extra: true, Terms: wall("mkfs"), About: "making the empty filesystem"},
		{Name: "Format", Key: "format", Unit: "s", Extra: true, Terms: wall("format"), About: "formatting the chip for UBI"},
		{Name: "Fill", Key: "fill", Unit: "s", Extra: true, Terms: wall("fill"), About: "the first files onto the empty filesystem"},
		{Name: "Image", Key: "image", Unit: "s", Extra: true, Terms: wall("image"), About: "making the image in memory"},
		{Name: "Flash", Key: "flashing", Unit: "s", Extra: true, Terms: wall("flashing"), About: "bringing that image onto the chip"},
	}
	return all
}

// sizeName is how a level of the partition size is called: "8 MiB".
func sizeName(bytes int64) string { return fmt.Sprintf("%d MiB", bytes>>20) }

// shareName is how a level of the filling is called: "5 % full".
func shareName(share float64) string { return fmt.Sprintf("%g %% full", 100*share) }

// mediumFault is a place in a chip that fails after some uses.
func mediumFault(place, uses int) string { return fmt.Sprintf("%d/%d", place, uses) }

func joinColons(words []string) string { return strings.Join(words, ":") }
