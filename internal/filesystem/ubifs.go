package filesystem

import (
	"encoding/binary"
	"strings"

	"whichfs/internal/result"
)

// Ubifs is the log-structured filesystem in volumes of UBI, which wears the
// chip's blocks evenly and replaces bad ones.
func Ubifs() Filesystem {
	return Filesystem{
		Name: "ubifs", Title: "UBIFS", Module: "ubifs",
		Ways: []Way{WayUBI, WayFastmap}, Raw: true,
		// Its init function requests all its compressors, not only the one in use. On Debian's
		// amd64 kernel only zstd is a module.
		Asks: []string{"lzo", "deflate", "zstd"},
		Needs: []Tool{
			{Program: "mkfs.ubifs", Package: "mtd-utils"},
			{Program: "ubiformat", Package: "mtd-utils"},
		},
		MinSize:    ubifsMinSize,
		MaxSize:    unbounded,
		Lacks:      holdsAll,
		Make:       mkfs("mkfs.ubifs", "-y"),
		NoCheck:    "mtd-utils has no check program for it",
		NoRepair:   "mtd-utils has no program that repairs it",
		Promises:   logged("UBIFS FAQ, linux-mtd.infradead.org: how to change a file atomically"),
		Tune:       noTuning("mkfs.ubifs asks UBI for the size of blocks and pages."),
		Verify:     verifyUbifs,
		Threads:    []string{"ubifs_bgt*", ubiThreads},
		Properties: ubifsProperties,
		says: says{ // fs/ubifs/recovery.c; UBI and MTD log messages, too
			Tags:   []string{"ubi", "nand"},
			Replay: []string{"recovery needed", "recovery completed", "recovery deferred"},
			Errors: []string{"crc", "uncorrect"},
			Idle:   []string{"corrupted pebs: 0", "bad pebs: 0", "module verification"},
		},
		syntax: ubifsSyntax,
		Facts: Facts{
			Year: 2008, Design: "log-structured", Compression: "lzo, zlib, zstd", DatesUntil: "292277026596",
			MaxFile: "2 TiB", MaxSize: "that of UBI's volume",
			Source: "whichfs lab (Linux 6.1, mtd-utils 2.1.5); year (in Linux 2.6.27) and design: A. Hunter, A Brief Introduction to the Design of UBIFS, 2008; file size (29-bit block numbers): fs/ubifs of Linux 6.1",
		},
	}
}

// ubiThreads is the thread that erases and moves blocks below every UBI volume: ubi_bgt0d.
const ubiThreads = "ubi_bgt*"

// ubifsSyntax is mkfs.ubifs(1), mtd-utils 2.1.5.
var ubifsSyntax = syntax{
	Short: "d:r:m:o:D:yh?vVc:g:f:Fp:k:x:X:j:R:l:Uqs:e:ab:K:P:C:",
	Long: map[string]bool{
		"root": true, "min-io-size": true, "leb-size": true, "max-leb-cnt": true, "output": true, "devtable": true,
		"yes": false, "help": false, "verbose": false, "version": false, "debug": true, "jrn-size": true, "reserved": true,
		"compr": true, "favor-percent": true, "fanout": true, "space-fixup": false, "keyhash": true, "log-lebs": true,
		"orph-lebs": true, "squash-uids": false, "set-inum-attr": false, "selinux": true, "key": true,
		"key-descriptor": true, "padding": true, "cipher": true, "hash-algo": true, "auth-key": true, "auth-cert": true,
	},
	Files: []string{"-d", "-r", "--root", "--output", "-D", "--devtable", "-s", "--selinux", "-K", "--key", "--auth-key", "--auth-cert"},
}

// ubifsMinSize: mkfs.ubifs needs 22 blocks and UBI 4 for itself, tried with blocks of 16 and of 128
// KiB; and UBI reserves 20 of each 1024 of the chip's blocks for bad ones, however many the
// partition has: 46 blocks on a chip of 1024, 36 on one of 512. It is a lower bound: the number and
// size of the blocks depend on the chip, and UBI and mkfs.ubifs decide.
func ubifsMinSize(Candidate) int64 { return (22 + 4) * 16 * kib }

