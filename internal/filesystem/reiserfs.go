package filesystem

import (
	"encoding/binary"
	"strconv"
	"strings"

	"whichfs/internal/fault/picture"
	"whichfs/internal/result"
)

// Reiserfs is ReiserFS 3.6. Linux removed it with release 6.13.
func Reiserfs() Filesystem {
	return Filesystem{
		Name: "reiserfs", Title: "ReiserFS", Module: "reiserfs",
		Needs: []Tool{
			{Program: "mkfs.reiserfs", Package: "reiserfsprogs"},
			{Program: "reiserfsck", Package: "reiserfsprogs", Optional: true},
		},
		MinSize: reiserfsMinSize,
		MaxSize: reiserfsMaxSize,
		Lacks:   holdsAll,
		Make:    mkfs("mkfs.reiserfs", "-q", "-f"),
		// -y answers the question whether to run, -q suppresses progress.
		Check:      func(device string) []string { return []string{"reiserfsck", "--check", "-y", "-q", device} },
		ReadCheck:  readReiserfsCheck,
		Repair:     reiserfsRepair,
		ReadRepair: readReiserfsRepair,
		Promises:   logged("reiserfs(5)"),
		Tune:       noTuning("mkreiserfs has no option for the geometry of storage."),
		Verify:     verifyReiserfs,
		Own:        []string{"lost+found"}, // made by a repair
		Magics:     reiserfsMagics,
		Threads:    []string{"reiserfs/%d*"},
		Properties: reiserfsProperties,
		says: says{ // fs/reiserfs/journal.c, super.c, prints.c
			Tags:   []string{"reiserfs"},
			Replay: []string{"replayed", "uncompleted unlinks"},
			Errors: []string{"reiserfs warning", "reiserfs panic"},
			Idle:   []string{"deprecated"},
		},
		syntax: reiserfsSyntax,
		Abilities: map[Ability]Means{
			GrowOnline:  onDevice("resize_reiserfs", "-q"),
			GrowOffline: onDevice("resize_reiserfs", "-q", "-f"),
			ShrinkOffline: {Answer: "y\n", Steps: func(o Object) [][]string {
				return [][]string{{"resize_reiserfs", "-q", "-f", "-s", strconv.FormatInt(o.Size>>10, 10) + "K", o.Device}}
			}},
			Relabel: steps(func(o Object) [][]string { return [][]string{{"reiserfstune", "-l", o.Label, o.Device}} }),
			NewUUID: onDevice("reiserfstune", "-u", "random"),
		},
		Facts: Facts{
			Year: 2001, Design: "journaling", DatesUntil: "2106",
			MaxFile: "8 TiB", MaxSize: "16 TiB",
			Source: "whichfs lab (Linux 6.1, reiserfsprogs 3.6.27); year: Linux 2.4.1; sizes: reiserfsprogs' FAQ",
		},
	}
}

// reiserfsSyntax is mkreiserfs(8), reiserfsprogs 3.6.27.
var reiserfsSyntax = syntax{
	Short: "B:b:fj:h:l:o:s:t:u:dqV",
	Long: map[string]bool{
		"block-size": true, "hash": true, "uuid": true, "label": true, "format": true, "quiet": false, "badblocks": true,
		"journal-device": true, "journal-size": true, "journal-offset": true, "transaction-max-size": true,
	},
}

// reiserfsMinSize: the journal and 19 more blocks, where mkreiserfs counts only whole groups of 16
// blocks; as tried in the laboratory for several sizes of the journal.
func reiserfsMinSize(c Candidate) int64 {
	journal := int64(8193)
	if n := makeSize(c, reiserfsSyntax, "-s", "--journal-size"); n > 0 && n < 1<<24 {
		journal = n
	}
	return (journal + 19 + 15) &^ 15 * 4096
}

// readReiserfsCheck reads the exit status of reiserfsck(8): 4 and 6 are
// damage, 8 an operational error, 16 usage.
func readReiserfsCheck(status int, output string) CheckResult {
	switch {
	case status == 0 && strings.Contains(output, "No corruptions found"):
		return CheckResult{Clean: true}
	case status == 1 || status == 2 || status == 4 || status == 6:
		return dirty(status, output, "found corruptions", "vpf-", "Bad nodes", "rebuild-")
	case strings.Contains(output, "Unknown code er3k"): // the library's own errors: no superblock
		return dirty(status, output, "Unknown code er3k")
	}
	return broken(status, output)
}

// reiserfsRepair: if --fix-fixable is not enough, reiserfsck(8) demands --rebuild-tree, which asks
// a question that no option answers.
var reiserfsRepair = repairs([]string{"reiserfsck", "--fix-fixable", "-y", "-q"})

