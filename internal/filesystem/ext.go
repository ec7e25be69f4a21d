package filesystem

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"whichfs/internal/fault/picture"
	"whichfs/internal/fault/script"
	"whichfs/internal/result"
)

// What ext2, ext3 and ext4 share: one kernel driver, one set of tools, one layout of the superblock
// (Linux fs/ext4/ext4.h).

// extSyntax is mke2fs(8), e2fsprogs 1.47.
var extSyntax = syntax{
	Short: "b:ce:g:i:jl:m:no:qr:t:d:vC:DE:FG:I:J:KL:M:N:O:R:ST:U:Vz:",
	Lists: []string{"-O", "-E", "-J", "-R"},
}

// extJournal: mke2fs takes the block size of the journal for the filesystem, unless told another one.
var extJournal = &Journal{
	// ext2fs_default_journal_size of e2fsprogs 1.47 (lib/ext2fs/mkjournal.c), with blocks of 4 KiB.
	Size: func(storage int64) int64 {
		for _, step := range []struct{ below, size int64 }{{128 * mib, 4 * mib}, {gib, 16 * mib}, {2 * gib, 32 * mib}, {16 * gib, 64 * mib}, {32 * gib, 128 * mib}, {64 * gib, 256 * mib}, {128 * gib, 512 * mib}} {
			if storage < step.below {
				return step.size
			}
		}
		return gib
	},
	Make: func(c Candidate, device string) []string {
		size, given := makeValue(c, extSyntax, "-b")
		if !given {
			size = "4096"
		}
		// The device is empty: zeroing it would only take memory.
		return []string{"mke2fs", "-q", "-F", "-O", "journal_dev", "-E", "lazy_journal_init=1", "-b", size, device}
	},
}

func extMake(name string) func(Candidate, string) []string { return mkfs("mkfs."+name, "-q", "-F") }

var extNeeds = []Tool{
	{Program: "mke2fs", Package: "e2fsprogs"},
	{Program: "e2fsck", Package: "e2fsprogs", Optional: true},
}

func extTools(name string) []Tool {
	return append([]Tool{{Program: "mkfs." + name, Package: "e2fsprogs"}}, extNeeds...)
}

// extMinSize is the size at which mke2fs, which gives a small filesystem an inode for each 8 KiB,
// has one left for lost+found; as tried in the laboratory.
const extMinSize = 104 * kib

// extCheck: without -f a clean flag in the superblock would be taken as proof.
func extCheck(device string) []string { return []string{"e2fsck", "-f", "-n", device} }

// readExtCheck reads the bits of e2fsck(8): 4 errors left, 8 operational error, 16 usage, 32
// cancelled, 128 library. With -n it never corrects anything (1, 2).
func readExtCheck(status int, output string) CheckResult {
	switch {
	case status == 0:
		return CheckResult{Clean: true}
	case status&^15 == 0 && status&4 != 0:
		return dirty(status, output, "? no", "WARNING: Filesystem still has errors")
	case strings.Contains(output, "Superblock invalid"), strings.Contains(output, "Error reading block"): // status 8, but nevertheless damage
		return dirty(status, output, "Superblock invalid", "Error reading block")
	}
	return broken(status, output)
}

// extRepair: -y answers every question, -f checks even what is marked clean.
var extRepair = repairs([]string{"e2fsck", "-f", "-y"})

// readExtRepair reads the bits of e2fsck(8): 1 corrected, 2 corrected and a reboot is needed, 4
// errors left, 8 operational error, 16 usage, 32 cancelled, 128 library. It also makes small
// corrections with status 0.
func readExtRepair(status int, output string) RepairResult {
	switch {
	case status == 0 && !strings.Contains(output, "? yes"):
		return nothingToMend()
	case status >= 0 && status <= 3:
		return mended(status, output, "? yes", "Superblock invalid", "recovering journal")
	case status > 0 && status&^15 == 0 && status&4 != 0:
		return notMended(status, output, "UNEXPECTED INCONSISTENCY", "Filesystem still has errors", "? yes")
	case strings.Contains(output, "Superblock invalid"):
		return notMended(status, output, "Bad magic number", "Superblock invalid")
	}
	return mendBroken(status, output)
}

