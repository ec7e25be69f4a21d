package filesystem

import (
	"encoding/binary"
	"strings"

	"whichfs/internal/result"
)

// Squashfs is the compressed read-only filesystem of most images.
func Squashfs() Filesystem {
	return Filesystem{
		Name: "squashfs", Title: "SquashFS", Module: "squashfs", ReadOnly: true,
		Ways:    []Way{WayMTDBlock, WayUBIBlock, WayUBIBlockFastmap, WayGluebi},
		Needs:   []Tool{{Program: "mksquashfs", Package: "squashfs-tools"}},
		MinSize: least(4 * kib),
		MaxSize: unbounded,
		Lacks:   holdsAll,
		Image: func(c Candidate, image, tree string) []string {
			return append([]string{"mksquashfs", tree, image, "-noappend", "-no-progress"}, c.Make()...)
		},
		Optional: map[string]string{
			"threads": "Linux has it from 6.2 on, with CONFIG_SQUASHFS_CHOICE_DECOMP_BY_MOUNT or CONFIG_SQUASHFS_MOUNT_DECOMP_THREADS; Debian's kernels have neither",
		},
		Config: []string{
			"SQUASHFS_4K_DEVBLK_SIZE", "SQUASHFS_FILE_DIRECT", "SQUASHFS_DECOMP_SINGLE", "SQUASHFS_DECOMP_MULTI",
			"SQUASHFS_DECOMP_MULTI_PERCPU", "SQUASHFS_CHOICE_DECOMP_BY_MOUNT", "SQUASHFS_MOUNT_DECOMP_THREADS",
		},
		NoCheck:    "squashfs-tools has no check program",
		NoRepair:   "it is never written to: a damaged image is rewritten",
		Verify:     verifySquashfs,
		Threads:    []string{ubiThreads},
		Properties: squashfsProperties,
		says:       says{Tags: []string{"squashfs"}},
		syntax:     squashfsSyntax,
		Facts: Facts{
			Year: 2009, Design: "read-only", Compression: "gzip, lzo, xz, lz4, zstd", DatesUntil: "2106",
			MaxFile: "16 EiB", MaxSize: "16 EiB",
			Source: "whichfs lab (Linux 6.1, squashfs-tools 4.5.1); year (in Linux): M. Opdenacker, Finding the Best Block Filesystem, 2023; sizes: Linux Documentation/filesystems/squashfs",
		},
	}
}

// squashfsSyntax is mksquashfs(1), squashfs-tools 4.5.1: words with one dash.
var squashfsSyntax = syntax{
	OneDash: true,
	Long: map[string]bool{
		"comp": true, "b": true, "reproducible": false, "not-reproducible": false, "mkfs-time": true, "all-time": true,
		"no-exports": false, "exports": false, "no-sparse": false, "no-tailends": false, "tailends": false,
		"always-use-fragments": false, "no-fragments": false, "no-duplicates": false, "no-hardlinks": false,
		"no-xattrs": false, "xattrs": false, "noI": false, "noId": false, "noD": false, "noF": false, "noX": false,
		"noInodeCompression": false, "noIdTableCompression": false, "noDataCompression": false,
		"noFragmentCompression": false, "noXattrCompression": false, "no-compression": false, "root-mode": true,
		"root-uid": true, "root-gid": true, "all-root": false, "root-owned": false, "force-uid": true, "force-gid": true,
		"processors": true, "mem": true, "mem-percent": true, "quiet": false, "info": false, "nopad": false, "p": true, "pf": true,
		"sort": true, "ef": true, "wildcards": false, "regex": false, "offset": true, "one-file-system": false,
		"throttle": true, "limit": true, "keep-as-directory": false, "noappend": false, "no-progress": false, "percentage": false,
		"Xcompression-level": true, "Xwindow-size": true, "Xstrategy": true, "Xalgorithm": true, "Xbcj": true, "Xdict-size": true, "Xhc": false,
	},
}

var squashfsMount = mountRules{
	Default: map[string][]string{"errors=continue": {"errors="}},
	Shown:   []string{"errors", "threads"},
}

var squashfsCompressors = map[int64]string{1: "gzip", 2: "lzma", 3: "lzo", 4: "xz", 5: "lz4", 6: "zstd"}

