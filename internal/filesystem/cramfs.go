package filesystem

import (
	"encoding/binary"
	"strings"

	"whichfs/internal/result"
)

// Cramfs is the small compressed read-only filesystem that SquashFS followed.
func Cramfs() Filesystem {
	return Filesystem{
		Name: "cramfs", Title: "CramFS", Module: "cramfs", ReadOnly: true,
		NotDebian: "Debian's kernels are configured without it",
		Ways:      []Way{WayMTDBlock, WayUBIBlock, WayUBIBlockFastmap, WayGluebi},
		Needs: []Tool{
			{Program: "mkfs.cramfs", Package: "util-linux"},
			{Program: "fsck.cramfs", Package: "util-linux", Optional: true},
		},
		MinSize: least(4 * kib),
		MaxSize: unbounded,
		Lacks:   cramfsLacks,
		Image: func(c Candidate, image, tree string) []string {
			return append(append([]string{"mkfs.cramfs"}, c.Make()...), tree, image)
		},
		// --extract without a directory decompresses every file and writes none.
		Check:      func(device string) []string { return []string{"fsck.cramfs", "--extract", device} },
		ReadCheck:  readCramfsCheck,
		NoRepair:   "it is never written to: a damaged image is rewritten",
		Verify:     verifyCramfs,
		Threads:    []string{ubiThreads},
		Properties: cramfsProperties,
		says:       says{Tags: []string{"cramfs"}},
		syntax:     cramfsSyntax,
		Facts: Facts{
			Year: 1999, Design: "read-only", Compression: "zlib", DatesUntil: "1970",
			MaxFile: "16 MiB - 1", MaxSize: "272 MiB",
			Source: "whichfs lab (Linux 6.1, util-linux 2.38); year: Linux fs/cramfs/README; sizes: Linux Documentation/filesystems/cramfs",
		},
	}
}

const cramfsDocs = "Linux Documentation/filesystems/cramfs, fs/cramfs, mkfs.cramfs(8)"

// cramfsSyntax is mkfs.cramfs(8), util-linux 2.38.
var cramfsSyntax = syntax{
	Short: "hb:Ee:i:n:N:psVvz",
	Long:  map[string]bool{"help": false, "version": false},
	Files: []string{"-i"},
}

// cramfsLacks: mkfs.cramfs cuts off the rest of a longer file, and upper bits of groups, with warnings, and
// writes a wrong length for a longer name, without one (disk-utils/mkfs.cramfs.c). Every name is a file of its
// own, and offsets of data have 26 bits, in units of 4 bytes.
func cramfsLacks(Candidate) Lacks {
	return Lacks{
		MaxGroup: 1<<8 - 1, Hardlinks: true, MaxFile: 1<<24 - 1, MaxImage: 272 * mib,
		Name: func(name string) bool { return len(name) <= 252 },
	}
}

// readCramfsCheck reads the exit status of fsck.cramfs(8): 4 errors, 8 operational error, 16 usage.
func readCramfsCheck(status int, output string) CheckResult {
	switch {
	case status == 0:
		return CheckResult{Clean: true}
	case status == 4:
		return dirty(status, output, "fsck.cramfs: ")
	}
	return broken(status, output)
}

// Bits of the superblock's flags (Linux include/uapi/linux/cramfs_fs.h).
const cramfsHoles = 0x100

func verifyCramfs(c Candidate, seen Evidence) []result.Option {
	const magic = "\x45\x3d\xcd\x28"
	s, err := readSuper(seen, 0, 64, binary.LittleEndian, 0, magic)
	padded := false
	if err != nil {
		if s, err = readSuper(seen, 512, 64, binary.LittleEndian, 0, magic); err == nil {
			padded = true
		}
	}
	out := verifyMake(c, cramfsSyntax, err, func(o makeOption) finding {
		switch o.Flag {
		case "-n":
			return compare("name in the superblock", o.Value, s.text(48, 16))
		case "-e":
			return compareSize("edition in the superblock", o.Value, s.u32(36))
		case "-z":
			return onOff("holes in the superblock", true, s.bits(8)&cramfsHoles != 0)
		case "-p":
			return onOff("padding before the superblock", true, padded)
		case "-N":
			return compare("byte order of the superblock", strings.Replace(o.Value, "host", "little", 1), "little")
		case "-b", "-v", "-E":
			return traceless()
		case "-s":
			return found(result.Ignored, "mkfs.cramfs ignores it: directories are always sorted")
		}
		return unseen()
	})
	return append(out, verifyMount(c, seen, mountRules{})...)
}

func cramfsProperties(Candidate) Properties {
	return Properties{
		PowerLoss:     has("is never written to", cramfsDocs),
		Compression:   has("compresses with zlib, each page of 4 KiB alone", cramfsDocs),
		Encryption:    lacks(noFscrypt, cramfsDocs),
		Checksums:     lacks("keeps one checksum of the whole image, which only fsck.cramfs reads", cramfsDocs),
		MetaChecksums: lacks("keeps one checksum of the whole image, which only fsck.cramfs reads", cramfsDocs),
		Journal:       lacks("is never written to, so it needs no journal", cramfsDocs),
		Dates:         Dates{1970, "it stores no times: every file has the first second of 1970", cramfsDocs},
	}
}