// extLateWork zeroes the inode tables that mkfs left uninitialised. It begins within 5 seconds and
// ends when it is done.
const extLateWork = "ext4lazyinit"

// extThreads are those of kernel 6.1: jbd2/vda-8, ext4-rsv-conver(sion), and the late work while it
// lasts.
var extThreads = []string{"jbd2/%d-*", "ext4-rsv-conver*", extLateWork}

// extCodecs: the driver requests a checksum when it mounts, whether the filesystem has checksums or not.
var extCodecs = map[string][]string{"": crc32c}

// extMount: show_options of fs/ext4/super.c omits defaults; /proc/fs/ext4/DEVICE/options lists
// everything.
var extMount = mountRules{
	All: "/proc/fs/ext4/%d/options",
	Same: map[string]string{
		"barrier=1": "barrier", "barrier=0": "nobarrier",
		"bsdgroups": "grpid", "sysvgroups": "nogrpid", "auto_da_alloc=0": "noauto_da_alloc", "auto_da_alloc=1": "auto_da_alloc",
	},
	Default: map[string][]string{
		"data=ordered": {"data="}, "barrier": {"nobarrier"}, "delalloc": {"nodelalloc"},
		"nodiscard": {"discard"}, "acl": {"noacl"}, "user_xattr": {"nouser_xattr"},
		"dioread_nolock": {"nodioread_nolock", "dioread_lock"}, "auto_da_alloc": {"noauto_da_alloc"},
		"errors=continue": {"errors="}, "commit=5": {"commit="}, "nogrpid": {"grpid"},
		"init_itable": {"noinit_itable", "init_itable="}, "block_validity": {"noblock_validity"}, "bsddf": {"minixdf"},
	},
	Shown: []string{
		"data", "nobarrier", "nodelalloc", "discard", "noacl", "nouser_xattr", "commit", "stripe", "errors",
		"noauto_da_alloc", "journal_async_commit", "noinit_itable", "init_itable", "grpid",
		"nodioread_nolock", "inode_readahead_blks", "max_batch_time", "min_batch_time", "dax", "minixdf", "noload", "norecovery",
	},
}

// feature bits by the names that mke2fs uses: word (0 compat, 1 incompat, 2
// ro_compat) and bit.
var extFeatures = map[string]struct {
	word int
	bit  uint32
}{
	"dir_prealloc": {0, 1}, "has_journal": {0, 4}, "ext_attr": {0, 8}, "resize_inode": {0, 0x10}, "dir_index": {0, 0x20},
	"sparse_super2": {0, 0x200}, "fast_commit": {0, 0x400}, "stable_inodes": {0, 0x800}, "orphan_file": {0, 0x1000},
	"filetype": {1, 2}, "journal_dev": {1, 8}, "meta_bg": {1, 0x10}, "extent": {1, 0x40}, "extents": {1, 0x40},
	"64bit": {1, 0x80}, "mmp": {1, 0x100}, "flex_bg": {1, 0x200}, "ea_inode": {1, 0x400}, "dirdata": {1, 0x1000},
	"metadata_csum_seed": {1, 0x2000}, "large_dir": {1, 0x4000}, "inline_data": {1, 0x8000},
	"encrypt": {1, 0x10000}, "casefold": {1, 0x20000},
	"sparse_super": {2, 1}, "large_file": {2, 2}, "huge_file": {2, 8}, "uninit_bg": {2, 0x10}, "uninit_groups": {2, 0x10},
	"dir_nlink": {2, 0x20}, "extra_isize": {2, 0x40}, "quota": {2, 0x100}, "bigalloc": {2, 0x200},
	"metadata_csum": {2, 0x400}, "read-only": {2, 0x1000}, "project": {2, 0x2000}, "shared_blocks": {2, 0x4000},
	"verity": {2, 0x8000},
}

func verifyExt(c Candidate, seen Evidence) []result.Option {
	s, err := readSuper(seen, 1024, 1024, binary.LittleEndian, 0x38, "\x53\xef")
	out := verifyMake(c, extSyntax, err, func(o makeOption) finding {
		if o.Flag == "-T" {
			return extUsage(c, s, o.Value, seen)
		}
		return extOption(s, o)
	})
	return append(out, verifyMount(c, seen, extMount)...)
}

