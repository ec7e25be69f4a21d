package study

import "whichfs/internal/probe"

// b23Claims are the findings of the talk, in our words, each with its slide.
func b23Claims() []Claim {
	var claims []Claim
	claims = append(claims, b23Orders()...)
	claims = append(claims, b23Raw()...)
	claims = append(claims, b23Options()...)
	claims = append(claims, b23Extremes()...)
	return append(claims, b23Sizes()...)
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
	return claims
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

// b23Raw has findings on the bare storage, which a probe checks. The margins
// are ours: a quarter more time is inefficient, a tenth is a gain.
func b23Raw() []Claim {
	raw := func(id, text, where string, k FindingCheck) Claim {
		return Claim{ID: id, Text: text, Where: where, Check: k, Follows: "its pages, segments and caches, which the probe finds again"}
	}
	return []Claim{
		raw("raw-small-writes", "writes in blocks below 4 KiB are inefficient (512 B take at least 1.25 times as long for the same data as 4 KiB)",
			"slide “Test writing with increasing block sizes”", FindingCheck{Key: probe.SmallCached, Low: 1.25}),
		raw("raw-large-writes", "sequential writes in blocks above 4 KiB gain nothing (10 % at most)",
			"slide “Test writing with increasing block sizes”", FindingCheck{Key: probe.LargeCached, High: 1.10}),
		raw("raw-segment-read", "reading is fastest in blocks of about the segment size (half to twice)",
			"slide “Lessons learned”", FindingCheck{Key: probe.BestReadBlock, Of: probe.SegmentSize, Low: 0.5, High: 2}),
		raw("raw-segment-size", "4 MiB is a safe assumption for the segment size of an SD card (it is no larger)",
			"slide “How to infer the segment size?”", FindingCheck{Key: probe.SegmentSize, High: 4 << 20}),
		raw("raw-fat-area", "no faster area for a file allocation table is found at the start of the card",
			"slide “Lessons learned”", FindingCheck{Key: probe.FATArea, Zero: true}),
		{ID: "raw-usb-rotational", Text: "USB storage is always reported as rotating", Where: "slide “How to know whether a device is Solid State or not?”",
			Check: Untested("the claim is about all USB storage; the kernel's report on one device is shown with the findings of its probe")},
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
	const (
		dup, ssd, compress = "slide “Btrfs vs Btrfs”", "slide “Btrfs ssd options”", "slide “Btrfs compression options”"
		f2fs, squash       = "slide “F2FS vs F2FS”", "slide “SquashFS vs SquashFS”"
		erofs              = "slide “EROFS vs EROFS (2)”"
	)
	on, off := b23Btrfs+" -o ssd", []string{b23Btrfs + " -o nossd"}
	var packed []string
	for _, a := range []string{"zlib", "lzo", "zstd"} {
		packed = append(packed, b23Btrfs+" -o compress="+a)
	}
	lzo := packed[1]
	f2 := b23F2FSCompressed()
	tuned := []string{"f2fs -o lazytime", "f2fs -o atgc,gc_merge"}
	return []Claim{
		ratio("btrfs-single-space", "Btrfs with single metadata takes about 3.5 % less space than with duplicated metadata (2 to 5 % counts as agreement)", dup, "space", b23Btrfs, []string{b23BtrfsDup}, 0.95, 0.98),
		ratio("btrfs-single-read", "Btrfs with single metadata reads faster than with duplicated metadata", dup, "read", b23Btrfs, []string{b23BtrfsDup}, 0, 1),
		ratio("btrfs-single-write", "Btrfs with single metadata writes faster than with duplicated metadata", dup, "write", b23Btrfs, []string{b23BtrfsDup}, 0, 1),
		ratio("btrfs-ssd-read", "the ssd option of Btrfs changes reading by less than 1 %", ssd, "read", on, off, 0.99, 1.01),
		ratio("btrfs-ssd-write", "the ssd option of Btrfs changes writing by less than 1 %", ssd, "write", on, off, 0.99, 1.01),
		ratio("btrfs-compress-read", "compression shortens Btrfs's reading, by at most 10 %", compress, "read", b23Btrfs, packed, 1, 1/0.9),
		ratio("btrfs-compress-write", "compression lengthens Btrfs's writing (by more than 10 %)", compress, "write", b23Btrfs, packed, 0, 1/1.1),
		best("btrfs-compress-lzo", "of Btrfs's compressors, lzo lengthens writing least", compress, "write", lzo, packed),
		ratio("f2fs-compress-read", "compression gains F2FS nothing sizeable in reading (10 % at most)", f2fs, "read", "f2fs", f2, 0, 1.10),
		ratio("f2fs-compress-write", "compression gains F2FS nothing sizeable in writing (10 % at most)", f2fs, "write", "f2fs", f2, 0, 1.10),
		ratio("f2fs-options-write", "lazytime and atgc,gc_merge do not help F2FS's writing (10 % at most)", f2fs, "write", "f2fs", tuned, 0, 1.10),
		ratio("f2fs-options-stream", "lazytime and atgc,gc_merge help F2FS's stream writing marginally at best (10 % at most)", f2fs, "seq-write", "f2fs", tuned, 0, 1.10),
		{ID: "squashfs-lzo", Text: "lzo is SquashFS's best compromise of image size and reading time (judged by their product)", Where: squash,
			Check: BestCheck{Column: "space", Times: "read", Candidate: b23SquashFS, Among: b23SquashFSes()}},
		best("erofs-read", "lz4hc at level 12 reads fastest of the EROFS variants", erofs, "read", b23EROFS, b23EROFSes()),
		{ID: "erofs-image-cost", Text: "of the EROFS variants, lz4hc at level 12 costs most time on the machine that makes the image", Where: erofs,
			Check: BestCheck{Column: "image", Candidate: b23EROFS, Among: []string{"erofs", "erofs -zlz4", "erofs -zlz4hc", b23EROFS}, Worst: true}},
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
	}
}

// b23Sizes has the smallest partition of each filesystem.
func b23Sizes() []Claim {
	const why = "this version does not search for the smallest storage that a filesystem can be made on"
	size := func(id, text, where string) Claim {
		return Claim{ID: "min-" + id, Text: text, Where: where, Check: Untested(why)}
	}
	return []Claim{
		size("ext4-journal", "ext4 with a journal needs at least 8 MiB", "slide “Ext4”"),
		size("ext4-no-journal", "ext4 without a journal needs at least 256 KiB and has 32 inodes then", "slide “Ext4”"),
		size("xfs", "XFS needs at least 16 MiB, of which 9.7 MiB are free", "slide on XFS"),
		size("btrfs", "Btrfs needs at least 109 MiB, of which 32 MiB are free", "slide on Btrfs"),
		size("f2fs", "F2FS needs at least 52 MiB, of which 8 MiB are free", "slide on F2FS"),
		size("nilfs2", "NILFS2 needs at least 129 MiB, of which 48 MiB are free", "slide on NILFS2"),
	}
}
