package study

import (
	"slices"

	"whichfs/internal/plan/scenario"
	"whichfs/internal/probe"
	"whichfs/internal/result"
)

// Names of candidates that represent the published rows and appear in claims.
const (
	b23Btrfs     = "btrfs -m single"
	b23BtrfsDup  = "btrfs -m dup"
	b23Spread    = b23Btrfs + " -o ssd_spread"
	b23NoJournal = "ext4 -O ^has_journal"
	b23F2FSMake  = "f2fs -O compression,extra_attr -o compress_algorithm="
	b23F2FSAll   = ",compress_extension=*"
	b23SquashFS  = "squashfs -comp lzo"
	b23EROFS     = "erofs -zlz4hc,12"
	b23Cleaner   = "nilfs2 -o cleanerd=on"
	b23Cleaning  = b23Cleaner + ",protection_period=0,min_clean_segments=0"
	b23ReadWrite = "read-write"
	b23ReadOnly  = "read-only"
	b23Tree      = "tree"
	b23Root      = "root"
)

// b23Amount is the amount of work at a scale.
type b23Amount struct {
	read   string // the tree that is read, and of which there are images
	copies int    // of the tree and of the stream
	// cleaning is how long a program beside the filesystem has to clean up, in s: nilfs_cleanerd
	// reclaims two segments of 8 MiB every 5 s, of twice as many bytes as the copies have.
	cleaning int
	// caches is how much of the guest's memory is left for them, in B; 0: as much as there is.
	caches int64
}

var b23Small = b23Amount{read: b23Tree, copies: 2, cleaning: 90}

// b23Memory is that of the BeagleBone Black.
const b23Memory = 512 << 20

// b23Caches is what a tree of 319 MB in a file system in memory leaves of it, beside some 30 MiB for the
// kernel and programs. A guest has more memory, since it holds all data sets at once.
const b23Caches = 160 << 20

// Bootlin2023 compares the block filesystems of Linux 6.3 on an SD card in a
// BeagleBone Black, for the boot and the work of an embedded system.
func Bootlin2023() Study {
	return Study{
		Name:       "bootlin-2023",
		Title:      "Finding the best block filesystem",
		Work:       "a device's root filesystem: boot, read, write, delete, room",
		Source:     "Michael Opdenacker (Bootlin), Finding the Best Block Filesystem, Embedded Open Source Summit, Prague, June 2023",
		Board:      "bbb",
		Processors: 1,
		Scales: map[string]Scale{
			"quick": {
				Candidates: b23Quick(),
				Rounds:     3,
				Amount:     b23Small,
				Data:       []DataSet{{Name: b23Tree, Set: "debian-armhf-part"}, {Name: "stream", Stream: 12 << 20}},
				RAM:        "ram:512M",
				StepLimit:  120,
			},
			// The quick work with every candidate that a claim is about.
			"claims": {
				Candidates: b23Claimed(),
				Rounds:     3,
				Amount:     b23Small,
				Data:       []DataSet{{Name: b23Tree, Set: "debian-armhf-part"}, {Name: "stream", Stream: 12 << 20}},
				RAM:        "ram:512M",
				StepLimit:  120,
				Memory:     b23Memory,
			},
			"full": {
				Candidates: b23Full(),
				Rounds:     3,
				Amount:     b23Amount{read: b23Root, copies: 5, cleaning: 1200, caches: b23Caches},
				// The talk reads and measures the space of a root filesystem of 1.2 GB, and copies one
				// of 319 MB.
				Data:      []DataSet{{Name: b23Tree, Set: "debian-armhf"}, {Name: b23Root, Set: "debian-armhf-large", Same: true}, {Name: "stream", Stream: 317 << 20}},
				RAM:       "ram:8G",
				StepLimit: 3600,
				Memory:    b23Memory,
			},
		},
		// The full one holds twice the data: nilfs2 frees deleted space only when its
		// cleaner runs, so everything written has to fit.
		Storages: []Storage{{Key: "sd", Label: "SD card", Specs: map[string]string{"quick": "sim:sd-basic,1G", "claims": "sim:sd-basic,1G", "full": "sim:sd-basic,8G"}}},
		Scenario: b23Scenario,
		Columns:  b23Columns(),
		Tables:   []Table{b23Observations()},
		Claims:   b23Claims(),
		Cards:    []probe.Report{b23Kingston()},
	}
}

// b23Quick holds every row of the published table and the two most requested
// variants.
func b23Quick() []string {
	return []string{
		"ext4", "ext2", "xfs", b23Btrfs, b23BtrfsDup, b23Btrfs + " -o compress=lzo",
		"f2fs", "nilfs2", b23SquashFS, b23EROFS,
	}
}

