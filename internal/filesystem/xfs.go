package filesystem

import (
	"encoding/binary"
	"fmt"
	"strings"

	"whichfs/internal/fault/picture"
	"whichfs/internal/fault/script"
	"whichfs/internal/result"
)

// Xfs is the journaling filesystem that came from IRIX.
func Xfs() Filesystem {
	return Filesystem{
		Name: "xfs", Title: "XFS", Module: "xfs", Reflink: true,
		Asks: crc32c,
		Needs: []Tool{
			{Program: "mkfs.xfs", Package: "xfsprogs"},
			{Program: "xfs_repair", Package: "xfsprogs", Optional: true},
		},
		// xfsprogs 6.1 refuses anything smaller, whatever the options.
		MinSize:    least(300 * mib),
		MaxSize:    unbounded,
		Lacks:      holdsAll,
		Block:      xfsBlock,
		Make:       mkfs("mkfs.xfs", "-q", "-f"),
		Check:      func(device string) []string { return []string{"xfs_repair", "-n", device} },
		ReadCheck:  readXfsCheck,
		Repair:     xfsRepair,
		ReadRepair: readXfsRepair,
		Promises:   xfsPromises,
		Tune:       tuneXfs,
		Verify:     verifyXfs,
		OneUUID:    true,
		Own:        []string{"lost+found"}, // made by a repair
		Magics:     xfsMagics,
		Threads:    []string{"xfs*/%d", "xfsalloc", "xfs_mru_cache"},
		Properties: xfsProperties,
		says: says{ // fs/xfs/xfs_log.c, xfs_error.c, xfs_fsops.c
			Tags:   []string{"xfs ("},
			Replay: []string{"starting recovery", "ending recovery"},
			Errors: []string{"please unmount the filesystem", "unmount and run xfs_repair"},
		},
		syntax: xfsSyntax,
		Abilities: map[Ability]Means{
			GrowOnline: steps(func(o Object) [][]string { return [][]string{{"xfs_growfs", o.Mount}} }),
			Defragment: {Mounted: true, Steps: func(o Object) [][]string { return [][]string{{"xfs_fsr", "-v", o.File}} }},
			Relabel:    {Mounted: true, Steps: func(o Object) [][]string { return [][]string{{"xfs_io", "-c", "label -s " + o.Label, o.Mount}} }},
			NewUUID:    onDevice("xfs_admin", "-U", "generate"),
		},
		Unable: map[Ability]string{
			ShrinkOnline: "shrinks by no more than a part of its last allocation group (xfs_growfs -D)",
			GrowOffline:  "grows only while it is mounted",
			Scrub:        "needs a kernel with online checks (XFS_ONLINE_SCRUB) for xfs_scrub, which Debian's kernel lacks",
			OfflineImage: "is made of a prototype file that lists every file (mkfs.xfs -p), and of no directory",
		},
		Facts: Facts{
			Year: 1994, Design: "journaling", DatesUntil: "2486",
			MaxFile: "8 EiB", MaxSize: "8 EiB",
			Source: "whichfs lab (Linux 6.1, xfsprogs 6.1); year: M. Opdenacker, Finding the Best Block Filesystem, 2023; dates (bigtime) and sizes: xfs(5), mkfs.xfs(8)",
		},
	}
}

// readXfsCheck: xfs_repair -n returns 1 both for damage and for a device that it cannot open, and 2
// for a log that must be replayed first.
func readXfsCheck(status int, output string) CheckResult {
	switch {
	case status == 0:
		return CheckResult{Clean: true}
	case status == 2:
		return CheckResult{Reason: "the log holds changes that were not replayed"}
	case status == 1 && !cannotOpen(output) && strings.Contains(output, "Phase 1"):
		return dirty(status, output, "CRC error", "bad ", "would ", "Sorry", "corrupt", "couldn't")
	}
	return broken(status, output)
}

// xfsRepair: xfs_repair refuses a log that was not replayed, and says what to do: mount it, and if
// that fails, -L, "the most aggressive" option, which destroys the log (xfs_repair(8)). With -e its
// status shows that it made corrections.
var xfsRepair = repairs([]string{"xfs_repair", "-e"}, []string{"xfs_repair", "-e", "-L"})

