package filesystem

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"whichfs/internal/fault/picture"
	"whichfs/internal/fault/script"
	"whichfs/internal/result"
)

// F2fs is the log-structured filesystem made for flash storage.
func F2fs() Filesystem {
	return Filesystem{
		Name: "f2fs", Title: "F2FS", Module: "f2fs", Compressed: CompressedBlocks,
		// Its checksum, plain and with the instructions that some processors have.
		Codecs: map[string][]string{"": {"crc32_generic", "crc32_pclmul", "crc32_arm_ce"}},
		Needs: []Tool{
			{Program: "mkfs.f2fs", Package: "f2fs-tools"},
			{Program: "fsck.f2fs", Package: "f2fs-tools", Optional: true},
		},
		MinSize: f2fsMinSize,
		MaxSize: most(16 * tib),
		Lacks:   holdsAll,
		// With -q it does not even print errors.
		Make:       mkfs("mkfs.f2fs", "-f"),
		Check:      func(device string) []string { return []string{"fsck.f2fs", "--dry-run", device} },
		ReadCheck:  readF2fsCheck,
		Repair:     repairs([]string{"fsck.f2fs", "-f", "-y"}),
		ReadRepair: readF2fsRepair,
		Promises:   f2fsPromises,
		Tune:       tuneF2fs,
		Verify:     verifyF2fs,
		// f2fs_gc-254:0, f2fs_ckpt-254:0, f2fs_flush-254:, f2fs_discard-25.
		Own:        []string{"lost+found"}, // made by a repair
		Magics:     f2fsMagics,
		Threads:    []string{"f2fs_*"},
		Properties: f2fsProperties,
		says: says{ // fs/f2fs/recovery.c, super.c
			Tags:   []string{"f2fs-fs"},
			Replay: []string{"err = 0", "recover_inode", "checkpoint: version", "try to recover"},
			Errors: []string{"err = -", "wrong ", "run fsck"},
			Idle:   []string{"fix alignment"},
		},
		syntax: f2fsSyntax,
		Abilities: map[Ability]Means{
			GrowOffline: onDevice("resize.f2fs"),
			ShrinkOffline: steps(func(o Object) [][]string {
				return [][]string{{"resize.f2fs", "-s", "-t", strconv.FormatInt(o.Size/512, 10), o.Device}}
			}),
			// The driver takes whole blocks.
			Defragment: {Mounted: true, Steps: func(o Object) [][]string {
				return [][]string{{"f2fs_io", "defrag_file", "0", strconv.FormatInt(o.Size, 10), o.File}}
			}},
			Relabel: steps(func(o Object) [][]string { return [][]string{{"f2fslabel", o.Device, o.Label}} }),
			OfflineImage: steps(func(o Object) [][]string {
				return [][]string{slices.Concat([]string{"mkfs.f2fs", "-f"}, o.Options, []string{o.Image}), {"sload.f2fs", "-P", "-f", o.Tree, o.Image}}
			}),
		},
		Facts: Facts{
			Year: 2012, Design: "log-structured", Compression: "lzo, lzo-rle, lz4, zstd", Encryption: true, DatesUntil: "292277026596",
			MaxFile: "3.94 TiB", MaxSize: "16 TiB",
			Source: "whichfs lab (Linux 6.1, f2fs-tools 1.15); year and sizes: M. Opdenacker, Finding the Best Block Filesystem, 2023",
		},
	}
}

// f2fsSyntax is mkfs.f2fs(8), f2fs-tools 1.15.
var f2fsSyntax = syntax{Short: "qa:c:C:d:e:E:g:hil:mo:O:rR:s:S:z:t:T:U:Vfw:", Lists: []string{"-O"}}

// f2fsMinSize: 52 MiB with sections of one segment, as tried in the laboratory. Larger sections and
// zones need more, in no simple proportion: then the figure is a lower bound, and mkfs.f2fs
// decides.
func f2fsMinSize(c Candidate) int64 {
	segments, zones := int64(1), int64(1)
	if n := makeSize(c, f2fsSyntax, "-s"); n > 0 && n < 1<<16 {
		segments = n
	}
	if n := makeSize(c, f2fsSyntax, "-z"); n > 0 && n < 1<<16 {
		zones = n
	}
	return 52*mib + 15*mib*(segments*zones-1)
}

