package study

import (
	"slices"

	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
)

// Keys of the storages: a raw chip, a small one to wear, and a card behind a
// controller.
const (
	b10NAND = "nand"
	b10Worn = "worn"
	b10MMC  = "mmc"
)

// The published rows. Compression is the default of each: zlib for jffs2 and
// SquashFS, lzo for ubifs, in 2010 and now.
const (
	b10Jffs2      = "jffs2"
	b10Jffs2Plain = "jffs2 -o compr=none"
	b10Image      = "jffs2@image"
	b10Summary    = "jffs2@image+summary"
	b10Ubifs      = "ubifs"
	b10Fastmap    = "ubifs@ubi+fastmap"
	b10Yaffs2     = "yaffs2"
	b10Logfs      = "logfs"
	b10MTDBlock   = "squashfs -comp gzip"
	b10UBIBlock   = "squashfs@ubiblock -comp gzip"
	b10Gluebi     = "squashfs@gluebi -comp gzip"
	b10ErofsUBI   = "erofs@ubiblock -zlz4hc"
	b10Later      = "squashfs@ubiblock -comp lz4" // a compressor that SquashFS has had since 3.19
	b10ReadWrite  = "read-write"
	b10ReadOnly   = "read-only"
)

// Data of the study: files, and the video that is written.
const (
	b10Tree  = "tree"
	b10Root  = "root"  // on the card, of the published size
	b10Video = "video" // on raw flash, where it must fit on the smallest partition
	b10Clip  = "clip"  // on the card
	b10Piece = "piece" // on the small chip
)

// b10Stays is how many pieces of b10PieceSize stay on the small chip while one
// is rewritten: half of the chip.
const (
	b10Stays     = 16
	b10PieceSize = 256 << 10
)

// b10Amount is the amount of work at a scale.
type b10Amount struct {
	published bool // every candidate and fault of the source at every size
	// The chip, the smaller partitions, and how full they are besides filled.
	whole  int64   // MiB
	sizes  []int64 // MiB
	shares []float64
	// filled is the amount written on raw flash, as a share of the storage: at most
	// what fits on the smallest partition with every filesystem, including UBI's own
	// blocks.
	filled   float64
	card     string // the tree that is copied to the card
	clips    int    // on the card
	rewrites int    // of the piece on the small chip
}

func (s Scale) b10() b10Amount { return s.Amount.(b10Amount) }

// b10Memory is that of a board, in MiB, at the scales that have it.
func b10Memory(mebibytes int64) map[string]int64 {
	return map[string]int64{"claims": mebibytes << 20, "full": mebibytes << 20}
}