// extConfig is where mke2fs has its usage types from.
const extConfig = "/etc/mke2fs.conf"

// extUsage compares the superblock with the usage types of -T, a list in which later ones win, and
// what they leave open with the defaults. With -F mke2fs goes on without types that it does not know.
// Options win over types; a block size below 0 is that of a page of memory at most.
func extUsage(c Candidate, s super, list string, seen Evidence) finding {
	if seen.File == nil {
		return unseen()
	}
	text, err := seen.File(extConfig)
	if err != nil {
		return found(result.Unverified, "cannot read %s: %v", extConfig, err)
	}
	types := readProfile(text)
	block := int64(1024) << s.u32(0x18)
	want := maps.Clone(types["defaults"])
	for _, name := range strings.Split(list, ",") {
		if name == "default" {
			return found(result.Unverified, "mke2fs then chooses a type by the size")
		}
		if types[name] == nil {
			return found(result.Ignored, "%s has no usage type %s", extConfig, name)
		}
		maps.Copy(want, types[name])
	}
	if strings.HasPrefix(want["blocksize"], "-") {
		want["blocksize"] = "4096"
	}
	_, counted := makeValue(c, extSyntax, "-N")
	var evidence []string
	for _, x := range []struct {
		key, flag string
		judge     func(value string) finding
	}{
		{"blocksize", "-b", func(v string) finding { return compareSize("block size", v, block) }},
		{"inode_ratio", "-i", func(v string) finding { return extRatio(s, v, block) }},
		{"inode_size", "-I", func(v string) finding { return compareSize("inode size", v, s.u16(0x58)) }},
	} {
		_, given := makeValue(c, extSyntax, x.flag)
		if want[x.key] == "" || given || counted && x.flag == "-i" {
			continue
		}
		f := x.judge(want[x.key])
		if f.State != result.InForce {
			return f
		}
		evidence = append(evidence, f.Evidence)
	}
	if len(evidence) == 0 {
		return found(result.Ignored, "other options set all that a usage type does")
	}
	return found(result.InForce, "%s", strings.Join(evidence, ", "))
}

// readProfile reads the sections of a file like mke2fs.conf(5), by the name of their own braces, or of
// their brackets: [section], name = { key = value }.
func readProfile(text string) map[string]map[string]string {
	sections := map[string]map[string]string{}
	top, name := "", ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		key, value, assigned := strings.Cut(line, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		switch {
		case strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";"):
		case strings.HasPrefix(line, "["):
			top, _, _ = strings.Cut(line[1:], "]")
			name = top
		case line == "}":
			name = top
		case assigned && value == "{":
			name = key
			sections[name] = map[string]string{}
		case assigned:
			if sections[name] == nil {
				sections[name] = map[string]string{}
			}
			sections[name][key] = value
		}
	}
	return sections
}

