package study

import (
	"slices"

	"whichfs/internal/probe"
)

// b23Claims are the findings of the talk, in our words, each with its slide.
func b23Claims() []Claim {
	return slices.Concat(b23Orders(), b23Raw(), b23Options(), b23Extremes(), b23Advice(), b23Sizes(), b23Facts())
}

// b23Orders has each column of the observations table as an order.
func b23Orders() []Claim {
	var claims []Claim
	for _, c := range b23Columns() {
		if c.Extra {
			continue
		}
		claims = append(claims, Claim{
			ID: "order-" + c.Key, Where: "slide “Our observations”",
			Text:  "the order of the filesystems by " + b23Phrase[c.Key],
			Check: OrderCheck{Column: c.Key},
		})
	}
	return append(claims, Claim{
		ID: "order-read-listed", Where: "slide “Our observations”; its command is on slide “Reading time”",
		Text:  "the order of the filesystems by time to read the tree, measured with the published command, which lists the files and reads none",
		Check: OrderCheck{Column: "read", By: "listed"},
	})
}

var b23Phrase = map[string]string{
	"boot":       "boot time",
	"mount":      "mount time",
	"read":       "time to read the tree",
	"seq-read":   "time to read the stream",
	"write":      "time to write the tree",
	"seq-write":  "time to write the stream",
	"read-write": "time to remove, read and write in turns",
	"delete":     "time to delete",
	"space":      "space used",
}

// atClaims is a claim about candidates that only the claims scale and the full one have.
func atClaims(c Claim) Claim {
	c.At = "claims"
	return c
}

// b23Raw has findings on the bare storage, which a probe checks. The margins
// are ours: a quarter more time is inefficient, a tenth is a gain, and speeds
// within 5 % of the best are among the best.
func b23Raw() []Claim {
	raw := func(id, text, where string, k Check) Claim {
		return Claim{ID: id, Text: text, Where: where, Check: k, Follows: "its pages, segments and caches, which the probe finds again"}
	}
	const sizes, lessons = "slide “Test writing with increasing block sizes”", "slide “Lessons learned”"
	segment := func(than Blocks, low float64) Check {
		return SweepCheck{Curve: "sweep-read", Of: probe.SegmentSize, Than: than, Low: low}
	}
	return []Claim{
		raw("raw-small-writes", "writes in blocks below 4 KiB are inefficient (512 B take at least 1.25 times as long for the same data as 4 KiB)",
			sizes, FindingCheck{Key: probe.SmallCached, Low: 1.25}),
		raw("raw-large-writes", "sequential writes in blocks above 4 KiB gain nothing (10 % at most)",
			sizes, FindingCheck{Key: probe.LargeCached, High: 1.10}),
		raw("raw-dd-limit", "flashing with dd gains nothing from blocks above 1 MiB (1 MiB is at most 10 % slower than the best of them)",
			lessons, SweepCheck{Curve: "sweep-cached", Block: 1 << 20, Than: LargerBlocks, Low: 1 / 1.10}),
		raw("raw-page-size", "the page size of an SD card is usually 4 KiB",
			lessons, FindingCheck{Key: probe.PageSize, Low: 4 << 10, High: 4 << 10}),
		raw("raw-segment-read", "the segment size is one of the best block sizes for reading (within 5 % of the fastest)", lessons, segment(AllBlocks, 0.95)),
		raw("raw-segment-read-larger", "blocks larger than the segment degrade reading (the segment size is more than 5 % faster than the best of them)",
			lessons, segment(LargerBlocks, 1.05)),
		raw("raw-segment-read-smaller", "blocks smaller than the segment degrade reading (the segment size is more than 5 % faster than the best of them)",
			lessons, segment(SmallerBlocks, 1.05)),
		raw("raw-segment-size", "4 MiB is a safe assumption for the segment size of an SD card (it is no larger)",
			"slide “How to infer the segment size?”", FindingCheck{Key: probe.SegmentSize, High: 4 << 20}),
		raw("raw-fat-area", "no faster area for a file allocation table is found at the start of the card",
			lessons, FindingCheck{Key: probe.FATArea, Zero: true}),
		raw("raw-usb-rotational", "USB storage is always reported as rotating", "slide “How to know whether a device is Solid State or not?”",
			Untested("the claim is about all USB storage; the kernel's report on one device is shown with the findings of its probe")),
	}
}

