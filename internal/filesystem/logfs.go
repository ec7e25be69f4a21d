package filesystem

import (
	"encoding/binary"
	"strings"

	"whichfs/internal/result"
)

// Logfs is Jörn Engel's log-structured filesystem, which was in Linux for a while.
func Logfs() Filesystem {
	return Filesystem{
		Name: "logfs", Title: "LogFS", Module: "logfs", Raw: true, Ways: []Way{WayMTD},
		NotMainline: "it came with Linux 2.6.34 and was removed in 4.10",
		Needs:       []Tool{{Program: "mklogfs", Package: "logfsprogs", From: "github.com/prasad-joshi/logfsprogs: gcc -include sys/sysmacros.h -D_FILE_OFFSET_BITS=64 -o mklogfs mkfs.c lib.c btree.c segment.c readwrite.c -lz"}},
		MinSize:     least(4 * kib), // mklogfs itself reports what it lacks
		MaxSize:     unbounded,
		Lacks:       holdsAll,
		// Without the first word it would ask whether to continue.
		Make:       mkfs("mklogfs", "--non-interactive"),
		NoCheck:    "the check program of logfsprogs was never finished",
		NoRepair:   "the check program of logfsprogs was never finished",
		Tune:       noTuning("mklogfs asks the chip for its geometry."),
		Verify:     verifyLogfs,
		Properties: logfsProperties,
		says:       says{Tags: []string{"logfs"}},
		syntax:     logfsSyntax,
		Facts: Facts{
			Year: 2010, Design: "log-structured", Compression: "zlib", DatesUntil: "2262",
			MaxFile: "512 GiB", MaxSize: "8 EiB",
			Source: "Linux 4.9 fs/logfs, logfsprogs (tried with Linux 4.9.337, whose driver fails while it unmounts)",
		},
	}
}

// logfsSyntax is mklogfs --help.
var logfsSyntax = syntax{
	Short: "chs:w:",
	Long: map[string]bool{
		"compress": false, "segshift": true, "writeshift": true, "bad-segment-reserve": true, "journal-segments": true,
		"non-interactive": false, "demo-mode": false, "help": false,
	},
}

// verifyLogfs: struct logfs_disk_super of fs/logfs/logfs_abi.h. The driver ignores all mount
// options.
func verifyLogfs(c Candidate, seen Evidence) []result.Option {
	s, err := readSuper(seen, 0, 256, binary.BigEndian, 24, "\x7a\x3a\x8e\x5c\xb9\xd5\xbf\x67")
	out := verifyMake(c, logfsSyntax, err, func(o makeOption) finding {
		switch o.Flag {
		case "-s", "--segshift":
			return compareSize("bits of a segment's size", o.Value, s.u8(39))
		case "-w", "--writeshift":
			return compareSize("bits of a write's size", o.Value, s.u8(41))
		case "--bad-segment-reserve":
			return compareSize("segments in reserve", o.Value, s.u32(60))
		case "--non-interactive", "--demo-mode":
			return traceless()
		}
		return unseen()
	})
	return append(out, verifyUnread(c, seen)...)
}

func logfsProperties(c Candidate) Properties {
	const docs = "Linux 4.9 Documentation/filesystems/logfs.txt, fs/logfs"
	p := Properties{
		PowerLoss:     has("writes to new places and keeps a journal of the roots of its trees", docs),
		Compression:   lacksUnless("-c", "is made without compression", docs),
		Encryption:    lacks(noFscrypt, docs),
		Checksums:     has("verifies the checksum of every block on reads", docs),
		MetaChecksums: has("verifies the checksum of every block on reads", docs),
		Journal:       lacks("is a log: its journal only records the roots of the trees", docs),
		Dates:         Dates{2262, "its times are 64-bit nanoseconds", docs},
	}
	for _, o := range logfsSyntax.read(c.Make()) {
		if o.Flag == "-c" || strings.HasPrefix("--compress", o.Flag) && len(o.Flag) > 3 {
			p.Compression = has("compresses with zlib", docs)
		}
	}
	return p
}
