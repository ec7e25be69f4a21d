package filesystem

import (
	"encoding/binary"
	"strings"

	"whichfs/internal/result"
)

// Erofs is the read-only filesystem made for fast reads.
func Erofs() Filesystem {
	return Filesystem{
		Name: "erofs", Title: "EROFS", Module: "erofs", ReadOnly: true,
		Asks: crc32c,
		Ways: []Way{WayMTDBlock, WayUBIBlock, WayUBIBlockFastmap, WayGluebi},
		Needs: []Tool{
			{Program: "mkfs.erofs", Package: "erofs-utils"},
			{Program: "fsck.erofs", Package: "erofs-utils", Optional: true},
		},
		MinSize: least(4 * kib),
		MaxSize: unbounded,
		// mkfs.erofs 1.5 silently cuts the last byte off a name of 255 (lib/inode.c,
		// erofs_d_alloc).
		Lacks: func(Candidate) Lacks { return Lacks{Name: func(name string) bool { return len(name) < 255 }} },
		Image: func(c Candidate, image, tree string) []string {
			return append(append([]string{"mkfs.erofs", "--quiet"}, c.Make()...), image, tree)
		},
		Doubts: erofsDoubts,
		Config: []string{"EROFS_FS_ZIP_LZMA", "EROFS_FS_ZIP_DEFLATE", "EROFS_FS_ZIP_ZSTD", "EROFS_FS_PCPU_KTHREAD"},
		// --extract without a path decodes every file and writes none; without it compressed data
		// are not read.
		Check:      func(device string) []string { return []string{"fsck.erofs", "--extract", device} },
		ReadCheck:  readErofsCheck,
		NoRepair:   "it is never written to: a damaged image is rewritten",
		Verify:     verifyErofs,
		Threads:    []string{"erofs_worker/*", "erofs_unzipd*", ubiThreads},
		Properties: erofsProperties,
		says:       says{Tags: []string{"erofs"}},
		syntax:     erofsSyntax,
		Facts: Facts{
			Year: 2019, Design: "read-only", Compression: "lz4, lz4hc", DatesUntil: "292277026596",
			MaxFile: "16 TiB", MaxSize: "16 TiB",
			Source: "whichfs lab (Linux 6.1, erofs-utils 1.5); year: M. Opdenacker, Finding the Best Block Filesystem, 2023; sizes (32-bit block numbers): Linux Documentation/filesystems/erofs",
		},
	}
}

// erofsDoubts: mkfs.erofs has lz4 always, and lzma (MicroLZMA), deflate and zstd if the libraries were
// there when it was built. Debian 12's has lz4 alone.
func erofsDoubts(c Candidate) string {
	value, _ := makeValue(c, erofsSyntax, "-z")
	method, _, _ := strings.Cut(value, ",")
	if method == "" || strings.HasPrefix(method, "lz4") {
		return ""
	}
	return "was built without " + method
}

// readErofsCheck: fsck.erofs returns 1 for damage and for a device that it cannot open, and 0 for a
// superblock with a wrong checksum.
func readErofsCheck(status int, output string) CheckResult {
	// It may be older than the mkfs.erofs that made the image, or built with fewer libraries: formats 2 and
	// 3 are deflate and zstd.
	if lacks := lineWith(output, "unknown compression format 2", "unknown compression format 3", "Operation not supported"); lacks != "" {
		return CheckResult{Broken: true, Reason: "fsck.erofs lacks the image's compression: " + lacks}
	}
	switch {
	case status == 0 && !strings.Contains(output, "<E>"):
		return CheckResult{Clean: true}
	case status >= 0 && status <= 1 && !cannotOpen(output):
		return dirty(status, output, "<E>")
	}
	return broken(status, output)
}

// erofsSyntax is mkfs.erofs(1), erofs-utils 1.5.
var erofsSyntax = syntax{
	Short: "C:E:L:T:U:d:x:z:",
	Long: map[string]bool{
		"all-root": false, "blobdev": true, "chunksize": true, "compress-hints": true, "exclude-path": true, "exclude-regex": true,
		"file-contexts": true, "force-uid": true, "force-gid": true, "help": false, "ignore-mtime": false, "max-extent-bytes": true,
		"preserve-mtime": false, "quiet": false, "random-pclusterblks": false, "random-algorithms": false, "aufs": false,
		"mount-point": true, "uid-offset": true, "gid-offset": true,
	},
	Lists: []string{"-E"},
}

// erofsMount: erofs_show_options of fs/erofs/super.c shows all of these, or their opposites.
var erofsMount = mountRules{
	Shown: []string{"user_xattr", "nouser_xattr", "acl", "noacl", "cache_strategy", "dax", "device", "fsid", "domain_id"},
}

// Bits of feature_incompat (Linux fs/erofs/erofs_fs.h). The kernel assigns one bit each to two
// pairs of features.
const (
	erofsZeroPadding  = 0x1
	erofsComprCfgs    = 0x2 // and big pclusters
	erofsChunked      = 0x4
	erofsZtailpacking = 0x10
	erofsFragments    = 0x20 // and dedupe
)

