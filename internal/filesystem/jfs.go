package filesystem

import (
	"encoding/binary"
	"strings"

	"whichfs/internal/fault/picture"
	"whichfs/internal/result"
)

// Jfs is IBM's journaling filesystem.
func Jfs() Filesystem {
	return Filesystem{
		Name: "jfs", Title: "JFS", Module: "jfs",
		Codecs: map[string][]string{"utf8": {"nls_utf8"}, "iso8859-1": {"nls_iso8859_1"}, "cp437": {"nls_cp437"}},
		Needs: []Tool{
			{Program: "mkfs.jfs", Package: "jfsutils"},
			{Program: "fsck.jfs", Package: "jfsutils", Optional: true},
		},
		MinSize: least(16 * mib),
		MaxSize: most(32 << 10 * tib),
		Lacks:   holdsAll,
		Make:    mkfs("mkfs.jfs", "-q"),
		// Without -f, a clean flag in the superblock would be taken as proof.
		Check:      func(device string) []string { return []string{"fsck.jfs", "-n", "-f", device} },
		ReadCheck:  readJfsCheck,
		Repair:     repairs([]string{"fsck.jfs", "-f", "-a"}),
		ReadRepair: readJfsRepair,
		Promises:   logged("JFS overview, jfs.sourceforge.net: rename is one logged operation"),
		Tune:       noTuning("mkfs.jfs has no option for the geometry of storage."),
		Verify:     verifyJfs,
		Own:        []string{"lost+found"}, // made by a repair
		Magics:     jfsMagics,
		Threads:    []string{"jfsIO", "jfsCommit", "jfsSync"},
		Properties: jfsProperties,
		says: says{ // fs/jfs; it replays nothing: its check program does
			Tags: []string{"jfs", "error: (device ", "metapage", "lmlog", "lbm"},
		},
		syntax: jfsSyntax,
		Abilities: map[Ability]Means{
			GrowOnline: steps(func(o Object) [][]string { return [][]string{{"mount", "-o", "remount,resize", o.Mount}} }),
			Relabel:    steps(func(o Object) [][]string { return [][]string{{"jfs_tune", "-L", o.Label, o.Device}} }),
			NewUUID:    onDevice("jfs_tune", "-U", "random"),
		},
		Unable: map[Ability]string{GrowOffline: "grows only while it is mounted"},
		Facts: Facts{
			Year: 2001, Design: "journaling", DatesUntil: "2106",
			MaxFile: "4 PiB", MaxSize: "32 PiB",
			Source: "whichfs lab (Linux 6.1, jfsutils 1.1.15); year and sizes: JFS for Linux, jfs.sourceforge.net",
		},
	}
}

// readJfsCheck reads the exit status of jfs_fsck(8): 4 errors left, 8 operational error, 16 usage.
// With -n it may report in words what its status does not.
func readJfsCheck(status int, output string) CheckResult {
	switch {
	case status == 0 && strings.Contains(output, "Filesystem is clean"):
		return CheckResult{Clean: true}
	case status >= 0 && status < 8 && strings.Contains(output, "Phase 1"), status == 4:
		return dirty(status, output, "not a correct", "rrors detected", "ncorrect", "corrupt", "is dirty")
	case strings.Contains(output, "does not describe a correct jfs"): // status 8
		return dirty(status, output, "does not describe a correct jfs")
	}
	return broken(status, output)
}

// readJfsRepair reads the exit status of jfs_fsck(8): 0 nothing, 1 corrected, 2 corrected and a
// reboot is needed, 4 errors left, 8 operational error, 16 usage. It also replays the log, which no
// kernel does, and writes a new one (phase 9) if it cannot.
func readJfsRepair(status int, output string) RepairResult {
	switch {
	case status == 0 && strings.Contains(output, "is clean") && !strings.Contains(output, "Phase 9"):
		return nothingToMend()
	case status >= 0 && status <= 3 && strings.Contains(output, "Phase 1"):
		return mended(status, output, "Will clear", "ncorrect", "not a correct", "rrors detected", "error", "Phase 9")
	case status > 0 && status&^15 == 0 && status&4 != 0, strings.Contains(output, "does not describe a correct jfs"):
		return notMended(status, output, "Unrecoverable", "ncorrect", "not a correct", "does not describe", "rrors detected")
	}
	return mendBroken(status, output)
}

// jfsSyntax is mkfs.jfs(8), jfsutils 1.1.15.
var jfsSyntax = syntax{Short: "cfj:J:L:Oqs:V"}

// jfsMount: jfs_show_options of fs/jfs/super.c. A bare "discard" becomes
// discard=64, the least number of blocks that it trims.
var jfsMount = mountRules{
	Umask:   true,
	Default: map[string][]string{"integrity": {"nointegrity"}, "nodiscard": {"discard", "discard="}, "errors=remount-ro": {"errors="}},
	Shown:   []string{"uid", "gid", "umask", "nointegrity", "discard", "iocharset", "errors", "usrquota", "grpquota"},
}

func verifyJfs(c Candidate, seen Evidence) []result.Option {
	s, err := readSuper(seen, 32*kib, 512, binary.LittleEndian, 0, "JFS1")
	out := verifyMake(c, jfsSyntax, err, func(o makeOption) finding {
		switch o.Flag {
		case "-L":
			return compare("label", o.Value, s.text(152, 16))
		case "-O":
			return onOff("names without regard to case (OS/2)", true, s.bits(36)&0x40000000 != 0)
		case "-q", "-f", "-c", "-V":
			return traceless()
		}
		return unseen()
	})
	return append(out, verifyMount(c, seen, jfsMount)...)
}

// jfsProperties: an fsync on jfs sends no flush to the device; only the device's own counter shows
// this.
func jfsProperties(Candidate) Properties {
	const docs = "Linux Documentation/admin-guide/jfs"
	return Properties{
		PowerLoss:     lacks("journals its metadata but "+noFlush, labSource),
		Compression:   lacks(noCompress, docs),
		Encryption:    lacks(noFscrypt, "Linux Documentation/filesystems/fscrypt"),
		Checksums:     lacks(noChecksums, docs),
		MetaChecksums: lacks(noChecksums, docs),
		Journal:       has("journals its metadata", docs),
		Dates:         Dates{2106, "its times are 32-bit unsigned seconds", labSource},
	}
}

var jfsMagics = []picture.Magic{{At: 32 * kib, Bytes: "JFS1", Name: "jfs superblock"}}