func extOption(s super, o makeOption) finding {
	block := int64(1024) << s.u32(0x18)
	switch o.Flag {
	case "-O":
		return extFeature(s, o.Value)
	case "-E", "-R":
		return extExtended(s, o.Value)
	case "-J":
		if o.Value == inMemory {
			// s_journal_inum of a journal inside, s_journal_dev of one outside.
			return onOff("a journal on another device in the superblock", true, s.u32(0xe0) == 0 && s.u32(0xe4) != 0)
		}
		key, value, _ := strings.Cut(o.Value, "=")
		// The superblock keeps a copy of the journal inode: its size is the
		// last of 17 words, if the copy is one (s_jnl_backup_type 1).
		if key == "size" && s.u8(0xfd) == 1 {
			want, ok := size(value)
			if !ok {
				return unseen()
			}
			return compare("journal of MiB", want, s.u32(0x10c+16*4)>>20)
		}
	case "-j":
		return onOff("has_journal in the superblock", true, s.bits(0x5c)&4 != 0)
	case "-b":
		return compareSize("block size", strings.TrimPrefix(o.Value, "-"), block)
	case "-I":
		return compareSize("inode size", o.Value, s.u16(0x58))
	case "-g":
		return compareSize("blocks in a group", o.Value, s.u32(0x20))
	case "-G":
		return compareSize("groups in a flex group", o.Value, int64(1)<<min(s.u8(0x174), 62))
	case "-C":
		return compareSize("cluster size", o.Value, int64(1024)<<min(s.u32(0x1c), 40))
	case "-N":
		// mke2fs rounds up to whole blocks of inodes in every group.
		if n, ok := size(o.Value); ok && s.u32(0) >= n {
			return found(result.InForce, "inodes %d", s.u32(0))
		}
		return found(result.Altered, "inodes %d", s.u32(0))
	case "-i":
		return extRatio(s, o.Value, block)
	case "-m":
		return extReserved(s, o.Value)
	case "-L":
		return compare("label", o.Value, s.text(0x78, 16))
	case "-U":
		if len(o.Value) == 36 {
			return compare("UUID", strings.ToLower(o.Value), s.uuid(0x68))
		}
	case "-r":
		return compareSize("revision", o.Value, s.u32(0x4c))
	case "-e":
		errors := map[int64]string{1: "continue", 2: "remount-ro", 3: "panic"}
		return compare("on errors", o.Value, errors[s.u16(0x3c)])
	case "-q", "-v", "-F", "-K", "-c", "-n", "-D", "-t", "-V":
		return traceless()
	}
	return unseen()
}

func extFeature(s super, word string) finding {
	if word == "none" {
		return found(result.Unverified, "it empties the list that later words fill")
	}
	name, off := strings.CutPrefix(word, "^")
	f, ok := extFeatures[name]
	if !ok {
		return found(result.Unverified, "whichfs does not know the bit of feature %s", name)
	}
	return onOff("feature "+name+" in the superblock", !off, s.bits(0x5c+4*f.word)&f.bit != 0)
}

func extExtended(s super, word string) finding {
	key, value, _ := strings.Cut(word, "=")
	switch key {
	case "stride":
		return compareSize("stride in the superblock", value, s.u16(0x164))
	case "stripe-width", "stripe_width":
		return compareSize("stripe width in the superblock", value, s.u32(0x170))
	case "mmp_update_interval":
		return compareSize("MMP interval", value, s.u16(0x166))
	case "discard", "nodiscard", "lazy_itable_init", "lazy_journal_init", "assume_storage_prezeroed":
		return traceless()
	}
	return unseen()
}

// extRatio: mke2fs rounds the number of inodes in every group, so on small filesystems the ratio is
// met only to within a few per cent.
func extRatio(s super, value string, block int64) finding {
	want, ok := size(value)
	inodes, blocks := s.u32(0), s.u32(4)
	if !ok || inodes == 0 {
		return unseen()
	}
	got := blocks * block / inodes
	if got*10 >= want*8 && got*10 <= want*12 {
		return found(result.InForce, "%d bytes for each inode", got)
	}
	return found(result.Altered, "%d bytes for each inode", got)
}

func extReserved(s super, value string) finding {
	percent, ok := size(value)
	if !ok {
		return unseen()
	}
	blocks, reserved := s.u32(4), s.u32(8)
	if reserved == blocks*percent/100 {
		return found(result.InForce, "%d of %d blocks are reserved", reserved, blocks)
	}
	return found(result.Altered, "%d of %d blocks are reserved", reserved, blocks)
}

const extSource = "whichfs lab (Linux 6.1, e2fsprogs 1.47); year and dates: M. Opdenacker, Finding the Best Block Filesystem, 2023; sizes: Linux Documentation/filesystems/ext4"

const extDocs = "Linux Documentation/filesystems/ext4, ext4(5)"

