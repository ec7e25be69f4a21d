package filesystem

import (
	"fmt"
	"slices"
	"strings"

	"whichfs/internal/result"
)

// Yaffs2 is Aleph One's filesystem for NAND flash. Its driver is built separately from the kernel.
func Yaffs2() Filesystem {
	return Filesystem{
		Name: "yaffs2", Title: "YAFFS2", Module: "yaffs2", OtherModules: []string{"yaffs2multi"}, Raw: true, Ways: []Way{WayMTD},
		NotMainline: "it was never part of the mainline kernel", Kbuild: yaffs2Kbuild,
		// The driver takes the block device of mtdblock, and uses the MTD device below it
		// (yaffs_vfs.c, get_mtd_device).
		Source:   func(mtd string) string { return "/dev/mtdblock" + strings.TrimPrefix(mtd, "mtd") },
		Codecs:   map[string][]string{"": {"mtdblock"}},
		Made:     "an erased chip is an empty filesystem",
		MinSize:  least(yaffs2Blocks * 16 * kib), // of the smallest erase block
		Chip:     yaffs2Chip,
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
			Year: 2002, Design: "log-structured", DatesUntil: "292277026596",
			MaxFile: "2 GiB", MaxSize: "16 GiB",
			Source: "yaffs.net; C. Manning, How YAFFS Works, 2012 (of 2 KiB pages; tried as a module in the lab)",
		},
	}
}

// yaffs2Blocks is the least number of erase blocks: five in reserve, and more than three beside them
// (yaffs_guts.c, "Check geometry parameters").
const yaffs2Blocks = 9

// yaffs2Chip: without the option, the driver takes pages of 512 B for YAFFS1, and then has no place
// for its tags (yaffs_vfs_multi.c, "auto selecting yaffs1").
func yaffs2Chip(c Candidate, chip Chip) (reason, hint string) {
	switch {
	case chip.EraseBlock*yaffs2Blocks > chip.Size:
		return fmt.Sprintf("%s needs at least %d erase blocks, and this storage has %d", c, yaffs2Blocks, chip.Size/chip.EraseBlock),
			fmt.Sprintf("give storage of %s or more", amount(chip.EraseBlock*yaffs2Blocks))
	case chip.Page < 1024 && !slices.Contains(c.Mount(), "inband-tags"):
		return fmt.Sprintf("%s does not keep its tags beside pages of %d B", c, chip.Page),
			"with the option -o inband-tags it keeps them in the pages: 'yaffs2 -o inband-tags'"
	}
	return "", ""
}

// yaffs2Kbuild is for the source as Aleph One publishes it, with the directories core and linux: its
// makefile is for a directory that has moved. Of its two drivers the one for several kernels is
// maintained. It copies its tags across the fields of a structure, which the kernel would report
// (__NO_FORTIFY, include/linux/string.h). What Linux has changed until 5.19, it lacks as of June 2026.
func yaffs2Kbuild(read func(string) string) map[string]string {
	driver := read("linux/yaffs_vfs_multi.c")
	if driver == "" || read("core/yaffs_guts.c") == "" {
		return nil
	}
	files := map[string]string{"Kbuild": "obj-m := yaffs2.o\n" +
		"yaffs2-y := $(patsubst $(src)/%.c,%.o,$(sort $(wildcard $(src)/core/*.c $(src)/linux/yaffs_linux_attribs.c))) \\\n" +
		"\tlinux/yaffs_vfs_multi.o linux/yaffs_mtdif_multi.o\n" +
		"ccflags-y := -DYAFFS_OUT_OF_TREE -D__NO_FORTIFY -I$(src)/linux -I$(src)/core\n"}
	if !strings.Contains(driver, "read_folio") {
		files["since-5.19.h"] = yaffs2Since519
		files["Kbuild"] += "CFLAGS_linux/yaffs_vfs_multi.o := -include $(src)/since-5.19.h\n"
	}
	return files
}

// yaffs2Since519: address spaces read folios and mark them dirty, beginning to write has no flags,
// and a name of a block device is printed by the kernel alone. The macros with parameters change the
// definitions of functions, whose names elsewhere have no parenthesis after them.
const yaffs2Since519 = `#include <linux/version.h>
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 19, 0)
#include <linux/fs.h>
#include <linux/pagemap.h>
#include <linux/writeback.h>

#define readpage dirty_folio = filemap_dirty_folio, .read_folio
#define yaffs_readpage(a, b) yaffs_readpage_of(a, b); \
	static int yaffs_readpage(struct file *file, struct folio *folio) { return yaffs_readpage_of(file, &folio->page); } \
	static int yaffs_readpage_of(a, b)
#define yaffs_write_begin(a, b, c, d, flags, e, f) yaffs_write_begin(a, b, c, d, e, f)
#define grab_cache_page_write_begin(a, b, flags) grab_cache_page_write_begin(a, b)

#ifndef BDEVNAME_SIZE
#define BDEVNAME_SIZE 32
#define bdevname(bdev, text) (snprintf(text, BDEVNAME_SIZE, "%pg", bdev), (text))
#endif
#endif
`

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
		Dates:         Dates{farFuture, "its times are 64-bit seconds, of which older drivers read 32 bits", "yaffs_guts.c, yaffs_oh_time_load"},
	}
}