// Bootlin2010 compares the filesystems for raw NAND flash by partition size,
// and briefly compares block filesystems on an MMC card.
func Bootlin2010() Study {
	return Study{
		Name:       "bootlin-2010",
		Title:      "Flash filesystem benchmarks",
		Work:       "raw flash: mount, memory, read, write, a video, power loss",
		Source:     "Michael Opdenacker (Bootlin), Flash filesystem benchmarks, Embedded Linux Conference Europe, Cambridge, October 2010",
		Board:      "usb-a9263",
		Processors: 1,
		Scales: map[string]Scale{
			"quick": {
				Candidates: b10Quick(), Rounds: 2, StepLimit: 600,
				Data: []DataSet{{Name: b10Tree, Set: "debian-armhf-part"}, {Name: b10Video, Stream: 512 << 10}, {Name: b10Clip, Stream: 6 << 20}},
				RAM:  "nand:64M", Amount: b10Amount{whole: 64, sizes: []int64{8, 32}, shares: []float64{0.3}, filled: 0.07, clips: 1, card: b10Tree},
			},
			// The quick one, and what claims need besides: the chip of the talk's figure
			// for the summary, nearly full, jffs2 without compression, SquashFS by way of
			// gluebi, the chip to wear, and the two whose drivers the user has to bring.
			"claims": {
				Candidates: append(b10Quick(), b10Later, b10Jffs2Plain, b10Gluebi, b10Yaffs2, b10Logfs), Rounds: 2, StepLimit: 1800,
				Data: []DataSet{{Name: b10Tree, Set: "debian-armhf-part"}, {Name: b10Video, Stream: 512 << 10}, {Name: b10Clip, Stream: 6 << 20}, {Name: b10Piece, Stream: b10PieceSize}},
				RAM:  "nand:128M", Amount: b10Amount{
					whole: 128, sizes: []int64{4, 8, 16, 32, 64}, shares: []float64{b10Full75}, filled: 0.07, clips: 1, card: b10Tree, rewrites: 7200,
				},
			},
			"full": {
				Candidates: b10Full(), Rounds: 3, StepLimit: 14_400,
				Data: []DataSet{{Name: b10Tree, Set: "debian-armhf"}, {Name: b10Root, Set: "debian-armhf-medium", Same: true}, {Name: b10Video, Stream: 1 << 20}, {Name: b10Clip, Stream: 6 << 20}, {Name: b10Piece, Stream: b10PieceSize}},
				RAM:  "nand:256M", Amount: b10Amount{
					published: true, whole: 256, sizes: []int64{4, 8, 16, 32, 64, 128}, shares: []float64{0.05, 0.5, b10Full75}, filled: 0.25, clips: 100, card: b10Root, rewrites: 14_400,
				},
			},
		},
		Storages: []Storage{
			{
				Key: b10NAND, Label: "raw NAND flash, 2 KiB pages", EraseBlock: 128 << 10, Clock: result.ClockInstructions,
				Specs:  map[string]string{"quick": "nand:64M", "claims": "nand:128M", "full": "nand:256M"},
				Memory: b10Memory(64), // Calao USB-A9263
			},
			{
				Key: b10Worn, Label: "raw NAND flash of 8 MiB, rewritten until it is worn", EraseBlock: 128 << 10, Clock: result.ClockVirtual, // it takes minutes of the chip's time
				Specs:      map[string]string{"quick": b10WornChip, "claims": b10WornChip, "full": b10WornChip},
				Candidates: map[string][]string{"quick": b10Wears(), "claims": append(b10Wears(), b10Yaffs2), "full": append(b10Wears(), b10Yaffs2)},
				Rounds:     map[string]int{"claims": 3}, // what chance a block has differs by round
				At:         "claims",
				Memory:     b10Memory(64),
			},
			{
				Key: b10MMC, Label: "MMC card",
				Specs:      map[string]string{"quick": "sim:sd-basic,1G", "claims": "sim:sd-basic,1G", "full": "sim:sd-basic,4G"},
				Candidates: map[string][]string{"quick": b10Block(), "claims": b10Block(), "full": b10Block()},
				Rounds:     map[string]int{"claims": 3}, // its clock is not that of instructions
				Memory:     b10Memory(256),              // BeagleBoard
			},
		},
		Scenario: b10Scenario,
		Factors:  b10Factors,
		Columns:  b10Columns(),
		Claims:   b10Claims(),
	}
}

// b10Quick holds the main filesystems of the study, each with its own way onto
// the chip.
func b10Quick() []string {
	return []string{b10Jffs2, b10Image, b10Summary, b10Ubifs, b10MTDBlock, b10UBIBlock}
}

func b10Full() []string {
	list := b10Quick()
	for _, c := range []string{"none", "lzo", "zlib"} {
		list = append(list, b10Jffs2+" -o compr="+c)
	}
	for _, c := range []string{"none", "lzo", "zlib", "zstd"} {
		list = append(list, b10Ubifs+" -x "+c)
	}
	return append(list, b10Later, b10Fastmap, b10ErofsUBI, b10Gluebi, b10Yaffs2, b10Logfs)
}

const b10WornChip = "nand:8M"

// b10Wears are the filesystems whose wear of the small chip is counted. Nothing
// that is written there can be compressed.
func b10Wears() []string { return []string{b10Jffs2Plain, b10Ubifs} }

// b10Block are the filesystems compared on the card.
func b10Block() []string {
	return []string{"ext3", "ext4", "btrfs", "jfs", "xfs", "reiserfs", "nilfs2"}
}

// Axes of the factors.
const (
	b10Size     = "partition size"
	b10Fullness = "share of the storage that is filled"
)

// b10Full75 is how full a chip is for the summary's claim: the source does not
// say it, and its files nearly fill the partition. The summary spares reading
// what is written, so it cuts less where less is.
const b10Full75 = 0.75

// b10Factors: the partition size, the fill level, and faults of the chip, each
// compared with the whole healthy chip.
func b10Factors(s Scale, on Storage) []scenario.Factor {
	if s.On != b10NAND {
		return nil
	}
	const mib = 1 << 20
	amount := s.b10()
	full, filled := amount.published, amount.filled
	size := scenario.Factor{
		Name: b10Size, Axis: b10Size, Unit: "B", Value: float64(amount.whole * mib), Once: true,
		Reference: sizeName(amount.whole * mib),
	}
	if !full {
		size.Candidates = []string{b10Jffs2, b10Image, b10Summary, b10Ubifs}
		for _, brought := range []string{b10Yaffs2, b10Logfs} {
			if slices.Contains(s.Candidates, brought) {
				size.Candidates = append(size.Candidates, brought)
			}
		}
	}
	for _, n := range amount.sizes {
		size.Levels = append(size.Levels, scenario.Variant{
			Name: sizeName(n * mib), Size: n * mib, Value: float64(n * mib),
		})
	}
	fill := scenario.Factor{
		Name: "how full", Axis: b10Fullness, Unit: "1", Value: filled, Once: true,
		Reference: shareName(filled), Candidates: []string{b10Jffs2, b10Ubifs},
		Keys: []string{"mount", "unclean"},
	}
	until := "mount"
	if full {
		until = "mount-unclean"
	}
	if slices.Contains(amount.shares, b10Full75) {
		fill.Candidates = append(fill.Candidates, b10Image, b10Summary)
	}
	for _, share := range amount.shares {
		fill.Levels = append(fill.Levels, scenario.Variant{Name: shareName(share), Share: share, Value: share, Until: until})
	}
	return []scenario.Factor{size, fill, b10Faults(full)}
}

