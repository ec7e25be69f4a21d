package filesystem

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"whichfs/internal/fault/picture"
	"whichfs/internal/fault/script"
	"whichfs/internal/result"
)

// Btrfs is the copy-on-write filesystem with compression and snapshots.
func Btrfs() Filesystem {
	return Filesystem{
		Name: "btrfs", Title: "Btrfs", Module: "btrfs", Reflink: true,
		Compressed: CompressedExtents, Remembers: "/dev/btrfs-control",
		Asks: crc32c,
		// Compressors are dependencies of the module; checksums other than
		// crc32c are requested at mount time.
		Codecs: map[string][]string{
			"xxhash": {"xxhash_generic"}, "blake2": {"blake2b_generic"}, "sha256": {"sha256_generic"},
		},
		Needs: []Tool{
			{Program: "mkfs.btrfs", Package: "btrfs-progs"},
			{Program: "btrfs", Package: "btrfs-progs", Optional: true},
		},
		MinSize:    btrfsMinSize,
		MaxSize:    unbounded,
		Lacks:      holdsAll,
		Make:       mkfs("mkfs.btrfs", "-q", "-f"),
		Check:      func(device string) []string { return []string{"btrfs", "check", "--readonly", device} },
		ReadCheck:  readBtrfsCheck,
		Repair:     btrfsRepair,
		ReadRepair: readBtrfsRepair,
		Promises:   btrfsPromises,
		Tune:       tuneBtrfs,
		Verify:     verifyBtrfs,
		OneUUID:    true,
		Magics:     btrfsMagics,
		Threads:    []string{"btrfs-*"},
		Properties: btrfsProperties,
		says: says{ // fs/btrfs/messages.c gives a level to each line
			Tags:   []string{"btrfs"},
			Replay: []string{"start tree-log replay", "read error corrected"},
			Errors: []string{"btrfs warning", "btrfs critical", "btrfs alert", "btrfs emergency", "errs: wr "},
			Idle:   []string{"checksum algorithm", "deprecated", "excessive commit interval"},
		},
		syntax: btrfsSyntax,
		Abilities: map[Ability]Means{
			GrowOnline: steps(func(o Object) [][]string { return [][]string{{"btrfs", "filesystem", "resize", "max", o.Mount}} }),
			ShrinkOnline: steps(func(o Object) [][]string {
				return [][]string{{"btrfs", "filesystem", "resize", strconv.FormatInt(o.Size, 10), o.Mount}}
			}),
			Defragment: {Mounted: true, Steps: func(o Object) [][]string { return [][]string{{"btrfs", "filesystem", "defragment", "-f", o.File}} }},
			Snapshot: {
				Steps: func(o Object) [][]string {
					return [][]string{{"btrfs", "subvolume", "snapshot", "-r", o.Mount, o.Mount + "/snapshot"}}
				},
				View: func(string) (string, []string) { return "snapshot", nil },
			},
			Scrub: steps(func(o Object) [][]string { return [][]string{{"btrfs", "scrub", "start", "-B", o.Mount}} }),
			// Only blocks of at least 4 KiB can be taken over; mke2fs makes smaller ones below 512 MiB.
			Convert: {From: "ext4 -b 4096", Steps: func(o Object) [][]string { return [][]string{{"btrfs-convert", o.Device}} }},
			Relabel: {Mounted: true, Steps: func(o Object) [][]string { return [][]string{{"btrfs", "filesystem", "label", o.Mount, o.Label}} }},
			NewUUID: onDevice("btrfstune", "-f", "-u"),
			OfflineImage: steps(func(o Object) [][]string {
				return [][]string{slices.Concat([]string{"mkfs.btrfs", "-q", "--rootdir", o.Tree}, o.Options, []string{o.Image})}
			}),
		},
		Unable: map[Ability]string{
			GrowOffline:   "grows only while it is mounted",
			ShrinkOffline: "shrinks only while it is mounted",
		},
		Facts: Facts{
			Year: 2009, Design: "copy-on-write", Compression: "zlib, lzo, zstd", DatesUntil: "292277026596",
			MaxFile: "16 EiB", MaxSize: "16 EiB",
			Source: "whichfs lab (Linux 6.1, btrfs-progs 6.2); year: M. Opdenacker, Finding the Best Block Filesystem, 2023; dates and sizes: btrfs(5)",
		},
	}
}

