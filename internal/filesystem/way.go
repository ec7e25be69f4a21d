package filesystem

import (
	"fmt"
	"slices"
	"strings"
)

// Way is how a filesystem gets onto raw flash: the layers between it and the chip, and whether it
// is made in place or written there as an image. A candidate names it after an @:
// "squashfs@ubiblock -comp lzo".
type Way string

// The ways. A filesystem's Ways lists the possible ones, the default first.
const (
	// WayMTD: the driver works on the MTD device itself.
	WayMTD Way = "mtd"
	// WayImage: the same, but the filesystem is made as an image of the tree and written to the
	// erased chip.
	WayImage Way = "image"
	// WaySummary: the same, with a summary of each erase block at its end.
	WaySummary Way = "image+summary"
	// WayMTDBlock: on the read-only view of the MTD device as a block device, which does not handle
	// bad blocks.
	WayMTDBlock Way = "mtdblock"
	// WayUBI: in a volume of UBI, which wears blocks evenly and replaces bad ones.
	WayUBI Way = "ubi"
	// WayFastmap: the same, with UBI keeping a map of its blocks, so that attaching need not read
	// them all.
	WayFastmap Way = "ubi+fastmap"
	// WayUBIBlock: on the read-only block device that UBI makes of a volume.
	WayUBIBlock Way = "ubiblock"
	// WayUBIBlockFastmap: the same, with such a map.
	WayUBIBlockFastmap Way = "ubiblock+fastmap"
	// WayGluebi: on mtdblock, as WayMTDBlock, over the MTD device that the driver gluebi makes of a
	// volume.
	WayGluebi Way = "gluebi"
)

// UBI reports whether UBI is between the filesystem and the chip.
func (w Way) UBI() bool {
	return w == WayUBI || w == WayFastmap || w == WayUBIBlock || w == WayUBIBlockFastmap || w == WayGluebi
}

// Block reports whether the filesystem sees a block device.
func (w Way) Block() bool {
	return w == WayUBIBlock || w == WayUBIBlockFastmap || w.MTDBlock()
}

// MTDBlock reports whether that is the one of an MTD device.
func (w Way) MTDBlock() bool { return w == WayMTDBlock || w == WayGluebi }

// Fastmap reports whether UBI keeps a map of its blocks.
func (w Way) Fastmap() bool { return w == WayFastmap || w == WayUBIBlockFastmap }

// Image reports whether the tree is written to the chip as an image, for a filesystem that could
// also be written in place.
func (w Way) Image() bool { return w == WayImage || w == WaySummary }

// OnFlash is the candidate's way on raw flash; ok is false if its filesystem cannot be there.
func (c Candidate) OnFlash() (w Way, ok bool) {
	ways := c.Filesystem().Ways
	switch {
	case len(ways) == 0:
		return "", false
	case c.Way == "":
		return ways[0], true
	}
	return c.Way, true
}

// Imaged reports whether a trial of the candidate makes an image of the tree: the filesystem is
// read-only, or uses such a way.
func (c Candidate) Imaged() bool { return c.Filesystem().ReadOnly || c.Way.Image() }

// Misplaced says why the candidate cannot be on this kind of storage, and what to use instead; both
// are "" if it can.
func (c Candidate) Misplaced(rawFlash bool) (reason, hint string) {
	fs := c.Filesystem()
	switch {
	case rawFlash && len(fs.Ways) == 0:
		return fs.Title + " needs a block device, which raw flash is not",
			"jffs2 and ubifs are made for raw flash; squashfs and erofs can be read from it"
	case !rawFlash && (fs.Raw || c.Way != ""):
		return fmt.Sprintf("%s needs raw flash (MTD), and this storage is a block device", c),
			"give --storage nand:128M in the lab, or --storage mtd:/dev/mtdN on a board"
	}
	return "", ""
}

// readWay splits the way off the first word of a candidate.
func readWay(word string) (name string, w Way, err error) {
	name, text, given := strings.Cut(word, "@")
	if !given {
		return name, "", nil
	}
	fs, ok := ByName(name)
	if !ok {
		return name, "", nil // the caller reports it
	}
	if len(fs.Ways) == 0 {
		return name, "", fmt.Errorf("%s cannot be on raw flash, so nothing may follow it after an @", name)
	}
	if w = Way(text); !slices.Contains(fs.Ways, w) {
		known := make([]string, len(fs.Ways))
		for i, one := range fs.Ways {
			known[i] = name + "@" + string(one)
		}
		return name, "", fmt.Errorf("%s does not support %q as a way onto flash; it can be %s", name, text, strings.Join(known, ", "))
	}
	if w == fs.Ways[0] {
		w = "" // one spelling per candidate
	}
	return name, w, nil
}