// b23Options has the effects of options of one filesystem.
func b23Options() []Claim {
	ratio := func(id, text, where, column, a string, b []string, low, high float64) Claim {
		return Claim{ID: id, Text: text, Where: where, Check: RatioCheck{Column: column, A: a, B: b, Low: low, High: high}}
	}
	best := func(id, text, where, column, candidate string, among []string) Claim {
		return Claim{ID: id, Text: text, Where: where, Check: BestCheck{Column: column, Candidate: candidate, Among: among}}
	}
	// gains says that each of b gains at most a tenth over a in every column.
	gains := func(a string, b []string, columns ...string) Check {
		var all EveryCheck
		for _, column := range columns {
			all = append(all, RatioCheck{Column: column, A: a, B: b, High: 1.10})
		}
		return all
	}
	const (
		dup, ssd, compress = "slide “Btrfs vs Btrfs”", "slide “Btrfs ssd options”", "slide “Btrfs compression options”"
		f2fs, squash       = "slide “F2FS vs F2FS”", "slide “SquashFS vs SquashFS”"
		erofs              = "slide “EROFS vs EROFS (2)”"
	)
	on, off := b23Btrfs+" -o ssd", []string{b23Btrfs + " -o nossd"}
	packed := b23BtrfsCompressed()
	zlib, lzo := packed[0], packed[1]
	f2 := b23F2FSCompressed()
	tuned := []string{"f2fs -o lazytime", "f2fs -o atgc,gc_merge"}
	return []Claim{
		atClaims(Claim{ID: "ext4-options", Text: "no option of mkfs.ext4 helps on solid-state storage (usage types with inodes for the tree gain 10 % at most, whatever the work)", Where: "slide “Ext4 vs... Ext4”",
			Check: gains("ext4", b23Usages()[:6], "boot", "read", "seq-read", "write", "seq-write", "read-write", "delete")}),
		atClaims(ratio("btrfs-default-dup", "mkfs.btrfs duplicates metadata by default (its smallest storage is that of -m dup)", dup, SmallestKey, "btrfs", []string{b23BtrfsDup}, 0.99, 1.01)),
		ratio("btrfs-single-space", "Btrfs with single metadata takes about 3.5 % less space than with duplicated metadata (2 to 5 % counts as agreement)", dup, "space", b23Btrfs, []string{b23BtrfsDup}, 0.95, 0.98),
		ratio("btrfs-single-read", "Btrfs with single metadata reads faster than with duplicated metadata", dup, "read", b23Btrfs, []string{b23BtrfsDup}, 0, 1),
		ratio("btrfs-single-write", "Btrfs with single metadata writes faster than with duplicated metadata", dup, "write", b23Btrfs, []string{b23BtrfsDup}, 0, 1),
		atClaims(ratio("btrfs-ssd-read", "the ssd option of Btrfs speeds reading up by less than 1 %", ssd, "read", on, off, 0.99, 1.01)),
		atClaims(ratio("btrfs-ssd-write", "the ssd option of Btrfs speeds writing up by less than 1 %", ssd, "write", on, off, 0.99, 1.01)),
		atClaims(Claim{ID: "btrfs-ssd-spread", Text: "with ssd_spread, Btrfs reports that no space is left although there is plenty", Where: ssd,
			Check: FailureCheck{Candidate: b23Spread, Reason: "no space left"}}),
		atClaims(ratio("btrfs-compress-read", "compression shortens Btrfs's reading, by at most 10 %", compress, "read", b23Btrfs, packed, 1, 1/0.9)),
		atClaims(ratio("btrfs-compress-write", "compression lengthens Btrfs's writing (by more than 10 %)", compress, "write", b23Btrfs, packed, 0, 1/1.1)),
		atClaims(best("btrfs-compress-lzo", "of Btrfs's compressors, lzo lengthens writing least", compress, "write", lzo, packed)),
		atClaims(best("btrfs-compress-zlib", "of Btrfs's compressors, zlib compresses most", compress, "space", zlib, packed)),
		atClaims(ratio("btrfs-incompressible", "Btrfs gives up on files that cannot be compressed (it stores the stream as it is, to 1 %)", compress, "stream-ratio", b23Btrfs, packed, 0.99, 1.01)),
		atClaims(ratio("f2fs-compress-read", "compression gains F2FS nothing sizeable in reading (10 % at most)", f2fs, "read", "f2fs", f2, 0, 1.10)),
		atClaims(ratio("f2fs-compress-write", "compression gains F2FS nothing sizeable in writing (10 % at most)", f2fs, "write", "f2fs", f2, 0, 1.10)),
		atClaims(Claim{ID: "f2fs-compress-ratio", Text: "F2FS's compression can be useful (it saves at least a twentieth of the tree)", Where: f2fs,
			Check: ColumnsCheck{Column: "saved", Over: "data", Low: 0.05, Candidates: f2}}),
		atClaims(Claim{ID: "f2fs-options", Text: "lazytime and atgc,gc_merge do not help F2FS's performance, the stream's writing apart (10 % at most, whatever the work)", Where: f2fs,
			Check: gains("f2fs", tuned, "boot", "read", "seq-read", "write", "read-write", "delete")}),
		atClaims(ratio("f2fs-options-stream", "lazytime and atgc,gc_merge help F2FS's stream writing marginally at best (10 % at most)", f2fs, "seq-write", "f2fs", tuned, 0, 1.10)),
		atClaims(Claim{ID: "squashfs-lzo", Text: "lzo is SquashFS's best compromise of image size and reading time (judged by their product)", Where: squash,
			Check: BestCheck{Column: "space", Times: "read", Candidate: b23SquashFS, Among: b23SquashFSes()}}),
		atClaims(best("erofs-read", "lz4hc at level 12 reads fastest of the EROFS variants", erofs, "read", b23EROFS, b23EROFSes())),
		atClaims(ratio("erofs-image-cost", "making an image with lz4hc at level 12 costs the machine that makes it more time (than without compression, and than with lz4hc at its default level)", erofs,
			"image", b23EROFS, []string{"erofs", "erofs -zlz4hc"}, 1, 0)),
		atClaims(Claim{ID: "compression-no-gain", Text: "compression does not help with performance (Btrfs and F2FS gain at most 10 % in reading and in writing)", Where: "slide “What to remember”",
			Check: append(gains(b23Btrfs, packed, "read", "write").(EveryCheck), gains("f2fs", f2, "read", "write").(EveryCheck)...)}),
	}
}