// btrfsSyntax is mkfs.btrfs(8), btrfs-progs 6.2.
var btrfsSyntax = syntax{
	Short: "A:b:fl:n:s:m:d:L:MO:R:r:U:VvqK",
	Long: map[string]bool{
		"byte-count": true, "csum": true, "checksum": true, "data": true, "features": true, "force": false, "leafsize": true,
		"nodesize": true, "sectorsize": true, "metadata": true, "label": true, "mixed": false, "runtime-features": true,
		"rootdir": true, "uuid": true, "nodiscard": false, "shrink": false, "quiet": false, "verbose": false, "zoned": false, "version": false,
	},
	Lists: []string{"-O", "-R", "--features", "--runtime-features"},
}

// btrfsMinSize: the sizes that mkfs.btrfs 6.2 names when it refuses, tried in the laboratory. They
// depend on the number of copies.
func btrfsMinSize(c Candidate) int64 {
	metadata, _ := makeValue(c, btrfsSyntax, "-m", "--metadata")
	data, _ := makeValue(c, btrfsSyntax, "-d", "--data")
	mixed := false
	for _, o := range btrfsSyntax.read(c.Make()) {
		mixed = mixed || o.Flag == "-M" || o.Flag == "--mixed"
	}
	switch {
	case mixed:
		return 16 * mib
	case strings.EqualFold(metadata, "single"):
		return 45 * mib
	case strings.EqualFold(data, "dup"):
		return 229 * mib
	}
	return 109 * mib
}

// readBtrfsCheck: btrfs check returns 1 for every kind of error.
func readBtrfsCheck(status int, output string) CheckResult {
	switch {
	case status == 0 && strings.Contains(output, "no error found"):
		return CheckResult{Clean: true}
	case status == 0 || status == 1 && !cannotOpen(output):
		return dirty(status, output, "ERROR", "bad ", "mismatch", "failed", "error(s) found", "No valid Btrfs")
	}
	return broken(status, output)
}

// btrfsRepair: btrfs-check(8) warns against --repair: "Do not use --repair unless you are advised
// to do so by a developer or an experienced user". The operations of btrfs-rescue(8) for
// filesystems that do not mount are less dangerous: restoring the superblock from its copies, and
// clearing a log that cannot be replayed.
var btrfsRepair = repairs([]string{"btrfs", "rescue", "super-recover", "-y"}, []string{"btrfs", "rescue", "zero-log"})

// readBtrfsRepair reads the output of btrfs-rescue(8): super-recover returns 0 if all superblocks
// are valid, and another status even if it recovered one; zero-log names the log that it cleared, 0
// for none.
func readBtrfsRepair(status int, output string) RepairResult {
	switch {
	case strings.Contains(output, "All supers are valid"), strings.Contains(output, "previous log_root 0,"):
		return nothingToMend()
	case status >= 0 && strings.Contains(output, "Recovered bad superblocks successful"), status == 0 && strings.Contains(output, "Clearing log"):
		return mended(status, output, "Recovered bad superblocks", "Clearing log")
	case cannotOpen(output) || status < 0 || status > 3:
		return mendBroken(status, output)
	}
	return notMended(status, output, "ERROR", "No valid Btrfs", "Failed to recover", "failed")
}

// btrfsMount: show_options of fs/btrfs/super.c. A level that an algorithm lacks (compress=lzo:3) is
// dropped, one that is too high is lowered.
var btrfsMount = mountRules{
	Default: map[string][]string{
		"compress=no": {"compress=", "compress-force="}, "compress=none": {"compress=", "compress-force="},
		"compress-force=no": {"compress=", "compress-force="}, "compress-force=none": {"compress=", "compress-force="},
		"datacow": {"nodatacow"}, "datasum": {"nodatasum"}, "barrier": {"nobarrier"}, "treelog": {"notreelog"},
		"acl": {"noacl"}, "nodiscard": {"discard", "discard="}, "noautodefrag": {"autodefrag"},
		"noflushoncommit": {"flushoncommit"}, "commit=30": {"commit="}, "max_inline=2048": {"max_inline="},
	},
	Shown: []string{
		"compress", "compress-force", "ssd", "nossd", "ssd_spread", "nodatacow", "nodatasum", "nobarrier", "notreelog",
		"noacl", "discard", "autodefrag", "flushoncommit", "commit", "max_inline", "thread_pool", "space_cache",
		"nospace_cache", "degraded", "skip_balance", "enospc_debug", "subvol", "subvolid", "metadata_ratio",
		"user_subvol_rm_allowed", "fatal_errors", "ref_verify",
	},
	Same:    map[string]string{"discard=sync": "discard"},
	Implied: map[string]string{"ssd": "ssd_spread", "nodatasum": "nodatacow"},
}

