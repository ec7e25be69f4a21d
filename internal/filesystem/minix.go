package filesystem

import (
	"encoding/binary"
	"errors"
	"strings"

	"whichfs/internal/fault/picture"
	"whichfs/internal/result"
)

// Minix is the filesystem of MINIX, with which Linux began. It has three versions; mkfs.minix makes
// the first by default.
func Minix() Filesystem {
	return Filesystem{
		Name: "minix", Title: "MINIX", Module: "minix",
		Lacks: minixLacks,
		Needs: []Tool{
			{Program: "mkfs.minix", Package: "util-linux"},
			{Program: "fsck.minix", Package: "util-linux", Optional: true},
		},
		MinSize: least(10 * kib), // ten blocks of 1 KiB, whatever the options
		MaxSize: minixMaxSize,
		Make:    mkfs("mkfs.minix"),
		// Without -f, a flag in the superblock would be taken as proof.
		Check:      func(device string) []string { return []string{"fsck.minix", "-f", device} },
		ReadCheck:  readMinixCheck,
		Repair:     repairs([]string{"fsck.minix", "-f", "-a"}),
		ReadRepair: readMinixRepair,
		Promises:   unjournaled(minixDocs),
		Tune:       noTuning("mkfs.minix has no option for the geometry of storage: all its blocks have 1 KiB."),
		Verify:     verifyMinix,
		Properties: minixProperties,
		Magics: []picture.Magic{
			{At: 1024 + 16, Bytes: "\x7f\x13", Name: "minix superblock"}, {At: 1024 + 16, Bytes: "\x8f\x13", Name: "minix superblock"},
			{At: 1024 + 16, Bytes: "\x68\x24", Name: "minix superblock"}, {At: 1024 + 16, Bytes: "\x78\x24", Name: "minix superblock"},
			{At: 1024 + 24, Bytes: "\x5a\x4d", Name: "minix superblock"},
		},
		says: says{ // fs/minix: most lines name the driver or one of its functions
			Tags:   []string{"minix", "bad inode number on dev", "trying to free block not in datazone"},
			Replay: []string{"mounting unchecked file system"},
			Errors: []string{"already cleared", "out of range", "deleted inode referenced", "not in datazone", "nonexistent"},
		},
		syntax: minixSyntax,
		Facts: Facts{
			Year: 1987, Design: "plain", DatesUntil: "2106",
			MaxFile: "256.5 MiB (2 GiB - 1 with -2 and -3)", MaxSize: "64 MiB (479 GiB with -2, 15 GiB with -3)",
			Source: "whichfs lab (Linux 6.1, util-linux 2.38); year: A. Tanenbaum, Operating Systems: Design and Implementation, 1987",
		},
	}
}

const minixDocs = "Linux fs/minix, mkfs.minix(8), fsck.minix(8)"

// minixSyntax is mkfs.minix(8), util-linux 2.38.
var minixSyntax = syntax{
	Short: "1vn:i:cl:h23V",
	Long: map[string]bool{
		"namelength": true, "inodes": true, "check": false, "badblocks": true, "lock": false, "help": false, "version": false,
	},
	Files: []string{"-l", "--badblocks"},
}

// minixVersion is the version of the format that the mkfs options request.
func minixVersion(c Candidate) int {
	version := 1
	for _, o := range minixSyntax.read(c.Make()) {
		switch o.Flag {
		case "-1":
			version = 1
		case "-2", "-v":
			version = 2
		case "-3":
			version = 3
		}
	}
	return version
}

// minixLacks: a directory entry holds names up to this length; the first version has 8 bits for a
// group, the others 16.
func minixLacks(c Candidate) Lacks {
	longest := 30
	if makeSize(c, minixSyntax, "-n", "--namelength") == 14 {
		longest = 14
	}
	lacks := Lacks{MaxGroup: 1<<16 - 1, MaxFile: 1<<31 - 1}
	switch minixVersion(c) {
	case 1: // 7 blocks, 512 through one block of numbers, and 512² through two
		lacks.MaxGroup, lacks.MaxFile = 1<<8-1, (7+512+512*512)*kib
	case 3:
		longest = 60
	}
	lacks.Name = func(name string) bool { return len(name) <= longest }
	return lacks
}

