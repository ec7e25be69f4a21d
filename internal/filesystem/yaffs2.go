package filesystem

import (
	"fmt"
	"strings"

	"whichfs/internal/result"
)

// Yaffs2 is Aleph One's filesystem for NAND flash. Its driver is built separately from the kernel.
func Yaffs2() Filesystem {
	return Filesystem{
		Name: "yaffs2", Title: "YAFFS2", Module: "yaffs2", Raw: true, Ways: []Way{WayMTD},
		NotMainline: "it was never part of the mainline kernel",
		// The driver takes the block device of mtdblock, and uses the MTD device below it
		// (yaffs_vfs.c, get_mtd_device).
		Source:   func(mtd string) string { return "/dev/mtdblock" + strings.TrimPrefix(mtd, "mtd") },
		Codecs:   map[string][]string{"": {"mtdblock"}},
		Made:     "an erased chip is an empty filesystem",
		MinSize:  least(9 * 16 * kib), // 5 reserved blocks and 3 more, of the smallest size
		MaxSize:  most(16 * gib),
		NoCheck:  "YAFFS2 has no check program: its driver finds and repairs what it can when it mounts",
		NoRepair: "its driver repairs what it can when it mounts",
		Tune:     noTuning("An erased chip is an empty YAFFS2: there is no mkfs, and its driver asks the chip for its geometry."),
		Verify:   verifyYaffs2,
		// Page numbers have 20 bits; the limit is for pages of 2 KiB.
		Lacks:      func(Candidate) Lacks { return Lacks{MaxFile: 0xfffff * 2048} },
		Threads:    []string{"yaffs-bg-*"},
		Properties: yaffs2Properties,
		says:       says{Tags: []string{"yaffs"}},
		Facts: Facts{
			Year: 2002, Design: "log-structured", DatesUntil: "2106",
			MaxFile: "2 GiB", MaxSize: "16 GiB",
			Source: "yaffs.net; C. Manning, How YAFFS Works, 2012 (of 2 KiB pages; no driver of it was at hand to try)",
		},
	}
}

// yaffs2Shown are mount options by the line of /proc/yaffs that shows their effect, and the number
// in it.
var yaffs2Shown = map[string]struct{ line, value string }{
	"inband-tags": {"inband_tags", "1"}, "no-cache": {"n_caches", "0"},
	"tags-ecc-on": {"no_tags_ecc", "0"}, "tags-ecc-off": {"no_tags_ecc", "1"},
	"lazy-loading-on": {"disable_lazy_load", "0"}, "lazy-loading-off": {"disable_lazy_load", "1"},
	"empty-lost-and-found-on": {"empty_lost_n_found", "1"}, "empty-lost-and-found-off": {"empty_lost_n_found", "0"},
}

// verifyYaffs2: the driver shows none of its options where the kernel shows those of others, but
// most of them in a file of its own.
func verifyYaffs2(c Candidate, seen Evidence) []result.Option {
	out := verifyMake(c, syntax{}, nil, func(makeOption) finding { return unseen() })
	for i := range out {
		out[i].State, out[i].Evidence = result.Ignored, "there is no mkfs to accept it"
	}
	var lines string
	var err error
	for _, w := range c.Mount() {
		f := mountRules{}.judge(w, seen.Mount, nil)
		if shown, ok := yaffs2Shown[w]; ok && seen.File != nil {
			if lines == "" && err == nil {
				lines, err = seen.File("/proc/yaffs")
			}
			f = yaffs2Finding(lines, err, shown.line, shown.value)
		}
		out = append(out, result.Option{Text: "-o " + w, State: f.State, Evidence: f.Evidence})
	}
	return out
}

// yaffs2Finding searches for "inband_tags.......... 0". With more than one mounted YAFFS, lines
// cannot be attributed: devices are shown by the names of their chips, which may be equal.
func yaffs2Finding(text string, err error, name, want string) finding {
	switch n := strings.Count(text, "\nDevice "); {
	case err != nil:
		return found(result.Unverified, "cannot read /proc/yaffs: %v", err)
	case n != 1:
		return found(result.Unverified, "/proc/yaffs shows %d mounted filesystems, but not which one is this", n)
	}
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		if ok && strings.TrimRight(key, ".") == name {
			return compare(fmt.Sprintf("%s in /proc/yaffs:", name), want, strings.TrimSpace(value))
		}
	}
	return found(result.Unverified, "/proc/yaffs does not show %s", name)
}

func yaffs2Properties(Candidate) Properties {
	const docs = "C. Manning, How YAFFS Works, 2012"
	return Properties{
		PowerLoss:     has("writes each page to a new place, with a sequence number that identifies the newest", docs),
		Compression:   lacks(noCompress, docs),
		Encryption:    lacks(noFscrypt, docs),
		Checksums:     lacks("relies on the chip's ECC and keeps no checksums of its own", docs),
		MetaChecksums: lacks("relies on the chip's ECC and keeps only checksums of its tags", docs),
		Journal:       lacks("is a log itself, and writes nothing twice", docs),
		Dates:         Dates{2106, "its times are 32-bit unsigned seconds", "yaffs_guts.h, struct yaffs_obj_hdr"},
	}
}