// btrfsBits are features by mkfs.btrfs's names: offset of the word in the
// superblock (180 compat_ro, 188 incompat) and bit.
var btrfsBits = map[string]struct {
	at  int
	bit uint32
}{
	"mixed-bg": {188, 1 << 2}, "extref": {188, 1 << 6}, "raid56": {188, 1 << 7}, "skinny-metadata": {188, 1 << 8},
	"no-holes": {188, 1 << 9}, "raid1c34": {188, 1 << 11}, "zoned": {188, 1 << 12}, "extent-tree-v2": {188, 1 << 13},
	"free-space-tree": {180, 1}, "block-group-tree": {180, 1 << 3},
}

func verifyBtrfs(c Candidate, seen Evidence) []result.Option {
	s, err := readSuper(seen, 64*kib, 4096, binary.LittleEndian, 64, "_BHRfS_M")
	out := verifyMake(c, btrfsSyntax, err, func(o makeOption) finding { return btrfsOption(s, o, seen) })
	return append(out, verifyMount(c, seen, btrfsMount)...)
}

func btrfsOption(s super, o makeOption, seen Evidence) finding {
	switch o.Flag {
	case "-m", "--metadata":
		return btrfsProfile(s, "metadata", o.Value, seen)
	case "-d", "--data":
		return btrfsProfile(s, "data", o.Value, seen)
	case "-M", "--mixed":
		return onOff("mixed block groups in the superblock", true, s.bits(188)&(1<<2) != 0)
	case "-n", "--nodesize", "-l", "--leafsize":
		return compareSize("node size", o.Value, s.u32(148))
	case "-s", "--sectorsize":
		return compareSize("sector size", o.Value, s.u32(144))
	case "-b", "--byte-count":
		return compareSize("bytes in the superblock", o.Value, int64(s.u64(112)))
	case "--csum", "--checksum":
		names := map[int64]string{0: "crc32c", 1: "xxhash", 2: "sha256", 3: "blake2"}
		spelled := map[string]string{"xxhash64": "xxhash", "blake2b": "blake2"}
		want := strings.ToLower(o.Value)
		if same, ok := spelled[want]; ok {
			want = same
		}
		return compare("checksum", want, names[s.u16(196)])
	case "-O", "--features", "-R", "--runtime-features":
		name, off := strings.CutPrefix(o.Value, "^")
		if b, ok := btrfsBits[name]; ok {
			return onOff("feature "+name+" in the superblock", !off, s.bits(b.at)&b.bit != 0)
		}
	case "-L", "--label":
		return compare("label", o.Value, s.text(299, 256))
	case "-U", "--uuid":
		return compare("UUID", strings.ToLower(o.Value), s.uuid(32))
	case "-q", "-f", "-K", "-v", "--quiet", "--force", "--nodiscard", "--verbose":
		return traceless()
	}
	return unseen()
}

// btrfsProfiles are the directories that the kernel makes for the profiles in use, below
// /sys/fs/btrfs/UUID/allocation/KIND.
var btrfsProfiles = []string{"single", "dup", "raid0", "raid1", "raid1c3", "raid1c4", "raid10", "raid5", "raid6"}

func btrfsProfile(s super, kind, want string, seen Evidence) finding {
	if s.bits(188)&(1<<2) != 0 {
		kind = "mixed"
	}
	if seen.File == nil {
		return unseen()
	}
	var have []string
	for _, p := range btrfsProfiles {
		if _, err := seen.File("/sys/fs/btrfs/" + s.uuid(32) + "/allocation/" + kind + "/" + p + "/total_bytes"); err == nil {
			have = append(have, p)
		}
	}
	switch {
	case len(have) == 0:
		return found(result.Unverified, "sysfs shows no profile for %s", kind)
	case len(have) == 1 && have[0] == strings.ToLower(want):
		return found(result.InForce, "sysfs shows %s in profile %s", kind, have[0])
	}
	return found(result.Altered, "sysfs shows %s in profile %s", kind, strings.Join(have, " and "))
}