// extProperties: features are those of /etc/mke2fs.conf of e2fsprogs 1.47, which gives filesystems
// of every size inodes of 256 bytes, and only the type hurd 128.
func extProperties(c Candidate) Properties {
	four := c.FS == "ext4"
	journal := c.FS != "ext2"
	for _, o := range extSyntax.read(c.Make()) {
		journal = journal || o.Flag == "-j"
	}
	journal = featured(c, extSyntax, "-O", "has_journal", journal)
	p := Properties{
		PowerLoss:     lacks("keeps no journal: after a power loss it needs a full check, and may have lost more than the last writes", extDocs),
		Compression:   lacks(noCompress, extDocs),
		Encryption:    lacks(noFscrypt, "Linux Documentation/filesystems/fscrypt"),
		Checksums:     lacks("keeps no checksums of data", extDocs),
		MetaChecksums: lacksUnless("-O metadata_csum", noChecksums, extDocs),
		Journal:       lacks(noJournal, extDocs),
		Dates:         Dates{2446, "inodes of 256 bytes have room for 34 bits of seconds", labSource},
	}
	if journal {
		p.Journal = has("journals its metadata", extDocs)
		p.PowerLoss = has("journals its metadata", extDocs)
		if !switched(c, true, []string{"barrier", "barrier=1"}, []string{"nobarrier", "barrier=0"}) {
			p.PowerLoss = lacks(noFlush, labSource)
		}
		if c.JournalInMemory() {
			p.PowerLoss = lacks("keeps its journal in memory, where a power loss takes it", "mke2fs(8)")
		}
	}
	if featured(c, extSyntax, "-O", "metadata_csum", four) {
		p.MetaChecksums = has("keeps checksums of its metadata", extDocs)
	}
	if four {
		p.Encryption = lacksUnless("-O encrypt", "is made without the feature", "Linux Documentation/filesystems/fscrypt")
		if featured(c, extSyntax, "-O", "encrypt", false) {
			p.Encryption = has("can encrypt directories", "Linux Documentation/filesystems/fscrypt")
		}
	}
	kind, _ := makeValue(c, extSyntax, "-T")
	inode := makeSize(c, extSyntax, "-I")
	if inode == 128 || inode == 0 && kind == "hurd" {
		p.Dates = Dates{2038, "inodes of 128 bytes have room for 32 bits of seconds", labSource}
	}
	return p
}

// tuneExt: mke2fs takes both in blocks. The stride places bitmaps; the allocator tries to fill the
// stripe width at once (mke2fs(8)).
func tuneExt(g Geometry) Tuning {
	if g.Segment < block {
		return Tuning{Reason: noSegment}
	}
	stride := max(g.Page, block) / block
	width := g.Segment / block
	if width%stride != 0 { // mke2fs requires a multiple
		stride = 1
	}
	t := Tuning{Reason: fmt.Sprintf("The allocator then fills whole segments: the stripe width is a segment of %s and the stride a page of %s, in blocks of 4 KiB.",
		amount(g.Segment), amount(stride*block))}
	if g.Size < 512*mib { // mke2fs would use blocks of 1 KiB
		t.Words = []string{"-b", "4096"}
	}
	t.Words = append(t.Words, "-E", fmt.Sprintf("stride=%d,stripe_width=%d", stride, width))
	return t
}

// extPromises: Documentation/admin-guide/ext4.rst. With data=ordered, data are on storage before
// the metadata that belong to them are committed; with delayed allocation that holds for blocks
// that have been allocated, and auto_da_alloc, the default, allocates those of a file that is
// renamed over another, "in the default data=ordered mode". data=journal has no delayed allocation
// at all. data=writeback keeps no order between data and metadata, and old data may appear in files
// (ext4(5)). Transactions are replayed in sequence (Documentation/filesystems/ext4/journal.rst), so
// committing the inode of a new file by fsync also keeps its name; fast commits hold single inodes
// instead.
func extPromises(c Candidate) script.Promises {
	journal := c.FS != "ext2"
	for _, o := range extSyntax.read(c.Make()) {
		journal = journal || o.Flag == "-j"
	}
	if !featured(c, extSyntax, "-O", "has_journal", journal) {
		return script.Promises{NoJournal: true, Source: extDocs + ": without a journal a full check is needed after a crash"}
	}
	mode := "ordered"
	for _, o := range c.Mount() {
		if v, ok := strings.CutPrefix(o, "data="); ok {
			mode = v
		}
	}
	// ext3 has no delayed allocation (ext4.rst: "roughly the same level of
	// guarantees as ext3").
	allocates := c.FS == "ext3" || mode == "journal" ||
		switched(c, true, []string{"auto_da_alloc", "auto_da_alloc=1", "nodelalloc"}, []string{"noauto_da_alloc", "auto_da_alloc=0"}) ||
		!switched(c, true, []string{"delalloc"}, []string{"nodelalloc"})
	return script.Promises{
		NewName: true, AtomicReplace: true,
		ReplaceSyncs: mode != "writeback" && allocates,
		Ordered:      !featured(c, extSyntax, "-O", "fast_commit", false),
		NoStale:      mode != "writeback",
		Source:       "Linux Documentation/admin-guide/ext4 (data=, auto_da_alloc), filesystems/ext4/journal, ext4(5)",
	}
}