// b23Extremes has the first and the last of the compared filesystems.
func b23Extremes() []Claim {
	const table = "slide “Our observations”"
	best := func(id, text, where, column, candidate string) Claim {
		return Claim{ID: id, Text: text, Where: where, Check: BestCheck{Column: column, Candidate: candidate}}
	}
	worst := func(id, text, where, column, candidate string) Claim {
		return Claim{ID: id, Text: text, Where: where, Check: BestCheck{Column: column, Candidate: candidate, Worst: true}}
	}
	return []Claim{
		best("erofs-fastest", "EROFS reads fastest of all", "slides “Reading time”, “What to remember”", "read", b23EROFS),
		best("squashfs-smallest", "SquashFS takes the least space", "slides “Used space”, “What to remember”", "space", b23SquashFS),
		best("erofs-boot", "EROFS takes the least time of a boot", table, "boot", b23EROFS),
		best("ext4-write", "ext4 writes the tree fastest", table, "write", "ext4"),
		best("xfs-stream", "XFS writes the stream fastest", table, "seq-write", "xfs"),
		best("nilfs2-delete", "NILFS2 deletes fastest", table, "delete", "nilfs2"),
		best("nilfs2-read-write", "NILFS2 is fastest at removing, reading and writing in turns", table, "read-write", "nilfs2"),
		worst("nilfs2-stream-write", "NILFS2 is slowest at writing the stream", table, "seq-write", "nilfs2"),
		worst("nilfs2-stream-read", "NILFS2 is slowest at reading the stream", table, "seq-read", "nilfs2"),
		worst("nilfs2-write", "NILFS2 is slowest at writing the tree", table, "write", "nilfs2"),
		worst("nilfs2-mount", "NILFS2 mounts most slowly", table, "mount", "nilfs2"),
		worst("btrfs-boot", "Btrfs takes the most time of a boot", table, "boot", b23Btrfs),
		worst("btrfs-delete", "Btrfs deletes most slowly", table, "delete", b23Btrfs),
		worst("f2fs-space", "F2FS takes the most space", table, "space", "f2fs"),
		{ID: "squashfs-read", Text: "SquashFS keeps very good read performance (second at least)", Where: "slide “What to remember”",
			Check: PlaceCheck{Keys: []string{"read"}, Candidate: b23SquashFS, Among: b23Rows(false), From: 1, To: 2}},
	}
}

// b23Rows are the candidates of the observations table, or those of its rows
// that can be written.
func b23Rows(writable bool) []string {
	var rows []string
	for _, r := range b23Observations().Rows {
		if r.Candidate != b23SquashFS && r.Candidate != b23EROFS || !writable {
			rows = append(rows, r.Candidate)
		}
	}
	return rows
}