const btrfsDocs = "btrfs(5)"

// btrfsProperties follows btrfs_parse_options of fs/btrfs/super.c: nodatacow
// turns checksums and compression off, and a compressor turns both on again.
func btrfsProperties(c Candidate) Properties {
	sums, cow, method := true, true, ""
	for _, o := range c.Mount() {
		key, value, _ := strings.Cut(o, "=")
		switch {
		case o == "nodatacow":
			cow, sums, method = false, false, ""
		case o == "datacow":
			cow = true
		case o == "nodatasum":
			sums = false
		case o == "datasum":
			sums, cow = true, true
		case key != "compress" && key != "compress-force":
		case value == "no" || value == "none":
			method = ""
		default:
			method, cow, sums = value, true, true
			if value == "" {
				method = "zlib"
			}
		}
	}
	p := Properties{
		PowerLoss:     has("never overwrites data in use (copy-on-write)", btrfsDocs),
		Compression:   lacksUnless("-o compress=zstd", "is mounted without compression", btrfsDocs),
		Encryption:    lacks(noFscrypt, "Linux Documentation/filesystems/fscrypt"),
		Checksums:     has("keeps checksums of data and metadata", btrfsDocs),
		MetaChecksums: has("keeps checksums of its metadata", btrfsDocs),
		Journal:       lacks("uses copy-on-write instead of a journal", btrfsDocs),
		Dates:         Dates{farFuture, "its times are 64-bit seconds", labSource},
	}
	if !switched(c, true, []string{"barrier"}, []string{"nobarrier"}) {
		p.PowerLoss = lacks(noFlush, labSource)
	} else if !cow {
		p.PowerLoss.Why = "never overwrites metadata in use (copy-on-write); data are overwritten in place (nodatacow)"
	}
	if !sums {
		p.Checksums = lacks("is mounted without checksums of data", btrfsDocs)
	}
	if method != "" {
		p.Compression = has("compresses with "+method, btrfsDocs)
	}
	return p
}

// btrfsNode is the default node, 16 KiB; 64 KiB is the largest.
const btrfsNode = 16 * kib

func tuneBtrfs(g Geometry) Tuning {
	switch {
	case g.Page == 0:
		return Tuning{Reason: "The page size of the storage is unknown, so the default node of 16 KiB stays."}
	case g.Page <= btrfsNode:
		return Tuning{Reason: fmt.Sprintf("The default node of 16 KiB is a multiple of the page of %s: a smaller one gains nothing.", amount(g.Page))}
	case g.Page&(g.Page-1) != 0 || g.Page > 64*kib:
		return Tuning{Reason: fmt.Sprintf("A node cannot be as large as a page of %s.", amount(g.Page))}
	}
	return Tuning{Words: []string{"-n", strconv.FormatInt(g.Page, 10)}, Reason: fmt.Sprintf(
		"A node is then one page of the storage, %s: with the default of 16 KiB each node costs the programming of a whole page.", amount(g.Page))}
}

// btrfsPromises: file extents are recorded once their data are on storage, and a commit is atomic
// (btrfs documentation, design). The FAQ's guarantee that a rename over a file leaves either file
// complete, even without a sync, has not held since Linux 3.17, as its developers confirmed to the
// GLib project (merge request 2425). fsync logs one file with its names, ahead of older operations,
// so nothing is promised about their order. Mohan et al. (OSDI 2018) describe what its developers
// require of fsync.
func btrfsPromises(Candidate) script.Promises {
	return script.Promises{
		NewName: true, AtomicReplace: true, NoStale: true,
		Source: "btrfs documentation (copy on write, tree log); GLib merge request 2425; Mohan et al., Finding Crash-Consistency Bugs with Bounded Black-Box Crash Testing, OSDI 2018",
	}
}

var btrfsMagics = []picture.Magic{
	{At: 64*kib + 64, Bytes: "_BHRfS_M", Name: "btrfs superblock"},
	{At: 64*mib + 64, Bytes: "_BHRfS_M", Name: "btrfs superblock, second copy"},
}