// b23Full holds the claimed, the rare, and the filesystems that the talk left out.
func b23Full() []string {
	return append(append(b23Claimed(), b23Rare()...), "ext4 -J device=memory", "ext3", "jfs", "reiserfs", "vfat", "exfat", "erofs -zlz4")
}

// b23Claimed holds every candidate that a claim is about.
func b23Claimed() []string {
	list := append([]string{"ext4", b23NoJournal}, b23Usages()...)
	list = append(list, "ext2", "xfs", "btrfs", b23Btrfs, b23BtrfsDup, b23Spread)
	for _, o := range []string{"ssd", "nossd"} {
		list = append(list, b23Btrfs+" -o "+o)
	}
	list = append(list, b23BtrfsCompressed()...)
	list = append(list, "f2fs")
	list = append(list, b23F2FSCompressed()...)
	list = append(list, "f2fs -o lazytime", "f2fs -o atgc,gc_merge", "nilfs2", b23Cleaner, b23Cleaning)
	list = append(list, b23SquashFSes()...)
	return append(list, b23EROFSes()...)
}

// b23Rare are variants that need more than Debian 12's kernel and tools, which say what is missing:
// the decompressor threads that the talk did not try, and what EROFS compresses with besides lz4.
func b23Rare() []string {
	var list []string
	for _, threads := range []string{"single", "percpu", "2"} {
		list = append(list, b23SquashFS+" -o threads="+threads)
	}
	return append(list, "erofs -zlzma", "erofs -zlzma -C65536", "erofs -zdeflate", "erofs -zzstd")
}

// b23Usages are the usage types of /etc/mke2fs.conf: those of the slide, and those that it leaves out.
// largefile and largefile4 have few inodes, which a tree of small files uses up.
func b23Usages() []string {
	var list []string
	for _, t := range []string{"small", "floppy", "news", "big", "huge", "hurd", "largefile", "largefile4"} {
		list = append(list, "ext4 -T "+t)
	}
	return list
}

func b23BtrfsCompressed() []string {
	var list []string
	for _, a := range []string{"zlib", "lzo", "zstd"} {
		list = append(list, b23Btrfs+" -o compress="+a)
	}
	return list
}

func b23F2FSCompressed() []string {
	var list []string
	for _, a := range []string{"lzo", "lz4", "zstd", "lzo-rle"} {
		list = append(list, b23F2FSMake+a+b23F2FSAll)
	}
	return list
}

func b23SquashFSes() []string {
	var list []string
	for _, a := range []string{"gzip", "lzo", "xz", "lz4", "zstd"} {
		list = append(list, "squashfs -comp "+a)
	}
	return list
}

func b23EROFSes() []string {
	return []string{"erofs", "erofs -zlz4hc", b23EROFS, b23EROFS + " -C65536"}
}

// b23Scenario follows the published order of work, with two deliberate
// differences from the published scripts: every byte is really read (the
// published command, which reads none, is a phase beside it), and a copy inside
// the filesystem moves data (cloning is a separate phase).
func b23Scenario(readOnly bool, s Scale) scenario.Scenario {
	amount := s.Amount.(b23Amount)
	read, n := amount.read, amount.copies
	if readOnly {
		return b23Bounded(amount.caches, scenario.Scenario{
			{Work: "discard"},
			{Work: "module-load", Phase: "module-load"},
			{Work: "image", Phase: "image", Data: read},
			{Work: "flash", Phase: "flash"},
			{Work: "hold-memory", Size: amount.caches},
			{Work: "mount", Phase: "mount"},
			{Work: "space", Phase: "space-filled"},
			{Work: "tree-read", Phase: "read", Data: read},
			{Work: "remount"},
			{Work: "tar-null", Phase: "listed", Data: read},
			{Work: "unmount", Phase: "unmount"},
			{Work: "release-memory"},
			{Work: "check", Phase: "check"},
		})
	}
	return b23Bounded(amount.caches, scenario.Scenario{
		{Work: "discard"},
		{Work: "module-load", Phase: "module-load"},
		{Work: "hold-memory", Size: amount.caches},
		{Work: "mkfs", Phase: "mkfs"},
		{Work: "mount", Phase: "first-mount"},
		{Work: "space", Phase: "space-empty"},
		{Work: "tree-copy", Phase: "fill", Data: read, Dir: "root", Count: 1},
		{Work: "space", Phase: "space-filled"},
		{Work: "unmount", Phase: "settle-unmount"},
		// The mount of a boot: filled, cleanly unmounted, caches cold.
		{Work: "mount", Phase: "mount"},
		{Work: "tree-read", Phase: "read", Data: read, Dir: "root"},
		{Work: "remount"},
		{Work: "tar-null", Phase: "listed", Data: read, Dir: "root"},
		// With 160 MiB, XFS's changed inodes of a root filesystem and of its clone leave a guest no memory. The talk
		// clones nothing.
		{Work: "release-memory"},
		{Work: "tree-clone", Phase: "clone", Data: read, Dir: "root", Only: "reflink"},
		{Work: "hold-memory", Size: amount.caches},
		{Work: "tree-remove", Phase: "clean-up", Dir: "root"},
		{Work: "tree-copy", Phase: "write", Data: b23Tree, Dir: "copies", Count: n},
		{Work: "tree-rotate", Phase: "read-write", Data: b23Tree, Dir: "copies", Count: n},
		{Work: "space", Phase: "space-copies"},
		{Work: "tree-remove", Phase: "remove", Dir: "copies"},
		{Work: "space", Phase: "space-removed"},
		{Work: "settle", Count: amount.cleaning, Only: "daemon"},
		{Work: "space", Phase: "space-cleaned", Only: "daemon"},
		// The talk's new test, on a new filesystem.
		{Work: "unmount"},
		{Work: "mkfs"},
		{Work: "mount"},
		{Work: "stream-write", Phase: "seq-write", Data: "stream", Dir: "streams", Count: n},
		{Work: "remount"},
		{Work: "stream-read", Phase: "seq-read", Data: "stream", Dir: "streams", Count: n},
		{Work: "compression", Phase: "stream-compression", Data: "stream", Dir: "streams"},
		{Work: "unmount", Phase: "unmount"},
		{Work: "release-memory"},
		{Work: "check", Phase: "check"},
		// Facts that claims are about; the work above has ended.
		{Work: "mount"},
		{Work: "dates", Phase: "dates"},
		{Work: "unmount"},
		{Work: "smallest", Phase: "smallest"},
	})
}