// readReiserfsRepair reads the exit status of reiserfsck(8): 0 nothing, 1 corrected, which
// --fix-fixable of reiserfsprogs 3.6.27 always returns, 2 a reboot is needed, 4 fatal corruptions
// are left, 6 fixable ones, 8 operational error, 16 usage.
func readReiserfsRepair(status int, output string) RepairResult {
	switch {
	case (status == 0 || status == 1) && strings.Contains(output, "No corruptions found"):
		return nothingToMend()
	case status >= 0 && status <= 2 && strings.Contains(output, "Checking internal tree"):
		return mended(status, output, "fixed", "corrected", "rewritten", "vpf-")
	case status == 4 || status == 6:
		return notMended(status, output, "found corruptions", "rebuild-sb", "Bad nodes", "vpf-")
	case strings.Contains(output, "Unknown code er3k"):
		return notMended(status, output, "Unknown code er3k")
	}
	return mendBroken(status, output)
}

// reiserfsMount: reiserfs_show_options of fs/reiserfs/super.c.
var reiserfsMount = mountRules{
	Default: map[string][]string{
		"data=ordered": {"data="}, "barrier=flush": {"barrier="}, "tails=small": {"tails=", "notail"},
	},
	Shown: []string{
		"notail", "tails", "nolog", "replayonly", "commit", "jdev", "data", "attrs", "expose_privroot", "user_xattr", "acl",
		"barrier", "errors", "usrquota", "grpquota", "block-allocator", "alloc",
	},
	Same: map[string]string{"tails=off": "notail"},
}

func verifyReiserfs(c Candidate, seen Evidence) []result.Option {
	s, err := readSuper(seen, 64*kib, 512, binary.LittleEndian, 52, "ReIsEr")
	out := verifyMake(c, reiserfsSyntax, err, func(o makeOption) finding {
		switch o.Flag {
		case "-h", "--hash":
			names := map[int64]string{1: "tea", 2: "rupasov", 3: "r5"}
			return compare("hash", o.Value, names[s.u32(64)])
		case "-b", "--block-size":
			return compareSize("block size", o.Value, s.u16(44))
		case "-s", "--journal-size":
			return compareSize("blocks of journal", strings.TrimSpace(o.Value), s.u32(20)+1)
		case "-t", "--transaction-max-size":
			return compareSize("blocks of a transaction", o.Value, s.u32(24))
		case "-l", "--label":
			return compare("label", o.Value, s.text(100, 16))
		case "-u", "--uuid":
			return compare("UUID", strings.ToLower(o.Value), s.uuid(84))
		case "--format":
			names := map[int64]string{0: "3.5", 2: "3.6"}
			return compare("format", o.Value, names[s.u16(72)])
		case "-q", "--quiet", "-f", "-d", "-V":
			return traceless()
		}
		return unseen()
	})
	return append(out, verifyMount(c, seen, reiserfsMount)...)
}

func reiserfsProperties(c Candidate) Properties {
	const docs = "reiserfs(5)"
	p := Properties{
		PowerLoss:     has("journals its metadata", docs),
		Compression:   lacks(noCompress, docs),
		Encryption:    lacks(noFscrypt, "Linux Documentation/filesystems/fscrypt"),
		Checksums:     lacks(noChecksums, docs),
		MetaChecksums: lacks(noChecksums, docs),
		Journal:       has("journals its metadata", docs),
		Dates:         Dates{2106, "its times are 32-bit unsigned seconds", labSource},
	}
	switch {
	case !switched(c, true, nil, []string{"nolog"}):
		p.PowerLoss, p.Journal = lacks("is mounted without its journal (nolog)", docs), lacks("is mounted without its journal (nolog)", docs)
	case !switched(c, true, []string{"barrier=flush"}, []string{"barrier=none"}):
		p.PowerLoss = lacks(noFlush, labSource)
	}
	return p
}

// reiserfsMagics: the superblock, whose name at the end begins like this in every format
// (include/uapi/linux/reiserfs_fs.h of Linux 6.1: at byte 52).
var reiserfsMagics = []picture.Magic{{At: 64*kib + 52, Bytes: "ReIsEr", Name: "reiserfs superblock"}}

// reiserfsMaxSize: block numbers have 32 bits.
func reiserfsMaxSize(c Candidate) (most int64, with string) {
	if n := makeSize(c, reiserfsSyntax, "-b"); n > 0 {
		return n << 32, ""
	}
	return 16 * tib, ""
}