// readXfsRepair reads the exit status of xfs_repair(8): 0 done, 1 errors, 2 the
// log is dirty, 4 corrected (-e).
func readXfsRepair(status int, output string) RepairResult {
	marks := []string{"valuable metadata changes", "bad ", "CRC error", "corrupt", "moving disconnected", "would ", "Sorry", "couldn't"}
	switch {
	case status == 0 && !strings.Contains(output, "because the -L option was used"):
		return nothingToMend()
	case status == 0, status == 4:
		return mended(status, output, marks...)
	case status == 2:
		return RepairResult{NotMended, "the log holds changes that were not replayed"}
	case status > 0 && !cannotOpen(output) && strings.Contains(output, "Phase 1"):
		return notMended(status, output, marks...)
	}
	return mendBroken(status, output)
}

// xfsSyntax is mkfs.xfs(8), xfsprogs 6.1.
var xfsSyntax = syntax{
	Short: "b:c:d:i:l:L:m:n:KNp:qr:s:fV",
	Lists: []string{"-b", "-d", "-i", "-l", "-m", "-n", "-r", "-s"},
}

var xfsMount = mountRules{
	Default: map[string][]string{
		"nodiscard": {"discard"}, "noikeep": {"ikeep"}, "nolargeio": {"largeio"}, "nogrpid": {"grpid"},
	},
	Shown: []string{
		"discard", "largeio", "inode64", "inode32", "logbufs", "logbsize", "noquota", "attr2", "noattr2", "wsync",
		"noalign", "swalloc", "nouuid", "norecovery", "ikeep", "allocsize", "sunit", "swidth", "usrquota", "grpquota", "prjquota", "filestreams", "grpid", "dax",
	},
	Same: map[string]string{"uquota": "usrquota", "quota": "usrquota", "gquota": "grpquota", "pquota": "prjquota"},
}

// xfsBits are switches by mkfs.xfs's names: offset of the word in the superblock and bit (Linux
// fs/xfs/libxfs/xfs_format.h). Those at 212 are features that old kernels may ignore when reading,
// those at 216 are not.
var xfsBits = map[string]struct {
	at  int
	bit uint32
}{
	"finobt": {212, 1}, "rmapbt": {212, 2}, "reflink": {212, 4}, "inobtcount": {212, 8},
	"ftype": {216, 1}, "sparse": {216, 2}, "bigtime": {216, 8}, "nrext64": {216, 32},
}

func verifyXfs(c Candidate, seen Evidence) []result.Option {
	s, err := readSuper(seen, 0, 512, binary.BigEndian, 0, "XFSB")
	out := verifyMake(c, xfsSyntax, err, func(o makeOption) finding { return xfsOption(s, o) })
	return append(out, verifyMount(c, seen, xfsMount)...)
}

func xfsOption(s super, o makeOption) finding {
	key, value, hasValue := strings.Cut(o.Value, "=")
	on := !hasValue || value == "1"
	block := s.u32(4)
	switch o.Flag + " " + key {
	case "-m crc":
		return onOff("checksums (version 5 superblock)", on, s.u16(100)&0xf == 5)
	case "-m finobt", "-m rmapbt", "-m reflink", "-m inobtcount", "-m bigtime", "-n ftype", "-i sparse", "-i nrext64":
		b := xfsBits[key]
		return onOff("feature "+key+" in the superblock", on, s.bits(b.at)&b.bit != 0)
	case "-m uuid":
		return compare("UUID", strings.ToLower(value), s.uuid(32))
	case "-b size":
		return compareSize("block size", value, block)
	case "-s size":
		return compareSize("sector size", value, s.u16(102))
	case "-i size":
		return compareSize("inode size", value, s.u16(104))
	case "-i maxpct":
		return compareSize("per cent for inodes", value, s.u8(127))
	case "-n size":
		return compareSize("directory block size", value, block<<min(s.u8(192), 16))
	case "-l size":
		return compareSize("log of bytes", value, s.u32(96)*block)
	case "-d agcount":
		return compareSize("allocation groups", value, s.u32(88))
	case "-d agsize":
		return compareSize("allocation group of bytes", value, s.u32(84)*block)
	case "-d su":
		return compareSize("stripe unit of bytes", value, s.u32(184)*block)
	case "-d sw":
		if s.u32(184) > 0 {
			return compareSize("stripe width in units", value, s.u32(188)/s.u32(184))
		}
		return found(result.Ignored, "no stripe unit in the superblock")
	case "-d sunit": // in sectors of 512 bytes
		return compareSize("stripe unit in sectors", value, s.u32(184)*block/512)
	case "-d swidth":
		return compareSize("stripe width in sectors", value, s.u32(188)*block/512)
	}
	switch o.Flag {
	case "-L":
		return compare("label", o.Value, s.text(108, 12))
	case "-q", "-f", "-K", "-V":
		return traceless()
	}
	return unseen()
}