// b23Bounded leaves out what bounds caches if they have no bound.
func b23Bounded(caches int64, s scenario.Scenario) scenario.Scenario {
	if caches > 0 {
		return s
	}
	return slices.DeleteFunc(s, func(step scenario.Step) bool { return step.Work == "hold-memory" || step.Work == "release-memory" })
}

func b23Columns() []Column {
	both, rw := []string{b23ReadWrite, b23ReadOnly}, []string{b23ReadWrite}
	fact := func(name, key, unit, phase, metric, about string) Column {
		return Column{Name: name, Key: key, Unit: unit, Extra: true, Level: true, Terms: []Term{{phase, metric}}, About: about}
	}
	wall := func(phases ...string) []Term {
		var terms []Term
		for _, p := range phases {
			terms = append(terms, Term{p, result.Wall})
		}
		return terms
	}
	return []Column{
		{Name: "Boot time", Key: "boot", Unit: "s", Uses: both, Terms: wall("module-load", "mount"),
			About: "loading the kernel module with its dependencies, and mounting the filled filesystem with cold caches"},
		{Name: "Mount time", Key: "mount", Unit: "s", Terms: wall("mount"),
			About: "mounting the filled filesystem with cold caches; contained in the boot time, so not counted again"},
		{Name: "Read", Key: "read", Unit: "s", Uses: both, Terms: wall("read"),
			About: "every byte of every file of the tree, from cold caches"},
		{Name: "Seq. read", Key: "seq-read", Unit: "s", Uses: rw, Terms: wall("seq-read"),
			About: "the incompressible files, after unmounting and mounting"},
		{Name: "Write", Key: "write", Unit: "s", Uses: rw, Terms: wall("write"),
			About: "copies of the tree from memory, until the filesystem reports that they are on storage"},
		{Name: "Seq. write", Key: "seq-write", Unit: "s", Uses: rw, Terms: wall("seq-write"),
			About: "incompressible files from memory, until they are on storage"},
		{Name: "Read-write-delete", Key: "read-write", Unit: "s", Uses: rw, Terms: wall("read-write"),
			About: "alternately remove the oldest copy of the tree and copy the oldest remaining one within the filesystem"},
		{Name: "Delete", Key: "delete", Unit: "s", Uses: rw, Terms: wall("remove"),
			About: "remove all copies of the tree, until the removal is on storage"},
		{Name: "Space", Key: "space", Unit: "B", Uses: both, Terms: []Term{{"space-filled", result.SpaceUsed}},
			About: "used space with one copy of the tree, by the filesystem's own figures, including its own structures if it counts them; for a read-only filesystem the size of its image"},

		{Name: "Module size", Key: "module-size", Unit: "B", Extra: true, Terms: []Term{{"module-load", result.ModuleSize}},
			About: "module file and its dependencies, as stored"},
		{Name: "Module load", Key: "module-load", Unit: "s", Extra: true, Terms: wall("module-load"),
			About: "loading the kernel module with its dependencies"},
		{Name: "Make", Key: "mkfs", Unit: "s", Extra: true, Terms: wall("mkfs"), About: "making the empty filesystem"},
		{Name: "First mount", Key: "first-mount", Unit: "s", Extra: true, Terms: wall("first-mount"),
			About: "mounting the new filesystem"},
		{Name: "Fill", Key: "fill", Unit: "s", Extra: true, Terms: wall("fill"), About: "the first copy of the tree onto the empty filesystem"},
		{Name: "Listed", Key: "listed", Unit: "s", Extra: true, Terms: wall("listed"),
			About: "the published command of the reading test, tar cf /dev/null, from cold caches: GNU tar opens no file then, and the time is that of listing them"},
		{Name: "Clone", Key: "clone", Unit: "s", Extra: true, Terms: wall("clone"), About: "cloning the tree, where files can share blocks"},
		{Name: "Unmount", Key: "unmount", Unit: "s", Extra: true, Terms: wall("unmount"), About: "the last unmount of the scenario"},
		{Name: "Check", Key: "check", Unit: "s", Extra: true, Terms: wall("check"), About: "a check without repair after a clean unmount"},
		{Name: "Image", Key: "image", Unit: "s", Extra: true, Terms: wall("image"),
			About: "making the image of a read-only filesystem in memory"},
		{Name: "Flash", Key: "flash", Unit: "s", Extra: true, Terms: wall("flash"),
			About: "writing that image to the storage"},

		fact("Smallest storage", SmallestKey, "B", "smallest", result.Smallest,
			"the smallest storage on which it can be made, mounted and written to, in memory and with these mkfs options, to 4 KiB"),
		fact("Free on it", SmallestFreeKey, "B", "smallest", result.SpaceAvailable, "free space that users get on that storage"),
		fact("Inodes on it", SmallestInodesKey, "1", "smallest", result.Inodes, "inodes of the filesystem on that storage; 0 where they are made as needed"),
		fact("Block", "block", "B", "space-empty", result.SpaceBlock, "the block in which the filesystem counts its space"),
		fact("Dates from", "dates-from", "1", "dates", result.DatesFrom, "the first year of file times"),
		fact("Dates until", "dates-until", "1", "dates", result.DatesUntil, "the last year of file times"),
		fact("Used by the copies", "copies", "B", "space-copies", result.SpaceUsed, "used space with all copies of the tree"),
		fact("Used after deleting", "removed", "B", "space-removed", result.SpaceUsed, "used space right after all copies were removed"),
		fact("Used after cleaning", "cleaned", "B", "space-cleaned", result.SpaceUsed,
			"used space after the program that cleans up beside the filesystem, if one does, had time to"),
		fact("Data of the tree", "data", "B", "fill", result.DataBytes, "bytes in the files of one copy of the tree"),
		fact("Saved by compression", "saved", "B", "space-filled", result.SpaceSaved,
			"space that compression saves of one copy of the tree, where the used space does not show it"),
		fact("Stream, compressed to", "stream-ratio", "1", "stream-compression", result.CompressRatio, "bytes on storage over bytes of the incompressible files"),
	}
}

