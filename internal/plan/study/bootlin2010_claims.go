package study

// b10Claims are the findings of the talk, in our words, with their slides. The
// charts were published as pictures without figures, so orders and ratios are
// those of the text.
func b10Claims() []Claim {
	nand := func(id, text, where string, k Check) Claim {
		return Claim{ID: id, Text: text, Where: where, Storage: b10NAND, Check: k}
	}
	card := func(id, text, where string, k Check) Claim {
		return Claim{ID: id, Text: text, Where: where, Storage: b10MMC, Check: k}
	}
	const (
		jffs2, ubifs, squash = "slide “jffs2”", "slide “UBIFS”", "slide “SquashFS”"
		flash, block, remove = "slide “Flash filesystem conclusions”", "slide “block storage: conclusions”", "slide “MMC remove time”"
		future               = "slide “Call for change”"
	)
	none := func(why string) Check { return Untested(why) }
	return []Claim{
		nand("jffs2-summary", "the summary cuts jffs2's mount time about twentyfold, from 16 s to 0.8 s on 128 MB (10 to 40 times counts as agreement; how full that was is not published, and the emptier the chip, the less it cuts)", jffs2,
			RatioCheck{Column: "mount", A: b10Image, B: []string{b10Summary}, Low: 10, High: 40}),
		nand("jffs2-mount-grows", "jffs2's mount time grows with the partition (at least half as much as its size does)", jffs2,
			CurveCheck{Axis: "partition size", Column: "mount", Candidate: b10Image, Low: 4}),
		nand("ubifs-mount-constant", "ubifs' mount time hardly grows with the partition (at most twice from the smallest to the largest)", "slides “mount time benchmarks”, “UBIFS”",
			CurveCheck{Axis: "partition size", Column: "mount", Candidate: b10Ubifs, High: 2}),
		nand("ubifs-write", "ubifs writes faster than jffs2 on medium and large partitions", flash,
			RatioCheck{Column: "files-write", A: b10Ubifs, B: []string{b10Jffs2}, High: 1}),
		nand("ubifs-read", "ubifs reads faster than jffs2 on medium and large partitions", flash,
			RatioCheck{Column: "files-read", A: b10Ubifs, B: []string{b10Jffs2}, High: 1}),
		nand("ubifs-remove", "ubifs removes faster than jffs2 on medium and large partitions", flash,
			RatioCheck{Column: "files-remove", A: b10Ubifs, B: []string{b10Jffs2}, High: 1}),
		nand("ubifs-boot", "ubifs is ready faster than jffs2, initialisation and mount together, on medium and large partitions", flash,
			RatioCheck{Column: "ready", A: b10Ubifs, B: []string{b10Jffs2}, High: 1}),
		nand("jffs2-space", "jffs2 takes less space than ubifs", flash,
			RatioCheck{Column: "used", A: b10Jffs2, B: []string{b10Ubifs}, High: 1}),
		nand("ubi-overhead", "SquashFS on a block device of UBI costs much of its reading (at least a quarter more time than on mtdblock)", future,
			RatioCheck{Column: "files-read", A: b10UBIBlock, B: []string{b10MTDBlock}, Low: 1.25}),
		nand("yaffs2-write", "yaffs2 is the best choice for write performance", flash,
			BestCheck{Column: "files-write", Candidate: b10Yaffs2, Among: []string{b10Jffs2, b10Ubifs, b10Yaffs2}}),
		nand("yaffs2-boot", "yaffs2 boots fast", "slide “yaffs2”",
			BestCheck{Column: "ready", Candidate: b10Yaffs2, Among: []string{b10Jffs2, b10Ubifs, b10Yaffs2}}),
		nand("logfs-mount", "logfs mounts even faster than ubifs", "slide “LogFS”",
			RatioCheck{Column: "mount", A: b10Logfs, B: []string{b10Ubifs}, High: 1}),
		nand("logfs-memory", "logfs takes less memory than jffs2", "slide “LogFS”",
			RatioCheck{Column: "memory", A: b10Logfs, B: []string{b10Jffs2}, High: 1}),
		nand("logfs-crashes", "logfs is unusable: it crashes", flash,
			none("no kernel since 4.10 has logfs, and the claim is about that of 2.6.36")),
		nand("squashfs-bad-blocks", "SquashFS on mtdblock works as long as the chip has no bad blocks", squash,
			MediumCheck{Candidate: b10MTDBlock, Level: "bad blocks", Loses: true}),
		nand("ubi-bad-blocks", "UBI hides bad blocks from the filesystem above it", "slide “UBI (1)”",
			MediumCheck{Candidate: b10UBIBlock, Level: "bad blocks"}),

		card("mmc-ext4", "ext4 is the best compromise on a card (first of all in the product of its times to write and to remove)", block,
			BestCheck{Column: "files-write", Candidate: "ext4", Times: "files-remove"}),
		card("mmc-jfs-remove", "jfs removes most slowly (2872 s)", remove,
			BestCheck{Column: "files-remove", Candidate: "jfs", Worst: true}),
		card("mmc-xfs-remove", "xfs removes more slowly than all but jfs (239 s)", remove,
			BestCheck{Column: "files-remove", Candidate: "xfs", Worst: true, Among: []string{"ext3", "ext4", "btrfs", "xfs", "reiserfs", "nilfs2"}}),
		card("mmc-btrfs", "btrfs is faster than ext3 at writing the files", block,
			RatioCheck{Column: "files-write", A: "btrfs", B: []string{"ext3"}, High: 1}),
		card("mmc-xfs", "xfs disappoints: it writes the files more slowly than ext4", block,
			RatioCheck{Column: "files-write", A: "xfs", B: []string{"ext4"}, Low: 1}),
	}
}