func verifyErofs(c Candidate, seen Evidence) []result.Option {
	s, err := readSuper(seen, 1024, 160, binary.LittleEndian, 0, "\xe2\xe1\xf5\xe0")
	out := verifyMake(c, erofsSyntax, err, func(o makeOption) finding { return erofsOption(s, o) })
	return append(out, verifyMount(c, seen, erofsMount)...)
}

func erofsOption(s super, o makeOption) finding {
	switch o.Flag {
	case "-z":
		return erofsCompression(s, o.Value)
	case "-C":
		// The configuration of lz4 follows the superblock: size of the rest, largest distance,
		// largest pcluster in blocks.
		if s.bits(80)&erofsComprCfgs != 0 && s.u16(84)&1 == 0 {
			return found(result.Unverified, "only the configuration of lz4 has the largest pcluster")
		}
		if s.bits(80)&erofsComprCfgs == 0 {
			return found(result.Ignored, "the superblock has no compression configuration, so pclusters have one block")
		}
		return compareSize("largest pcluster", o.Value, s.u16(132)<<min(s.u8(12), 20))
	case "-E":
		return erofsExtended(s, o.Value)
	case "--chunksize":
		return onOff("chunked files in the superblock", true, s.bits(80)&erofsChunked != 0)
	case "-L":
		return compare("label", o.Value, s.text(64, 16))
	case "-U":
		return compare("UUID", strings.ToLower(o.Value), s.uuid(48))
	case "-T":
		return compareSize("time in the superblock", o.Value, int64(s.u64(24))) //nolint:gosec // a time
	case "-d", "--quiet":
		return traceless()
	}
	return unseen()
}

// erofsCompression: an image shows which decompressor it needs, which is the same for lz4 and lz4hc
// at every level.
func erofsCompression(s super, value string) finding {
	name, level, hasLevel := strings.Cut(value, ",")
	features := s.bits(80)
	algorithms := "none"
	if features&erofsZeroPadding != 0 {
		algorithms = "lz4"
	}
	if features&erofsComprCfgs != 0 {
		algorithms = ""
		for bit, a := range []string{"lz4", "lzma", "deflate", "zstd"} {
			if s.u16(84)>>bit&1 == 1 {
				algorithms = strings.TrimPrefix(algorithms+" "+a, " ")
			}
		}
	}
	switch {
	case name == "lz4hc" && algorithms == "lz4":
		text := "the image holds lz4, which lz4hc also produces; it does not show the effort of the compressor"
		if hasLevel {
			text += " (level " + level + ")"
		}
		return found(result.Unverified, "%s", text)
	case name == algorithms && hasLevel:
		return found(result.Unverified, "the image holds %s; it does not show the level", algorithms)
	case algorithms == "none":
		return found(result.Ignored, "the superblock shows no compression")
	}
	return compare("compression in the superblock", name, algorithms)
}

// erofsExtended: mkfs.erofs 1.5 accepts any word after -E without complaint.
func erofsExtended(s super, word string) finding {
	incompat := s.bits(80)
	word, _, _ = strings.Cut(word, "=")
	switch word {
	case "ztailpacking", "^ztailpacking":
		return onOff("ztailpacking in the superblock", word[0] != '^', incompat&erofsZtailpacking != 0)
	case "fragments", "all-fragments", "dedupe":
		return onOff("fragments or dedupe (one bit) in the superblock", true, incompat&erofsFragments != 0)
	case "nosbcrc":
		return onOff("checksum of the superblock", false, s.bits(8)&1 != 0)
	case "legacy-compress", "legacy-compression":
		return onOff("padding of compressed blocks", false, incompat&erofsZeroPadding != 0)
	case "force-inode-blockmap", "force-chunk-indexes", "force-inode-compact", "force-inode-extended", "noinline_data", "inline_data":
		return found(result.Unverified, "it is a property of each inode, and whichfs reads only the superblock")
	}
	return found(result.Ignored, "mkfs.erofs accepts any word here; it has no option of this name")
}

func erofsProperties(c Candidate) Properties {
	const docs = "Linux Documentation/filesystems/erofs, mkfs.erofs(1)"
	p := Properties{
		PowerLoss:     has("is never written to", docs),
		Compression:   lacksUnless("-zlz4hc,12", "is made without compression", docs),
		Encryption:    lacks(noFscrypt, docs),
		Checksums:     lacks("keeps a checksum of its superblock only", docs),
		MetaChecksums: lacks("keeps a checksum of its superblock only", docs),
		Journal:       lacks("is never written to, so it needs no journal", docs),
		Dates:         Dates{farFuture, "its times are 64-bit seconds", labSource},
	}
	if method, ok := makeValue(c, erofsSyntax, "-z"); ok {
		p.Compression = has("compresses with "+method, docs)
	}
	return p
}
