package study

import "slices"

// b10Claims are the findings of the talk, in our words, with their slides. The
// charts were published as pictures without figures, so orders and ratios are
// those of the text.
func b10Claims() []Claim {
	claims := append(b10Jffs2AndUbifs(), b10Yaffs2AndLogfs()...)
	claims = append(claims, b10Layer()...)
	return append(claims, b10Card()...)
}

// Slides of the talk.
const (
	b10OnJffs2  = "slide “jffs2”"
	b10OnYaffs2 = "slide “yaffs2”"
	b10OnUbifs  = "slide “UBIFS”"
	b10OnLogfs  = "slide “LogFS”"
	b10OnFlash  = "slide “Flash filesystem conclusions”"
)

// Partitions as the talk names them, in bytes. It calls 4 and 8 MB "very small"
// and measured up to 128 MB; medium from 32 MiB on is our reading.
const (
	b10Medium = 32 << 20
	b10Small  = 16 << 20
)

func onNAND(id, text, where string, k Check) Claim {
	return Claim{ID: id, Text: text, Where: where, Storage: b10NAND, Check: k}
}

func b10Jffs2AndUbifs() []Claim {
	// faster: ubifs takes less time than jffs2 from medium sizes on.
	faster := func(column string) Check {
		return LevelsCheck{Axis: b10Size, Column: column, A: b10Ubifs, B: b10Jffs2, From: b10Medium, High: 1}
	}
	summary := onNAND("jffs2-summary", "the summary cuts jffs2's mount time about twentyfold on 128 MB, from 16 s to 0.8 s (10 to 40 times on a chip of at least that size, three quarters full, counts as agreement)", b10OnJffs2,
		LevelsCheck{Axis: b10Fullness, Column: "mount", A: b10Image, B: b10Summary, From: b10Full75, Low: 10, High: 40})
	summary.At = "claims"
	compressed := onNAND("jffs2-compression", "jffs2's compression saves space (at least a tenth of the files' without it)", b10OnJffs2,
		RatioCheck{Column: "used", A: b10Jffs2, B: []string{b10Jffs2Plain}, High: 0.9})
	compressed.At = "claims"
	return []Claim{
		summary,
		onNAND("jffs2-mount-grows", "jffs2's mount time depends on the size of the filesystem, all of which it scans (it grows at least half as much as the partition)", b10OnJffs2,
			CurveCheck{Axis: b10Size, Column: "mount", Candidate: b10Image, Low: 0.5, OfAxis: true}),
		compressed,
		onNAND("jffs2-power-loss", "jffs2 is reliable when the power goes down", b10OnJffs2, b10Power(b10Jffs2)),
		b10Levels("jffs2-wear", "jffs2", b10Jffs2Plain, b10OnJffs2),
		onNAND("jffs2-space", "jffs2 takes less space than ubifs on small partitions (up to 16 MiB)", b10OnFlash,
			LevelsCheck{Axis: b10Size, Column: "used", A: b10Jffs2, B: b10Ubifs, To: b10Small, High: 1}),
		onNAND("ubifs-write", "ubifs writes faster than jffs2 on medium and large partitions (32 MiB and more)", b10OnFlash, faster("files-write")),
		onNAND("ubifs-read", "ubifs reads faster than jffs2 on medium and large partitions (32 MiB and more)", b10OnFlash, faster("files-read")),
		onNAND("ubifs-remove", "ubifs removes faster than jffs2 on medium and large partitions (32 MiB and more)", b10OnFlash, faster("files-remove")),
		onNAND("ubifs-boot", "ubifs is ready faster than jffs2, initialisation and mount together, on medium and large partitions (32 MiB and more)", b10OnFlash, faster("ready")),
		onNAND("ubifs-overhead", "ubifs has a noticeable overhead of metadata on partitions of 4 and 8 MB (of 8 MiB, it leaves at most 0.9 of the share for files that it leaves of the whole chip)", b10OnUbifs,
			CurveCheck{Axis: b10Size, Column: "total", Candidate: b10Ubifs, Low: 1 / 0.9, OfAxis: true}),
	}
}

// b10Power says that a filesystem keeps its files through a power loss.
func b10Power(candidate string) Check {
	return PowerCheck{Candidate: candidate, Mount: "mount-unclean", Compare: "compare-unclean"}
}

// b10Levels says that something levels the wear. Without that, the half of the
// chip that is rewritten bears all erases, twice the mean, and the other half
// none.
func b10Levels(id, who, candidate, where string) Claim {
	return Claim{
		ID: id, Storage: b10Worn, Where: where, At: "claims",
		Text: who + " levels the wear of the chip (of a chip of which half is rewritten and half stays as it is, it erases no block more than 1.75 times as often as the mean, and leaves at most 3 of 64 as they are; without, it would be twice, and half of them)",
		Check: EveryCheck{
			ValueCheck{Column: "wear-spread", Candidate: candidate, High: 1.75},
			ValueCheck{Column: "wear-untouched", Candidate: candidate, High: 3},
		},
	}
}