// b23Advice is what the talk recommends on the whole.
func b23Advice() []Claim {
	const remember = "slide “What to remember”"
	all := []string{"boot", "mount", "read", "seq-read", "write", "seq-write", "read-write", "delete", "space"}
	timed := []string{"boot", "read", "seq-read", "write", "seq-write", "read-write", "delete", "space"} // mounting is part of the boot
	var every EveryCheck
	for _, key := range all {
		every = append(every, PlaceCheck{Keys: []string{key}, Candidate: "ext4", Among: b23Rows(true), From: 1, To: 3, Shared: true})
	}
	return []Claim{
		{ID: "ext4-all-aspects", Text: "ext4 is a very good default for reading and writing in all aspects (in every column, one of the first three of the five that can be written)", Where: remember, Check: every},
		{ID: "f2fs-second", Text: "F2FS is the second best choice of the filesystems that can be written (over all columns together)", Where: remember,
			Check: PlaceCheck{Keys: timed, Candidate: "f2fs", Among: b23Rows(true), From: 2, To: 2}},
		{ID: "nilfs2-small-files", Text: "NILFS2 is best at handling many small files (it writes the tree fastest of those that can be written)", Where: "slide “NILFS”",
			Check:        BestCheck{Column: "write", Candidate: "nilfs2", Among: b23Rows(true)},
			Contradicted: "the observations table calls NILFS2 the worst at writing the tree"},
		{ID: "nilfs2-keeps", Text: "NILFS2 keeps the blocks of deleted files until its cleaner runs (right after deleting, at least 0.95 of the space is still used)", Where: "slide “NILFS”",
			Check: ColumnsCheck{Column: "removed", Over: "copies", Low: 0.95, Candidates: []string{"nilfs2"}}},
		atClaims(Claim{ID: "nilfs2-cleaner", Text: "a configured cleaner avoids that NILFS2 fills up with deleted files (once it had time, at most half of the space is still used)", Where: "slide “NILFS”",
			Check: ColumnsCheck{Column: "cleaned", Over: "copies", High: 0.5, Candidates: []string{b23Cleaning}}}),
	}
}

// b23Sizes has the smallest partition of each filesystem.
func b23Sizes() []Claim {
	const mib = 1 << 20
	size := func(id, text, where string, k SmallestCheck) Claim {
		return Claim{ID: "min-" + id, Text: text, Where: where, Check: k}
	}
	return []Claim{
		size("ext4-journal", "ext4 with a journal needs at least 8 MiB", "slide “Ext4”", SmallestCheck{Candidate: "ext4", Size: 8 * mib}),
		atClaims(size("ext4-no-journal", "ext4 without a journal needs at least 256 KiB and has 32 inodes then", "slide “Ext4”",
			SmallestCheck{Candidate: b23NoJournal, Size: 256 << 10, Inodes: 32})),
		size("xfs", "XFS needs at least 16 MiB, of which 9.7 MiB are free", "slide on XFS", SmallestCheck{Candidate: "xfs", Size: 16 * mib, Free: 9.7 * mib}),
		size("btrfs", "Btrfs needs at least 109 MiB, of which 32 MiB are free", "slide on Btrfs", SmallestCheck{Candidate: b23BtrfsDup, Size: 109 * mib, Free: 32 * mib}),
		size("f2fs", "F2FS needs at least 52 MiB, of which 8 MiB are free", "slide on F2FS", SmallestCheck{Candidate: "f2fs", Size: 52 * mib, Free: 8 * mib}),
		size("nilfs2", "NILFS2 needs at least 129 MiB, of which 48 MiB are free", "slide on NILFS2", SmallestCheck{Candidate: "nilfs2", Size: 129 * mib, Free: 48 * mib}),
	}
}

// b23Facts has what mkfs and the kernel make of the filesystems.
func b23Facts() []Claim {
	var claims []Claim
	for _, x := range []struct{ id, candidate, title, where string }{
		{"ext4", "ext4", "ext4", "slide “Ext4 vs... Ext4”"},
		{"xfs", "xfs", "XFS", "slide “XFS vs XFS”"},
		{"btrfs", b23BtrfsDup, "Btrfs", "slide “Btrfs vs Btrfs”"},
		{"nilfs2", "nilfs2", "NILFS2", "slide “nilfs2 vs nilfs2”"},
	} {
		claims = append(claims, Claim{ID: "block-" + x.id, Text: "by default, " + x.title + " has blocks of 4 KiB", Where: x.where,
			Check: ValueCheck{Column: "block", Candidate: x.candidate, Low: 4 << 10, High: 4 << 10}})
	}
	years := func(candidate string, until float64) Check {
		return EveryCheck{
			ValueCheck{Column: "dates-from", Candidate: candidate, Low: 1901, High: 1901},
			ValueCheck{Column: "dates-until", Candidate: candidate, Low: until, High: until},
		}
	}
	return append(claims,
		Claim{ID: "dates-ext2", Text: "ext2 dates files from 1901 to 2038", Where: "slide on ext2", Check: years("ext2", 2038)},
		Claim{ID: "dates-ext4", Text: "ext4 dates files from 1901 to 2446", Where: "slide “Ext4”", Check: years("ext4", 2446)})
}