// b23Observations is the slide "Our observations", cell by cell.
func b23Observations() Table {
	return Table{
		Name:   "Our observations",
		Source: "Finding the Best Block Filesystem, slide “Our observations” (Linux 6.3, BeagleBone Black, SD card)",
		// On the slide, excellent appears along with best in only one column, for a
		// filesystem that is not the best there.
		Scale:   []string{"worst", "bad", "fair", "average", "good", "very good", "excellent", "best"},
		Columns: []string{"boot", "mount", "read", "seq-read", "write", "seq-write", "read-write", "delete", "space"},
		Rows: []Row{
			{"ext4", "ext4", []string{"very good", "very good", "fair", "good", "best", "very good", "good", "good", "good"}},
			{"xfs", "xfs", []string{"bad", "average", "fair", "good", "very good", "best", "average", "fair", "fair"}},
			{"btrfs", b23Btrfs, []string{"worst", "good", "fair", "good", "good", "good", "fair", "worst", "good"}},
			{"f2fs", "f2fs", []string{"fair", "average", "good", "good", "fair", "very good", "very good", "average", "worst"}},
			{"nilfs2", "nilfs2", []string{"bad", "worst", "fair", "worst", "worst", "worst", "best", "best", "fair"}},
			{"squashfs", b23SquashFS, []string{"excellent", "best", "very good", "", "", "", "", "", "best"}},
			{"erofs", b23EROFS, []string{"best", "best", "best", "", "", "", "", "", "very good"}},
		},
	}
}