// readF2fsCheck: on damage fsck.f2fs of f2fs-tools 1.15 ends with status 4, 255 or 0, depending on
// where it fails; its output decides.
func readF2fsCheck(status int, output string) CheckResult {
	switch {
	case strings.Contains(output, "[Fail]") || strings.Contains(output, "[ASSERT]"):
		return dirty(status, output, "[Fail]", "[ASSERT]")
	case strings.Contains(output, "Can't find a valid F2FS superblock") || strings.Contains(output, "Magic Mismatch"):
		return dirty(status, output, "Can't find a valid", "Magic Mismatch")
	case status == 0 && strings.Contains(output, "other corrupted bugs") && strings.Contains(output, "Done"):
		return CheckResult{Clean: true}
	}
	return broken(status, output)
}

// readF2fsRepair: fsck.f2fs of f2fs-tools 1.15 ends with 0 or 1 if it finished, and with 255 if it
// gave up; its output shows the rest.
func readF2fsRepair(status int, output string) RepairResult {
	switch {
	case (status == 0 || status == 1) && strings.Contains(output, "Done") && (strings.Contains(output, "[ASSERT]") || strings.Contains(output, "[Fail]")):
		return mended(status, output, "[ASSERT]", "[Fail]")
	case status == 0 && strings.Contains(output, "Done"):
		return nothingToMend()
	case strings.Contains(output, "Magic Mismatch"), strings.Contains(output, "[ASSERT]"), strings.Contains(output, "Invalid"):
		return notMended(status, output, "[ASSERT]", "Can't find a valid", "Magic Mismatch", "Invalid")
	}
	return mendBroken(status, output)
}

// f2fsMount: show_options of fs/f2fs/super.c shows nearly everything, defaults
// included. compress_* words on a filesystem without the compression feature
// are accepted and dropped.
var f2fsMount = mountRules{
	Always: []string{"lazytime"},
	Default: map[string][]string{
		"barrier": {"nobarrier"}, "nogc_merge": {"gc_merge"}, "noatgc": {"atgc"},
	},
	Shown: []string{
		"background_gc", "gc_merge", "discard", "nodiscard", "no_heap", "heap", "user_xattr", "nouser_xattr",
		"inline_xattr", "noinline_xattr", "inline_xattr_size", "acl", "noacl", "active_logs", "disable_ext_identify",
		"inline_data", "noinline_data", "inline_dentry", "noinline_dentry", "flush_merge", "noflush_merge", "nobarrier",
		"fastboot", "extent_cache", "noextent_cache", "data_flush", "mode", "io_bits", "fault_injection", "alloc_mode",
		"fsync_mode", "checkpoint", "checkpoint_merge", "nocheckpoint_merge", "compress_algorithm", "compress_log_size",
		"compress_extension", "nocompress_extension", "compress_chksum", "compress_mode", "compress_cache", "atgc",
		"discard_unit", "memory", "whint_mode", "test_dummy_encryption", "usrquota", "grpquota", "prjquota",
	},
}

// f2fsFeatures are bits of the superblock by mkfs.f2fs's names (Linux
// fs/f2fs/f2fs.h).
var f2fsFeatures = map[string]uint32{
	"encrypt": 0x1, "extra_attr": 0x8, "project_quota": 0x10, "inode_checksum": 0x20, "flexible_inline_xattr": 0x40,
	"quota": 0x80, "inode_crtime": 0x100, "lost_found": 0x200, "verity": 0x400, "sb_checksum": 0x800,
	"casefold": 0x1000, "compression": 0x2000, "ro": 0x4000,
}

func verifyF2fs(c Candidate, seen Evidence) []result.Option {
	s, err := readSuper(seen, 1024, 3072, binary.LittleEndian, 0, "\x10\x20\xf5\xf2")
	out := verifyMake(c, f2fsSyntax, err, func(o makeOption) finding { return f2fsOption(s, o) })
	mount := verifyMount(c, seen, f2fsMount)
	if err == nil && s.bits(2180)&f2fsFeatures["compression"] == 0 {
		for i := range mount {
			if strings.HasPrefix(mount[i].Text, "-o compress_") && mount[i].State != result.InForce {
				mount[i].Evidence += "; the filesystem was made without -O extra_attr,compression"
			}
		}
	}
	return append(out, mount...)
}