// extSays: fs/ext4/super.c, fs/ext4/orphan.c, fs/jbd2.
var extSays = says{
	Tags: []string{"ext4-fs", "ext3-fs", "ext2-fs", "jbd2", "aborting journal on"},
	Replay: []string{
		"recovery complete", "orphan inode", "orphan cleanup", "mounting unchecked fs", "recovery required", "enabled during recovery",
	},
	Idle: []string{"mounted filesystem", "unmounting filesystem"},
}

// extMagics: the superblock (include/uapi/linux/magic.h), and the blocks of jbd2
// (include/linux/jbd2.h: 0xC03B3998 and the kind of block, big endian).
var extMagics = []picture.Magic{
	{At: 1024 + 56, Bytes: "\x53\xef", Name: "ext superblock"},
	{At: picture.Anywhere, Bytes: "\xc0\x3b\x39\x98\x00\x00\x00\x01", Name: "journal: descriptor and blocks"},
	{At: picture.Anywhere, Bytes: "\xc0\x3b\x39\x98\x00\x00\x00\x02", Name: "journal: commit"},
	{At: picture.Anywhere, Bytes: "\xc0\x3b\x39\x98\x00\x00\x00\x03", Name: "journal: superblock"},
	{At: picture.Anywhere, Bytes: "\xc0\x3b\x39\x98\x00\x00\x00\x04", Name: "journal: superblock"},
	{At: picture.Anywhere, Bytes: "\xc0\x3b\x39\x98\x00\x00\x00\x05", Name: "journal: revoke"},
}

// extMaxSize: block numbers have 32 bits, and 48 with the feature 64bit, which /etc/mke2fs.conf of
// e2fsprogs 1.47 enables only for ext4.
func extMaxSize(c Candidate) (most int64, with string) {
	block := int64(4096)
	if n := makeSize(c, extSyntax, "-b"); n > 0 {
		block = n
	}
	if featured(c, extSyntax, "-O", "64bit", c.FS == "ext4") {
		return block << 48, ""
	}
	return block << 32, "-O 64bit"
}

// extNoDefragment: e4defrag exchanges extents, and refuses a file with a block map.
const extNoDefragment = "is refused by e4defrag, which needs extents"

// extAbilities are those that the three share, and more. The driver grows a mounted one into the
// room that mke2fs left for group descriptors (resize_inode). Before resize2fs works on an
// unmounted one, it requires a check.
func extAbilities(name string, more map[Ability]Means) map[Ability]Means {
	offline := steps(func(o Object) [][]string {
		return [][]string{{"e2fsck", "-f", "-y", o.Device}, {"resize2fs", o.Device, strconv.FormatInt(o.Size>>10, 10) + "K"}}
	})
	all := map[Ability]Means{
		GrowOnline:  onDevice("resize2fs"),
		GrowOffline: offline, ShrinkOffline: offline,
		Relabel: {Mounted: true, Steps: func(o Object) [][]string { return [][]string{{"tune2fs", "-L", o.Label, o.Device}} }},
		// With checksums of metadata, which contain it, only while it is not mounted.
		NewUUID: onDevice("tune2fs", "-U", "random"),
		OfflineImage: steps(func(o Object) [][]string {
			return [][]string{slices.Concat([]string{"mke2fs", "-q", "-F", "-t", name, "-d", o.Tree}, o.Options, []string{o.Image})}
		}),
	}
	maps.Copy(all, more)
	return all
}