// minixMaxSize, as tried with mkfs.minix of util-linux 2.38: on larger storage the first version
// silently uses 65535 blocks of 1 KiB, all but one of 64 MiB. The others are refused if the area
// before their data does not fit into 65535 blocks, because of their inodes: with fewer of these
// the bitmap of 512 GiB fits, and the rest is again silently left out.
func minixMaxSize(c Candidate) (most int64, with string) {
	_, inodes := makeValue(c, minixSyntax, "-i", "--inodes")
	switch version := minixVersion(c); {
	case version == 1:
		return 64 * mib, "-2 (or -3, on up to 15 GiB)"
	case inodes:
		return 511 * gib, ""
	case version == 2:
		return 479 * gib, "-i 1000"
	}
	return 15 * gib, "-i 65535"
}

// readMinixCheck reads the exit status of fsck.minix(8): 4 errors left, 8 operational error, which
// includes a bad superblock, 16 usage.
func readMinixCheck(status int, output string) CheckResult {
	switch {
	case status == 0:
		return CheckResult{Clean: true}
	case status == 4, status == 8 && minixDamaged(output):
		return dirty(status, minixFindings(output))
	}
	return broken(status, output)
}

// readMinixRepair reads the exit status of fsck.minix(8): 3 corrected, 4 errors left, 7 both, 8
// operational error, 16 usage. For blocks that are marked as unused on version 3, fsck.minix of
// util-linux 2.38 returns 3 and corrects nothing, which only a check afterwards shows.
func readMinixRepair(status int, output string) RepairResult {
	switch {
	case status == 0:
		return nothingToMend()
	case status == 3:
		return RepairResult{WasMended, dirty(status, minixFindings(output)).Reason}
	case status == 4 || status == 7, status == 8 && minixDamaged(output):
		return RepairResult{NotMended, dirty(status, minixFindings(output)).Reason}
	}
	return mendBroken(status, output)
}

// minixDamaged: if the superblock or the root directory is wrong, fsck.minix gives up with the
// status for a device that it cannot open.
func minixDamaged(output string) bool {
	return lineWith(output, "bad magic number", "bad s_imap_blocks", "bad s_zmap_blocks", "Only 1k blocks", "bad inode size", "root inode isn't a directory",
		"unable to alloc", "bad v2 inode size", "Unable to read inode") != ""
}

// minixFindings returns the first line of fsck.minix about the filesystem rather than about itself.
func minixFindings(output string) string {
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "Forcing filesystem check") && !strings.HasPrefix(line, "fsck.minix from") {
			return line
		}
	}
	return ""
}

// minixSuper holds the fields of a superblock (Linux include/uapi/linux/minix_fs.h).
type minixSuper struct{ version, name, inodes int64 }

func readMinix(seen Evidence) (minixSuper, error) {
	s, err := readSuper(seen, 1024, 1024, binary.LittleEndian, 0, "")
	if err != nil {
		return minixSuper{}, err
	}
	if s.u16(24) == 0x4d5a {
		return minixSuper{3, 60, s.u32(0)}, nil
	}
	switch inodes := s.u16(0); s.u16(16) {
	case 0x137f:
		return minixSuper{1, 14, inodes}, nil
	case 0x138f:
		return minixSuper{1, 30, inodes}, nil
	case 0x2468:
		return minixSuper{2, 14, inodes}, nil
	case 0x2478:
		return minixSuper{2, 30, inodes}, nil
	}
	return minixSuper{}, errors.New("no magic number of any version")
}

func verifyMinix(c Candidate, seen Evidence) []result.Option {
	s, err := readMinix(seen)
	out := verifyMake(c, minixSyntax, err, func(o makeOption) finding {
		switch o.Flag {
		case "-1":
			return compare("version", 1, s.version)
		case "-2", "-v":
			return compare("version", 2, s.version)
		case "-3":
			return compare("version", 3, s.version)
		case "-n", "--namelength":
			return compareSize("bytes of the longest name", o.Value, s.name)
		case "-i", "--inodes": // rounded up to a whole block
			if n, ok := size(o.Value); ok && s.inodes >= n && s.inodes < n+64 {
				return found(result.InForce, "inodes %d", s.inodes)
			}
			return found(result.Altered, "inodes %d", s.inodes)
		case "-c", "--check", "--lock":
			return traceless()
		}
		return unseen()
	})
	return append(out, verifyUnread(c, seen)...)
}

func minixProperties(Candidate) Properties {
	return Properties{
		PowerLoss:     lacks("overwrites its tables in place and keeps no journal", minixDocs),
		Compression:   lacks(noCompress, minixDocs),
		Encryption:    lacks(noFscrypt, minixDocs),
		Checksums:     lacks("keeps no checksums of data", minixDocs),
		MetaChecksums: lacks(noChecksums, minixDocs),
		Journal:       lacks(noJournal, minixDocs),
		Dates:         Dates{2106, "its times are 32-bit unsigned seconds", labSource},
	}
}
