package filesystem

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"whichfs/internal/fault/picture"
	"whichfs/internal/fault/script"
	"whichfs/internal/result"
)

// Nilfs2 is the log-structured filesystem with continuous snapshots.
func Nilfs2() Filesystem {
	return Filesystem{
		Name: "nilfs2", Title: "NILFS2", Module: "nilfs2",
		Needs:          []Tool{{Program: "mkfs.nilfs2", Package: "nilfs-tools"}},
		MinSize:        nilfs2MinSize,
		MaxSize:        unbounded,
		Lacks:          holdsAll,
		Block:          func(c Candidate) (int64, string) { return makeSize(c, nilfs2Syntax, "-b"), "" },
		Make:           mkfs("mkfs.nilfs2", "-q", "-f"),
		NoCheck:        "nilfs-tools has no check program",
		NoRepair:       "nilfs-tools has no repair program: the driver returns to the last complete log",
		Daemon:         &nilfs2Cleaner,
		Promises:       nilfs2Promises,
		Tune:           tuneNilfs2,
		Verify:         verifyNilfs2,
		Own:            []string{".nilfs"},
		NoPrecondition: "nilfs2 frees the space of removed files only when its cleaner runs, so none would be left for the work",
		Magics:         []picture.Magic{{At: 1024 + 6, Bytes: "\x34\x34", Name: "nilfs2 superblock"}},
		Threads:        []string{"segctord"},
		Properties:     nilfs2Properties,
		says: says{ // fs/nilfs2/the_nilfs.c, recovery.c
			Tags:   []string{"nilfs"},
			Replay: []string{"mounting unchecked fs", "recovery complete", "salvaged", "trying rollback"},
			Errors: []string{"nilfs warning"},
		},
		syntax: nilfs2Syntax,
		Abilities: map[Ability]Means{
			GrowOnline: onDevice("nilfs-resize", "-y"),
			ShrinkOnline: steps(func(o Object) [][]string {
				return [][]string{{"nilfs-resize", "-y", o.Device, strconv.FormatInt(o.Size, 10)}}
			}),
			Snapshot: {
				Steps: func(o Object) [][]string { return [][]string{{"mkcp", "-s", "-p", o.Device}} },
				View:  func(output string) (string, []string) { return "", []string{"ro", "cp=" + strings.TrimSpace(output)} },
			},
			Relabel: steps(func(o Object) [][]string { return [][]string{{"nilfs-tune", "-L", o.Label, o.Device}} }),
			NewUUID: steps(func(o Object) [][]string { return [][]string{{"nilfs-tune", "-U", anyUUID, o.Device}} }),
		},
		Unable: map[Ability]string{
			GrowOffline:   "grows only while it is mounted",
			ShrinkOffline: "shrinks only while it is mounted",
		},
		Facts: Facts{
			Year: 2005, Design: "log-structured", DatesUntil: "292277026596",
			MaxFile: "8 EiB", MaxSize: "8 EiB",
			Source: "whichfs lab (Linux 6.1, nilfs-tools 2.2.9); year: M. Opdenacker, Finding the Best Block Filesystem, 2023; sizes: Linux Documentation/filesystems/nilfs2",
		},
	}
}

// nilfs2Syntax is mkfs.nilfs2(8), nilfs-tools 2.2.9.
var nilfs2Syntax = syntax{Short: "b:B:c:fKhl:L:m:nO:P:qvV", Lists: []string{"-O"}}

// nilfs2MinSize: 16 segments and one block, as tried in the laboratory for
// several sizes of both, and 1 MiB at least.
func nilfs2MinSize(c Candidate) int64 {
	block, blocks := int64(4096), int64(2048)
	if n := makeSize(c, nilfs2Syntax, "-b"); n > 0 && n <= 1<<16 {
		block = n
	}
	if n := makeSize(c, nilfs2Syntax, "-B"); n > 0 && n <= 1<<20 {
		blocks = n
	}
	return max(16*block*blocks+4096, mib)
}

// nilfs2Mount: nilfs_show_options of fs/nilfs2/super.c. pp= and nogc are words of mount.nilfs2, which
// whichfs does not use; the kernel refuses them (see nilfs2Cleaner).
var nilfs2Mount = mountRules{
	Default: map[string][]string{
		"barrier": {"nobarrier"}, "order=relaxed": {"order="}, "errors=remount-ro": {"errors="}, "nodiscard": {"discard"},
	},
	Shown:  []string{"nobarrier", "cp", "errors", "order", "norecovery", "discard"},
	Daemon: &nilfs2Cleaner,
}

