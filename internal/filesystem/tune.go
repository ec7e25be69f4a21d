package filesystem

import (
	"fmt"
	"strconv"
)

// Geometry is what is known of the inside of storage, in bytes; 0 is not
// known.
type Geometry struct {
	Page    int64 // what the device programs at a time
	Segment int64 // what it manages as one: allocation unit, erase block
	Size    int64 // of the storage
}

// Tuning is the mkfs option that follows from a geometry, or why none does.
type Tuning struct {
	Words  []string // for mkfs; none: the default stands
	Reason string   // whole sentences
}

// Tuned is the option that follows from a geometry and can be had on storage
// of that size.
func (fs Filesystem) Tuned(g Geometry) Tuning {
	if fs.Tune == nil {
		return Tuning{Reason: "Its image is written once, from the start to the end: nothing in it follows the storage."}
	}
	t := fs.Tune(g)
	if len(t.Words) == 0 || g.Size == 0 {
		return t
	}
	if reason, _ := TooSmall(Candidate{FS: fs.Name, words: t.Words}, g.Size); reason != "" {
		return Tuning{Reason: "The option that follows cannot be had: " + reason + "."}
	}
	return t
}

// block is the block size of nearly every filesystem here, and the unit that
// their options count in.
const block = 4 * kib

// noSegment is the reason of whatever needs a segment size that nobody knows.
const noSegment = "The size of the storage's segments is not known, and a guess would be no better than the default."

// tuneExt: mke2fs counts both in blocks. The stride places bitmaps, the stripe
// width is what the allocator tries to fill at once (mke2fs(8)).
func tuneExt(g Geometry) Tuning {
	if g.Segment < block {
		return Tuning{Reason: noSegment}
	}
	stride := max(g.Page, block) / block
	width := g.Segment / block
	if width%stride != 0 { // mke2fs wants a multiple
		stride = 1
	}
	t := Tuning{Reason: fmt.Sprintf("The allocator then fills whole segments: the stripe width is a segment of %s and the stride a page of %s, in blocks of 4 KiB.",
		amount(g.Segment), amount(stride*block))}
	if g.Size < 512*mib { // mke2fs would take blocks of 1 KiB
		t.Words = []string{"-b", "4096"}
	}
	t.Words = append(t.Words, "-E", fmt.Sprintf("stride=%d,stripe_width=%d", stride, width))
	return t
}

// f2fsSegment is fixed by the format.
const f2fsSegment = 2 * mib

// tuneF2fs: a section is what its cleaner empties at a time. Zones only matter
// where a device has several planes that a host can see, so there is one
// section in each.
func tuneF2fs(g Geometry) Tuning {
	if g.Segment == 0 {
		return Tuning{Reason: noSegment}
	}
	section := leastCommonMultiple(g.Segment, f2fsSegment) / f2fsSegment
	if section == 1 {
		return Tuning{Reason: fmt.Sprintf("Its segment of 2 MiB is a multiple of the storage's of %s: the default fits.", amount(g.Segment))}
	}
	words := []string{"-s", strconv.FormatInt(section, 10), "-z", "1"}
	return Tuning{Words: words, Reason: fmt.Sprintf(
		"Its cleaner then empties whole segments of the storage at a time: %d of its own of 2 MiB are %s.", section, amount(section*f2fsSegment))}
}

// nilfs2Default is mkfs.nilfs2's own choice, in bytes.
const nilfs2Default = 2048 * block

// tuneNilfs2: mkfs.nilfs2 takes powers of two only (2.2.9, tried).
func tuneNilfs2(g Geometry) Tuning {
	switch {
	case g.Segment < 16*block:
		return Tuning{Reason: noSegment}
	case g.Segment&(g.Segment-1) != 0:
		return Tuning{Reason: fmt.Sprintf("Its segments are powers of two, and the storage's of %s are none.", amount(g.Segment))}
	case g.Segment == nilfs2Default:
		return Tuning{Reason: "Its default segment of 8 MiB is the storage's."}
	}
	words := []string{"-B", strconv.FormatInt(g.Segment/block, 10)}
	return Tuning{Words: words, Reason: fmt.Sprintf(
		"A segment of its log is then a segment of the storage, %s, and cleaning one empties the other.", amount(g.Segment))}
}

// btrfsNode is the default node, 16 KiB; 64 KiB is the largest.
const btrfsNode = 16 * kib

func tuneBtrfs(g Geometry) Tuning {
	switch {
	case g.Page == 0:
		return Tuning{Reason: "The size of the storage's pages is not known; the default node of 16 KiB stands."}
	case g.Page <= btrfsNode:
		return Tuning{Reason: fmt.Sprintf("The default node of 16 KiB is a multiple of the page of %s: a smaller one gains nothing.", amount(g.Page))}
	case g.Page&(g.Page-1) != 0 || g.Page > 64*kib:
		return Tuning{Reason: fmt.Sprintf("A node cannot be as large as a page of %s.", amount(g.Page))}
	}
	return Tuning{Words: []string{"-n", strconv.FormatInt(g.Page, 10)}, Reason: fmt.Sprintf(
		"A node is then a page of the storage, %s: with the default of 16 KiB each node costs the programming of a whole page.", amount(g.Page))}
}

// tuneXfs: one segment is the stripe unit of an array of one. The log's unit
// cannot be larger than 256 KiB, and mkfs.xfs falls back to 32 KiB by itself.
func tuneXfs(g Geometry) Tuning {
	if g.Segment < block || g.Segment%block != 0 {
		return Tuning{Reason: noSegment}
	}
	return Tuning{Words: []string{"-d", fmt.Sprintf("su=%d,sw=1", g.Segment)}, Reason: fmt.Sprintf(
		"Allocation groups and large files then begin on segments of %s.", amount(g.Segment))}
}

// exfatDefault is mkfs.exfat's own boundary.
const exfatDefault = mib

func tuneExfat(g Geometry) Tuning {
	switch {
	case g.Segment == 0:
		return Tuning{Reason: noSegment}
	case g.Segment&(g.Segment-1) != 0:
		return Tuning{Reason: fmt.Sprintf("Its boundary is a power of two, and the storage's segments of %s are none.", amount(g.Segment))}
	case g.Segment <= exfatDefault:
		return Tuning{Reason: "FAT and clusters begin on multiples of 1 MiB by default, which fits."}
	}
	words := []string{"-b", strconv.FormatInt(g.Segment, 10)}
	return Tuning{Words: words, Reason: fmt.Sprintf("FAT and clusters then begin on segments of %s.", amount(g.Segment))}
}

// noTuning is for filesystems whose tool has no such option.
func noTuning(why string) func(Geometry) Tuning {
	return func(Geometry) Tuning { return Tuning{Reason: why} }
}

func leastCommonMultiple(a, b int64) int64 {
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	return a / x * b
}