// squashfsFlags are bits of the superblock's flags by mksquashfs's words
// (Linux fs/squashfs/squashfs_fs.h); off: the bit is clear then.
var squashfsFlags = map[string]struct {
	bit uint
	off bool
}{
	"-noI": {0, false}, "-noInodeCompression": {0, false}, "-noD": {1, false}, "-noDataCompression": {1, false},
	"-noF": {3, false}, "-noFragmentCompression": {3, false}, "-no-fragments": {4, false},
	"-tailends": {5, false}, "-always-use-fragments": {5, false}, "-no-duplicates": {6, true},
	"-exports": {7, false}, "-no-exports": {7, true}, "-noX": {8, false}, "-noXattrCompression": {8, false},
	"-no-xattrs": {9, false}, "-noId": {11, false}, "-noIdTableCompression": {11, false},
}

func verifySquashfs(c Candidate, seen Evidence) []result.Option {
	s, err := readSuper(seen, 0, 128, binary.LittleEndian, 0, "hsqs")
	out := verifyMake(c, squashfsSyntax, err, func(o makeOption) finding { return squashfsOption(s, o) })
	return append(out, verifyMount(c, seen, squashfsMount)...)
}

func squashfsOption(s super, o makeOption) finding {
	if f, ok := squashfsFlags[o.Flag]; ok {
		return onOff("flag "+strings.TrimLeft(o.Flag, "-")+" in the superblock", true, (s.u16(24)>>f.bit&1 == 1) != f.off)
	}
	switch o.Flag {
	case "-comp":
		return compare("compression in the superblock", o.Value, squashfsCompressors[s.u16(20)])
	case "-b":
		return compareSize("block size", o.Value, s.u32(12))
	case "-Xcompression-level", "-Xhc", "-Xdict-size", "-Xwindow-size":
		return squashfsCodec(s, o)
	case "-processors", "-mem", "-mem-percent", "-quiet", "-info", "-throttle", "-limit", "-noappend", "-no-progress", "-percentage", "-reproducible":
		return traceless()
	}
	return unseen()
}

// squashfsCodec reads the options that mksquashfs writes after the superblock when they differ from
// the compressor's defaults: a header of two bytes (length and the bit "not compressed"), then the
// compressor's own fields (squashfs-tools, *_wrapper.h).
func squashfsCodec(s super, o makeOption) finding {
	const at = 98
	comp := squashfsCompressors[s.u16(20)]
	if s.u16(24)>>10&1 == 0 {
		defaults := map[string]string{"gzip": "9", "lzo": "8", "zstd": "15"}
		if o.Flag == "-Xcompression-level" && o.Value == defaults[comp] {
			return found(result.InForce, "it is the default of %s, and the image records no other", comp)
		}
		return found(result.Ignored, "the image records no options for %s, so its defaults were used", comp)
	}
	switch comp + " " + o.Flag {
	case "gzip -Xcompression-level", "zstd -Xcompression-level":
		return compareSize(comp+" level", o.Value, s.u32(at))
	case "gzip -Xwindow-size":
		return compareSize("gzip window", o.Value, s.u16(at+4))
	case "lzo -Xcompression-level":
		return compareSize("lzo level", o.Value, s.u32(at+4))
	case "lz4 -Xhc":
		return onOff("lz4 high compression", true, s.u32(at+4)&1 == 1)
	case "xz -Xdict-size":
		return compareSize("xz dictionary", o.Value, s.u32(at))
	}
	return unseen()
}

// squashfsProperties: mksquashfs silently writes a later date as one that is 2^32 seconds earlier.
func squashfsProperties(c Candidate) Properties {
	const docs = "Linux Documentation/filesystems/squashfs, mksquashfs(1)"
	method, plain := "gzip", false
	for _, o := range squashfsSyntax.read(c.Make()) {
		switch o.Flag {
		case "-comp":
			method = o.Value
		case "-noD", "-noDataCompression", "-no-compression":
			plain = true
		}
	}
	p := Properties{
		PowerLoss:     has("is never written to", docs),
		Compression:   has("compresses with "+method, docs),
		Encryption:    lacks(noFscrypt, docs),
		Checksums:     lacks(noChecksums, docs),
		MetaChecksums: lacks(noChecksums, docs),
		Journal:       lacks("is never written to, so it needs no journal", docs),
		Dates:         Dates{2106, "its times are 32-bit unsigned seconds", labSource},
	}
	if plain {
		p.Compression = lacksUnless("-comp zstd", "is made without compression of data", docs)
	}
	return p
}