func f2fsOption(s super, o makeOption) finding {
	switch o.Flag {
	case "-O":
		if bit, ok := f2fsFeatures[o.Value]; ok {
			return onOff("feature "+o.Value+" in the superblock", true, s.bits(2180)&bit != 0)
		}
	case "-s":
		return compareSize("segments in a section", o.Value, s.u32(24))
	case "-z":
		return compareSize("sections in a zone", o.Value, s.u32(28))
	case "-w":
		return compareSize("sector size", o.Value, int64(1)<<min(s.u32(8), 30))
	case "-l":
		return compare("label", o.Value, utf16Text(s.bytes(124, 1024)))
	case "-U":
		return compare("UUID", strings.ToLower(o.Value), s.uuid(108))
	case "-C":
		return onOff("feature casefold in the superblock", true, s.bits(2180)&f2fsFeatures["casefold"] != 0)
	case "-q", "-f", "-d", "-t", "-V":
		return traceless()
	}
	return unseen()
}

// utf16Text reads a name of 16-bit units, little-endian, up to the first zero.
func utf16Text(b []byte) string {
	var units []uint16
	for i := 0; i+1 < len(b); i += 2 {
		u := binary.LittleEndian.Uint16(b[i:])
		if u == 0 {
			break
		}
		units = append(units, u)
	}
	return string(utf16.Decode(units))
}

const f2fsDocs = "Linux Documentation/filesystems/f2fs"

// f2fsProperties: a file is compressed by default only if compress_extension names it, and that
// counts only on a filesystem made with the feature.
func f2fsProperties(c Candidate) Properties {
	on := func(feature string) bool { return featured(c, f2fsSyntax, "-O", feature, false) }
	method, extension, sync, checkpoint := "lz4", false, "", ""
	for _, o := range c.Mount() {
		switch key, value, _ := strings.Cut(o, "="); key {
		case "compress_algorithm":
			method = value
		case "compress_extension":
			extension = value != ""
		case "fsync_mode":
			sync = value
		case "checkpoint":
			checkpoint = value
		}
	}
	const with = "-O extra_attr,compression -o compress_algorithm=zstd,compress_extension=*"
	p := Properties{
		PowerLoss:     has("writes to new places and rolls back to its last checkpoint", f2fsDocs),
		Compression:   lacksUnless(with, "is made without the feature", f2fsDocs),
		Encryption:    lacksUnless("-O encrypt", "is made without the feature", "Linux Documentation/filesystems/fscrypt"),
		Checksums:     lacks("keeps no checksums of data", f2fsDocs),
		MetaChecksums: lacksUnless("-O extra_attr,inode_checksum,sb_checksum", "keeps checksums of its checkpoints only", "mkfs.f2fs(8)"),
		Journal:       lacks("writes a log instead of a journal", f2fsDocs),
		Dates:         Dates{farFuture, "its times are 64-bit seconds", labSource},
	}
	switch {
	case !switched(c, true, []string{"barrier"}, []string{"nobarrier"}), sync == "nobarrier":
		p.PowerLoss = lacks(noFlush, labSource)
	case strings.HasPrefix(checkpoint, "disable"):
		p.PowerLoss = lacks("writes no checkpoints (checkpoint=disable)", f2fsDocs)
	}
	switch {
	case on("compression") && extension:
		p.Compression = has("compresses with "+method, f2fsDocs)
	case on("compression"):
		p.Compression = lacksUnless(with, "compresses only files that are marked individually", f2fsDocs)
	}
	if on("encrypt") {
		p.Encryption = has("can encrypt directories", "Linux Documentation/filesystems/fscrypt")
	}
	if on("inode_checksum") {
		p.MetaChecksums = has("keeps checksums of its inodes", "mkfs.f2fs(8)")
	}
	return p
}

// f2fsSegment is fixed by the format.
const f2fsSegment = 2 * mib

// tuneF2fs: a section is the unit of cleaning. Zones only matter for a device with several planes
// visible to the host, so each has one section.
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

// f2fsPromises: a synced file is found by its own inode block, which holds its name and its parent
// (Lee et al., F2FS, FAST 2015, roll-forward recovery). fsync_mode=posix, the default, promises
// what POSIX does; strict "behaves in line with xfs, ext4 and btrfs"
// (Documentation/filesystems/f2fs.rst).
func f2fsPromises(Candidate) script.Promises {
	return script.Promises{
		NewName: true, AtomicReplace: true,
		Source: "Linux Documentation/filesystems/f2fs (fsync_mode=); Lee et al., F2FS: A New File System for Flash Storage, FAST 2015",
	}
}

var f2fsMagics = []picture.Magic{
	{At: 1024, Bytes: "\x10\x20\xf5\xf2", Name: "f2fs superblock"},
	{At: 4096 + 1024, Bytes: "\x10\x20\xf5\xf2", Name: "f2fs superblock"},
}