// b10FaultSize is the partition for faults of the medium: small, so that faults
// in a few places are hit; on the chip of the full scale larger, since UBI keeps
// 20 of each 1024 blocks of the chip for bad ones, whatever the partition's size,
// and ubifs would not fit. b10FaultShare of it is filled. Files are compared
// without reading them first, because the expected read error would end the
// trial.
const (
	b10FaultSize     = 8 << 20
	b10FaultSizeFull = 16 << 20
	b10FaultShare    = 0.35
)

// b10Faults are the ways in which a chip wears out or breaks. Places lie within
// the first 8 MiB: 64 erase blocks of 64 pages.
func b10Faults(full bool) scenario.Factor {
	size := b10FaultSize
	if full {
		size = b10FaultSizeFull
	}
	f := scenario.Factor{
		Name: "faults of the medium", Reference: "healthy", Medium: true, Once: true,
		Candidates: []string{b10Jffs2, b10Ubifs, b10MTDBlock, b10UBIBlock},
	}
	add := func(name, chip string) {
		f.Levels = append(f.Levels, scenario.Variant{
			Name: name, Size: int64(size), Share: b10FaultShare, Chip: chip, Without: []string{"files-read"}, Until: "compare",
		})
	}
	if full {
		add("no fault", "")
	}
	add("bad blocks", "bad=3:9:14:27")
	add("bit flips, corrected", "bitflips=1")
	add("bit flips, beyond ECC", "bitflips=4")
	add("pages that lose data", "grave="+b10Grave(size))
	if full {
		add("weak blocks", "weak=5/1:8/1:11/1:20/1")
		add("pages that fail to program", "weakpages=400/1:900/1:1300/1")
	}
	return f
}

// b10Grave are pages that lose their data after some reads, one in every block,
// because each filesystem begins at a different place.
func b10Grave(size int) string {
	const pagesInBlock, page, reads = 64, 20, 2
	var words []string
	for block := range size / (128 << 10) {
		words = append(words, mediumFault(block*pagesInBlock+page, reads))
	}
	return joinColons(words)
}

// b10Scenario on raw flash or on the card; a fitted scale says which.
func b10Scenario(image bool, s Scale) scenario.Scenario {
	switch {
	case s.On != b10NAND && s.On != "" && image:
		return nil
	case s.On == b10Worn:
		return b10Wearing(s.b10().rewrites)
	case s.On == b10MMC:
		return b10OnCard(s.b10())
	case image:
		return b10AsImage(s.b10().filled)
	}
	return b10InPlace(s.b10().filled)
}

// b10Cold unmounts and unloads everything and brings it up again, as at a boot.
// The phases are named after the preceding step; "" measures nothing.
func b10Cold(after string, measured bool) scenario.Scenario {
	phase := func(name string) string {
		if !measured {
			return ""
		}
		return name + after
	}
	return scenario.Scenario{
		{Work: "layer-load", Phase: phase("layer")},
		{Work: "attach", Phase: phase("attach"), Only: "ubi"},
		{Work: "module-load", Phase: phase("module-load")},
	}
}

// b10Fresh makes and mounts a filesystem on the empty chip.
func b10Fresh() scenario.Scenario {
	return scenario.Scenario{
		{Work: "discard"},
		{Work: "layer-load"},
		{Work: "layer-format", Phase: "format", Only: "ubi"},
		{Work: "attach", Phase: "first-attach", Only: "ubi"},
		{Work: "volume", Phase: "volume", Only: "ubi"},
		{Work: "rest", Phase: "rest-volume", Only: "ubi"},
		{Work: "module-load"},
		{Work: "mkfs", Phase: "mkfs"},
		{Work: "mount", Phase: "first-mount"},
	}
}