// xfsProperties: with -m crc=0 there is no bigtime either (mkfs.xfs(8)).
func xfsProperties(c Candidate) Properties {
	const docs = "Linux Documentation/filesystems/xfs, mkfs.xfs(8)"
	crc, bigtime := true, true
	for _, o := range xfsSyntax.read(c.Make()) {
		switch o.Flag + " " + o.Value {
		case "-m crc=0":
			crc = false
		case "-m crc=1":
			crc = true
		case "-m bigtime=0":
			bigtime = false
		case "-m bigtime=1":
			bigtime = true
		}
	}
	p := Properties{
		PowerLoss:     has("journals its metadata", docs),
		Compression:   lacks(noCompress, docs),
		Encryption:    lacks(noFscrypt, "Linux Documentation/filesystems/fscrypt"),
		Checksums:     lacks("keeps no checksums of data", docs),
		MetaChecksums: has("keeps checksums of its metadata", docs),
		Journal:       has("journals its metadata", docs),
		Dates:         Dates{2486, "its times are 64-bit nanoseconds (bigtime)", labSource},
	}
	if !crc {
		p.MetaChecksums = lacks("is made without them (-m crc=0)", docs)
	}
	if !crc || !bigtime {
		p.Dates = Dates{2038, "without bigtime its times are 32-bit seconds", labSource}
	}
	return p
}

// tuneXfs: the stripe unit is one segment, in an array of one disk. The log's unit is at most 256
// KiB, and mkfs.xfs falls back to 32 KiB by itself.
func tuneXfs(g Geometry) Tuning {
	if g.Segment < block || g.Segment%block != 0 {
		return Tuning{Reason: noSegment}
	}
	return Tuning{Words: []string{"-d", fmt.Sprintf("su=%d,sw=1", g.Segment)}, Reason: fmt.Sprintf(
		"Allocation groups and large files then begin on segments of %s.", amount(g.Segment)) + noLarger(g, xfsLarger)}
}

// xfsLarger: fs/xfs/xfs_super.c of Linux 6.12, xfs_fs_fill_super; large folios of the page cache need
// CONFIG_TRANSPARENT_HUGEPAGE.
const xfsLarger = "Linux 6.12 or later with transparent huge pages"

// xfsBlock reads -b size=.
func xfsBlock(c Candidate) (bytes int64, larger string) {
	for _, o := range xfsSyntax.read(c.Make()) {
		if value, ok := strings.CutPrefix(o.Value, "size="); ok && o.Flag == "-b" {
			bytes, _ = size(value)
		}
	}
	return bytes, xfsLarger
}

// xfsPromises: checkpoints of the log are strictly ordered
// (Documentation/filesystems/xfs/xfs-delayed-logging-design.rst), and unwritten space reads as
// zeros, whatever it held (unwritten extents, XFS FAQ). It promises nothing about a rename over a
// file without a sync: the FAQ requires fsync.
func xfsPromises(Candidate) script.Promises {
	return script.Promises{
		NewName: true, AtomicReplace: true, Ordered: true, NoStale: true,
		Source: "Linux Documentation/filesystems/xfs/xfs-delayed-logging-design; XFS FAQ (xfs.org)",
	}
}

// xfsMagics: the superblock, and the records of the log
// (fs/xfs/libxfs/xfs_log_format.h: XLOG_HEADER_MAGIC_NUM, big endian).
var xfsMagics = []picture.Magic{
	{At: 0, Bytes: "XFSB", Name: "xfs superblock"},
	{At: picture.Anywhere, Bytes: "\xfe\xed\xba\xbe", Name: "log record"},
}