// ubifsMount: ubifs_show_options of fs/ubifs/super.c shows what was requested.
var ubifsMount = mountRules{
	Default: map[string][]string{
		"norm_unmount": {"fast_unmount"}, "no_bulk_read": {"bulk_read"}, "chk_data_crc": {"no_chk_data_crc"},
	},
	Shown: []string{
		"fast_unmount", "norm_unmount", "bulk_read", "no_bulk_read", "chk_data_crc", "no_chk_data_crc",
		"compr", "assert", "auth_key", "auth_hash_name",
	},
}

var ubifsCompressors = map[int64]string{0: "none", 1: "lzo", 2: "zlib", 3: "zstd"}

var ubifsKeyHashes = map[int64]string{0: "r5", 1: "test"}

// verifyUbifs reads the superblock node, which begins the volume (Linux
// fs/ubifs/ubifs-media.h, struct ubifs_sb_node).
func verifyUbifs(c Candidate, seen Evidence) []result.Option {
	s, err := readSuper(seen, 0, 256, binary.LittleEndian, 0, "\x31\x18\x10\x06")
	out := verifyMake(c, ubifsSyntax, err, func(o makeOption) finding { return ubifsOption(s, o) })
	return append(out, verifyMount(c, seen, ubifsMount)...)
}

func ubifsOption(s super, o makeOption) finding {
	switch o.Flag {
	case "-x", "--compr":
		if o.Value == "favor_lzo" && s.u16(84) == 1 {
			return found(result.Unverified, "compression in the superblock is lzo; a choice between two only affects the tool")
		}
		return compare("compression in the superblock", o.Value, ubifsCompressors[s.u16(84)])
	case "-f", "--fanout":
		return compareSize("fanout", o.Value, s.u32(72))
	case "-l", "--log-lebs":
		return compareSize("erase blocks of the log", o.Value, s.u32(56))
	case "-p", "--orph-lebs":
		return compareSize("erase blocks for orphans", o.Value, s.u32(64))
	case "-c", "--max-leb-cnt":
		return compareSize("most erase blocks", o.Value, s.u32(44))
	case "-k", "--keyhash":
		return compare("hash of keys", o.Value, ubifsKeyHashes[s.u8(26)])
	case "-F", "--space-fixup":
		return found(result.Unverified, "the first mount carries it out and removes the mark")
	case "-R", "--reserved":
		return compareSize("reserved bytes", ubifsSize(o.Value), int64(s.u64(96))) //nolint:gosec // a size
	case "-j", "--jrn-size":
		return compareSize("bytes for the journal", ubifsSize(o.Value), int64(s.u64(48))) //nolint:gosec // a size
	case "-y", "--yes", "-v", "--verbose", "-g", "--debug", "-X", "--favor-percent":
		return traceless()
	}
	return unseen()
}

// ubifsSize writes a size in the form of the other tools: "1MiB" is "1M".
func ubifsSize(s string) string { return strings.TrimSuffix(s, "iB") }

// ubifsProperties: dates were tried up to the year 9999.
func ubifsProperties(c Candidate) Properties {
	const docs = "Linux Documentation/filesystems/ubifs, mkfs.ubifs(1)"
	method := "lzo"
	if value, ok := makeValue(c, ubifsSyntax, "-x", "--compr"); ok {
		method = value
	}
	for _, o := range c.Mount() {
		if value, ok := strings.CutPrefix(o, "compr="); ok {
			method = value
		}
	}
	p := Properties{
		PowerLoss:     has("writes to new places and replays its journal", docs),
		Compression:   has("compresses with "+method, docs),
		Encryption:    lacks("encrypts only filesystems made with a key file, which whichfs does not pass on", docs),
		Checksums:     has("verifies a checksum of each node with its data", docs),
		MetaChecksums: has("verifies a checksum of each node", docs),
		Journal:       lacks("has a journal whose blocks become part of the filesystem, so nothing is written twice", docs),
		Dates:         Dates{farFuture, "its times are 64-bit seconds", labSource},
	}
	if method == "none" {
		p.Compression = lacksUnless("-x zstd", "is made without compression", docs)
		if switched(c, false, []string{"compr=none"}, []string{"compr=lzo", "compr=zlib", "compr=zstd"}) {
			p.Compression = lacksUnless("-o compr=zstd", "is mounted with compression disabled", docs)
		}
	}
	if switched(c, false, []string{"no_chk_data_crc"}, []string{"chk_data_crc"}) {
		p.Checksums = lacks("does not verify the checksums of data (no_chk_data_crc)", docs)
	}
	return p
}