// b10InPlace is the scenario of filesystems that are written in place. All that the source measures
// happens on one that was cleanly mounted; the power is lost afterwards.
func b10InPlace(share float64) scenario.Scenario {
	return slices.Concat(b10Fresh(), scenario.Scenario{
		{Work: "rest", Phase: "rest-first-mount"},
		{Work: "space", Phase: "space-empty"},
		{Work: "fill-size", Phase: "fill", Data: b10Tree, Dir: "root", Share: share},
		{Work: "space", Phase: "space-filled"},
		{Work: "rest", Phase: "rest-fill"},
		{Work: "unmount", Phase: "settle-unmount"},
		{Work: "layer-down"},
	}, b10Cold("", true), scenario.Scenario{
		{Work: "mount", Phase: "mount"},
		{Work: "tree-read", Phase: "files-read", Data: b10Tree, Dir: "root"},
		{Work: "tree-compare", Phase: "compare", Data: b10Tree, Dir: "root"},
		{Work: "tree-remove", Phase: "files-remove", Dir: "root"},
		{Work: "rest", Phase: "rest-remove"},
		{Work: "fill-size", Phase: "files-write", Data: b10Tree, Dir: "again", Share: share},
		{Work: "stream-write", Phase: "video", Data: b10Video, Dir: "video", Count: 1},
		{Work: "rest", Phase: "rest-video"},
		{Work: "power-loss", Only: "chip"},
		{Work: "layer-load", Only: "chip"},
		{Work: "attach", Phase: "attach-unclean", Only: "chip,ubi"},
		{Work: "module-load", Only: "chip"},
		{Work: "mount", Phase: "mount-unclean", Only: "chip"},
		{Work: "tree-compare", Phase: "compare-unclean", Data: b10Tree, Dir: "again", Only: "chip"},
		{Work: "unmount", Phase: "unmount"},
	})
}

// b10AsImage is the scenario of filesystems that are written to the chip as an
// image.
func b10AsImage(share float64) scenario.Scenario {
	return slices.Concat(scenario.Scenario{
		{Work: "discard"},
		{Work: "image", Phase: "image", Data: b10Tree, Share: share},
		{Work: "layer-load"},
		{Work: "layer-format", Phase: "format", Only: "ubi"},
		{Work: "attach", Phase: "first-attach", Only: "ubi"},
		{Work: "volume", Phase: "volume", Only: "ubi"},
		{Work: "flash", Phase: "flashing"},
		{Work: "layer-down"},
	}, b10Cold("", true), scenario.Scenario{
		{Work: "layer-block", Phase: "block"},
		{Work: "mount", Phase: "mount"},
		{Work: "space", Phase: "space-filled"},
		{Work: "tree-read", Phase: "files-read", Data: b10Tree},
		{Work: "tree-compare", Phase: "compare", Data: b10Tree},
		{Work: "unmount", Phase: "unmount"},
	})
}

// b10Wearing is the scenario that wears the small chip.
func b10Wearing(rewrites int) scenario.Scenario {
	return slices.Concat(b10Fresh(), scenario.Scenario{
		{Work: "space", Phase: "space-empty"},
		{Work: "stream-write", Phase: "video", Data: b10Piece, Dir: "stays", Count: b10Stays},
		{Work: "space", Phase: "space-filled"},
		{Work: "rest", Phase: "rest-video"},
		{Work: "wear", Phase: "wear", Data: b10Piece, Dir: "again", Count: rewrites},
		{Work: "unmount", Phase: "settle-unmount"},
		{Work: "layer-down"},
	}, b10Cold("", true), scenario.Scenario{
		{Work: "mount", Phase: "mount"},
		{Work: "stream-read", Phase: "files-read", Data: b10Piece, Dir: "stays", Count: b10Stays},
		{Work: "tree-remove", Phase: "files-remove", Dir: "stays"},
		{Work: "unmount", Phase: "unmount"},
	})
}

// b10OnCard is the quick comparison of block filesystems.
func b10OnCard(amount b10Amount) scenario.Scenario {
	return scenario.Scenario{
		{Work: "discard"},
		{Work: "module-load", Phase: "module-load"},
		{Work: "mkfs", Phase: "mkfs"},
		{Work: "mount", Phase: "first-mount"},
		{Work: "space", Phase: "space-empty"},
		{Work: "tree-copy", Phase: "files-write", Data: amount.card, Dir: "root", Count: 1},
		{Work: "space", Phase: "space-filled"},
		{Work: "unmount"},
		{Work: "mount", Phase: "mount"},
		{Work: "tree-read", Phase: "files-read", Data: amount.card, Dir: "root", Count: 1},
		{Work: "remount"},
		{Work: "tree-remove", Phase: "files-remove", Dir: "root"},
		{Work: "stream-write", Phase: "video", Data: b10Clip, Dir: "video", Count: amount.clips},
		{Work: "unmount", Phase: "unmount"},
	}
}