// nilfs2Cleaner frees the space of removed and overwritten files. mount.nilfs2 starts it after every
// mount, without its option nogc; whichfs mounts by the system call, so that the driver is alone
// unless a candidate says otherwise. Keys are those of nilfs_cleanerd.conf(5), nilfs-tools 2.2.9: as
// its package has them, it rests while a tenth of the segments is free, and then spares what is
// younger than an hour. It says what goes wrong to syslog alone, and ends without message queues.
var nilfs2Cleaner = Daemon{
	Tool:   Tool{Program: "nilfs_cleanerd", Package: "nilfs-tools"},
	Option: "cleanerd",
	Keys: []string{
		"protection_period", "min_clean_segments", "max_clean_segments", "clean_check_interval", "nsegments_per_clean",
		"mc_nsegments_per_clean", "cleaning_interval", "mc_cleaning_interval", "retry_interval", "min_reclaimable_blocks",
		"mc_min_reclaimable_blocks",
	},
	Config: "/etc/nilfs_cleanerd.conf",
	Args: func(config, device, mount string) []string {
		return []string{"-c", config, device, mount}
	},
	Prints: "NILFS_CLEANERD_PID=",
	Opens:  "/nilfs-cleanerq-",
	Queues: true,
}

func verifyNilfs2(c Candidate, seen Evidence) []result.Option {
	s, err := readSuper(seen, 1024, 512, binary.LittleEndian, 6, "\x34\x34")
	out := verifyMake(c, nilfs2Syntax, err, func(o makeOption) finding {
		switch o.Flag {
		case "-b":
			return compareSize("block size", o.Value, int64(1024)<<min(s.u32(20), 20))
		case "-B":
			return compareSize("blocks in a segment", o.Value, s.u32(48))
		case "-m":
			return compareSize("per cent of reserved segments", o.Value, s.u32(52))
		case "-L":
			return compare("label", o.Value, s.text(168, 80))
		case "-O":
			if o.Value == "block_count" || o.Value == "^block_count" {
				return onOff("feature block_count in the superblock", o.Value[0] != '^', s.u64(264)&1 != 0)
			}
		case "-q", "-f", "-K", "-c", "-v", "-n":
			return traceless()
		}
		return unseen()
	})
	return append(out, verifyMount(c, seen, nilfs2Mount)...)
}

func nilfs2Properties(c Candidate) Properties {
	const docs = "Linux Documentation/filesystems/nilfs2"
	p := Properties{
		PowerLoss:     has("writes to new places and rolls back to its last log", docs),
		Compression:   lacks(noCompress, docs),
		Encryption:    lacks(noFscrypt, "Linux Documentation/filesystems/fscrypt"),
		Checksums:     lacks("verifies the checksums of its logs only after a crash, and none on reads", docs),
		MetaChecksums: lacks("verifies the checksums of its logs only after a crash, and none on reads", docs),
		Journal:       lacks("writes a log instead of a journal", docs),
		Dates:         Dates{farFuture, "its times are 64-bit seconds", labSource},
	}
	if !switched(c, true, []string{"barrier"}, []string{"nobarrier"}) {
		p.PowerLoss = lacks(noFlush, labSource)
	}
	return p
}

// nilfs2Default is mkfs.nilfs2's own choice, in bytes.
const nilfs2Default = 2048 * block

// tuneNilfs2: mkfs.nilfs2 accepts only powers of two (2.2.9, tried).
func tuneNilfs2(g Geometry) Tuning {
	switch {
	case g.Segment < 16*block:
		return Tuning{Reason: noSegment}
	case g.Segment&(g.Segment-1) != 0:
		return Tuning{Reason: fmt.Sprintf("Its segments are powers of two, but the storage's of %s are not.", amount(g.Segment))}
	case g.Segment == nilfs2Default:
		return Tuning{Reason: "Its default segment of 8 MiB is the storage's." + noLarger(g, "")}
	}
	words := []string{"-B", strconv.FormatInt(g.Segment/block, 10)}
	return Tuning{Words: words, Reason: fmt.Sprintf(
		"A segment of its log then equals a segment of the storage, %s, and cleaning one empties the other.", amount(g.Segment)) + noLarger(g, "")}
}

// nilfs2Promises: order=relaxed, the default, is "equivalent to the ordered data mode of the ext3
// filesystem"; it may reorder data, but never metadata; order=strict keeps "sequence of all file
// operations". No document says that the fsync of a file that was only renamed or linked keeps its
// new name, and it does not: there is nothing of the file to write.
func nilfs2Promises(Candidate) script.Promises {
	return script.Promises{
		AtomicReplace: true, ReplaceSyncs: true, Ordered: true, NoStale: true,
		Source: "Linux Documentation/filesystems/nilfs2 (order=)",
	}
}