// b10Yaffs2AndLogfs: no kernel has the two, but a module can be given.
func b10Yaffs2AndLogfs() []Claim {
	small := func(column string, low, high float64) Check {
		return LevelsCheck{Axis: b10Size, Column: column, A: b10Yaffs2, B: b10Jffs2, To: b10Small, Low: low, High: high}
	}
	claims := []Claim{
		onNAND("yaffs2-write", "yaffs2 is the best choice for write performance", b10OnFlash,
			BestCheck{Column: "files-write", Candidate: b10Yaffs2, Among: []string{b10Jffs2, b10Ubifs, b10Yaffs2}}),
		onNAND("yaffs2-boot", "yaffs2 boots fast (in less time than jffs2, the standard)", b10OnYaffs2,
			RatioCheck{Column: "ready", A: b10Yaffs2, B: []string{b10Jffs2}, High: 1}),
		onNAND("yaffs2-small", "on small partitions (up to 16 MiB) yaffs2 reads, writes and boots faster than jffs2, and takes more space", b10OnFlash,
			EveryCheck{small("files-read", 0, 1), small("files-write", 0, 1), small("ready", 0, 1), small("used", 1, 0)}),
		onNAND("yaffs2-power-loss", "yaffs2 withstands power failures", b10OnYaffs2, b10Power(b10Yaffs2)),
		b10Levels("yaffs2-wear", "yaffs2", b10Yaffs2, b10OnYaffs2),
		onNAND("logfs-mount", "logfs mounts even faster than ubifs", b10OnLogfs,
			RatioCheck{Column: "mount", A: b10Logfs, B: []string{b10Ubifs}, High: 1}),
		onNAND("logfs-mount-constant", "logfs mounts in constant time, whatever the partition (25 % more at most from the smallest to the largest)", b10OnLogfs,
			CurveCheck{Axis: b10Size, Column: "mount", Candidate: b10Logfs, High: 1.25}),
		onNAND("logfs-memory", "logfs takes less memory than jffs2", b10OnLogfs,
			RatioCheck{Column: "memory", A: b10Logfs, B: []string{b10Jffs2}, High: 1}),
		onNAND("logfs-crashes", "logfs is unusable: it crashes", b10OnFlash,
			Untested("no kernel since 4.10 has logfs, and the claim is about that of 2.6.36")),
	}
	for i := range claims {
		if _, untested := claims[i].Check.(Untested); !untested {
			claims[i].At = "claims"
		}
	}
	return claims
}

// b10Layer has the layers between a filesystem and the chip.
func b10Layer() []Claim {
	const ubi = "slide “UBI (1)”"
	overhead := onNAND("ubi-overhead", "SquashFS on top of UBI, by way of mtdblock, has too much overhead (the talk does not say of what; reading the files takes at least 1.5 times as long as through a block device of UBI, which it asks for and Linux has had since 3.15)", "slide “Call for change”",
		RatioCheck{Column: "files-read", A: b10Gluebi, B: []string{b10UBIBlock}, Low: 1.5})
	overhead.At = "claims"
	return []Claim{
		overhead,
		onNAND("squashfs-bad-blocks", "SquashFS on mtdblock works as long as the chip has no bad blocks", "slide “SquashFS”",
			MediumCheck{Candidate: b10MTDBlock, Level: "bad blocks", Loses: true}),
		onNAND("ubi-bad-blocks", "UBI manages the erase blocks, so that bad ones do no harm to the filesystem above it", ubi,
			MediumCheck{Candidate: b10UBIBlock, Level: "bad blocks"}),
		b10Levels("ubi-wear", "UBI", b10Ubifs, ubi),
	}
}

// b10Card has the block filesystems. What their pictures show in words of praise
// or blame is judged by the place among the seven, over all that was timed.
func b10Card() []Claim {
	const block, remove = "slide “block storage: conclusions”", "slide “MMC remove time”"
	card := func(id, text, where string, k Check) Claim {
		return Claim{ID: id, Text: text, Where: where, Storage: b10MMC, Check: k}
	}
	overall := func(candidate string, from, to int) Check {
		return PlaceCheck{Keys: []string{"files-write", "files-read", "files-remove", "video"}, Candidate: candidate, Among: b10Block(), From: from, To: to}
	}
	without := func(names ...string) []string {
		return slices.DeleteFunc(b10Block(), func(n string) bool { return slices.Contains(names, n) })
	}
	return []Claim{
		card("mmc-ext4", "ext4 is great: a compromise of maturity and performance (its performance: one of the first three of the seven, over all times together)", block,
			overall("ext4", 1, 3)),
		card("mmc-btrfs", "btrfs rocks (one of the first three of the seven, over all times together)", block, overall("btrfs", 1, 3)),
		card("mmc-xfs", "xfs is very disappointing (one of the last three of the seven, over all times together)", block, overall("xfs", 5, 7)),
		card("mmc-jfs-remove", "jfs removes far more slowly than any other (2872 s, twelve times as long as xfs, which is called slow as well; three times as long counts as agreement)", remove,
			RatioCheck{Column: "files-remove", A: "jfs", B: without("jfs"), Low: 3}),
		card("mmc-xfs-remove", "xfs removes slowly (239 s): more slowly than all but jfs", remove,
			BestCheck{Column: "files-remove", Candidate: "xfs", Worst: true, Among: without("jfs")}),
	}
}
