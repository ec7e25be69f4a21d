// Package filesystem holds what whichfs knows about filesystems: one file per type, one explicit
// list (all.go). A file holds everything about its filesystem; ext.go and fat.go hold what families
// share. To add one, write its file, add a line to the list, and satisfy TestContract, which
// compares each file with captured texts (testdata) and with results from the laboratory (tried).
//
// The package builds argument vectors and interprets the output of tools and kernels; it starts no
// program and opens no device, so everything in it can be tested with captured texts. The agent
// does the rest.
package filesystem

import (
	"whichfs/internal/fault/picture"
	"whichfs/internal/fault/script"
	"whichfs/internal/result"
)

// Filesystem is one filesystem type of the kernel and its tools.
type Filesystem struct {
	// Name is the type as mount(8) and candidates write it: "ext4".
	Name string
	// Title is its proper spelling: "Btrfs".
	Title string
	// Module is the kernel module that drives it ("ext4" for ext2 and ext3).
	Module string
	// OtherModules are names that the module has if it is built separately with other settings.
	OtherModules []string
	// Codecs are kernel modules that the driver requests by itself only when an option needs them
	// and that belong to its load: option value → modules (nls modules of vfat, for instance, under
	// the key "").
	Codecs map[string][]string
	// Asks are kernel modules that the init functions of the driver and of what it needs request by
	// themselves: they are loaded before it, if they are modules.
	Asks []string
	// ReadOnly filesystems are made as an image of a tree and written to the
	// storage; they have Image, the others Make.
	ReadOnly bool
	// Ways are how it can get onto raw flash, the default first; nil: it cannot.
	Ways []Way
	// Raw: it works only on raw flash and on no block device.
	Raw bool
	// FlashImage is the argument vector that makes an image of the directory tree for a chip with
	// erase blocks of the given size, for filesystems whose Ways have WayImage; several steps if
	// one tool does not do it all.
	FlashImage func(c Candidate, eraseBlock int64, image, tree string) [][]string
	// Source is the device name for mount(2) for an MTD device ("mtd0"); nil: the MTD name itself.
	Source func(mtd string) string
	// NotMainline says since when, or that, Linux itself lacks it, for drivers that must be built
	// separately; "" for all others.
	NotMainline string
	// NotDebian says that Debian's kernels lack it although Linux has it; "" for all others.
	NotDebian string
	// Kbuild are the files, by path, that a copy of the driver's own source needs before the
	// kernel's makefiles make the module in it; read returns a file of the source, "" if there is
	// none. nil: the source has them all.
	Kbuild func(read func(path string) string) map[string]string
	// Reflink: FICLONE works on it as made by default.
	Reflink bool
	// Compressed is how it reports the compression of files that were written to it; empty: it does
	// not compress.
	Compressed Compressed
	// LateWork is the driver's kernel thread that works once after a mount, at a random time; "":
	// none.
	LateWork string
	// Remembers is the control device of a driver that remembers every device that it has seen, and
	// treats an older state of a filesystem as an error; "": it forgets devices when they are
	// unmounted.
	Remembers string
	// Lacks says what a candidate cannot hold, given its options.
	Lacks func(c Candidate) Lacks
	// Needs lists the tools with the Debian packages that contain them.
	Needs []Tool
	// MinSize is the smallest storage, in bytes, for which the tools of Debian 12 make and the
	// kernel mounts it, with these mkfs options.
	MinSize func(c Candidate) int64
	// Chip says why raw flash cannot hold it, whose pages or erase blocks may not suit it, and what
	// would help; nil: any flash of MinSize can.
	Chip func(c Candidate, chip Chip) (reason, hint string)
	// LeftOut says what mkfs has silently left out of a filesystem that is mounted, because the
	// storage is small, and "" if nothing; nil: it never does.
	LeftOut func(c Candidate, seen Evidence) string
	// MaxSize is the largest storage, in bytes, that it fills with these mkfs options, and the mkfs
	// options that would fill a larger one, if any.
	MaxSize func(c Candidate) (most int64, with string)
	// Block is the block size in bytes that a candidate's mkfs options ask for, 0 if none does, and the
	// kernels that mount blocks larger than their pages, "" if none does; nil: it has no such option.
	Block func(c Candidate) (size int64, larger string)
	// Make is the argument vector that makes the filesystem on device.
	// Candidate's own mkfs options come verbatim.
	Make func(c Candidate, device string) []string
	// Made says why a filesystem that is written in place and has no Make needs no mkfs.
	Made string
	// Journal is for candidates that keep their journal in memory instead of on the storage
	// (JournalInMemory); nil: it cannot.
	Journal *Journal
	// Image is the argument vector that makes image from the directory tree.
	Image func(c Candidate, image, tree string) []string
	// MountOptions are passed in addition to the candidate's, comma-separated words.
	// Nearly always empty: defaults are what users get.
	MountOptions []string
	// Doubts says what a candidate asks of the tool of Image that it may have been built without, a
	// clause whose subject is the tool; "": nothing. An image of an empty directory shows it.
	Doubts func(c Candidate) (lacks string)
	// Optional are mount options that not every kernel's driver takes, with the kernels that have
	// them; each is offered to the driver before a trial.
	Optional map[string]string
	// Config are options of the kernel's configuration that change what the driver does.
	Config []string
	// Daemon is a program that works beside it while it is mounted; nil: there is none.
	Daemon *Daemon
	// Check is the argument vector of a check without repair; nil if the
	// filesystem has no check tool (NoCheck says why).
	Check   func(device string) []string
	NoCheck string
	// ReadCheck interprets the exit status and output of Check.
	ReadCheck func(status int, output string) CheckResult
	// Repair are the argument vectors that repair what they can without asking, the gentlest first:
	// if it mounts and its check reports errors, the first one is run; if it does not mount, they
	// are run in turn until it does. nil if no tool repairs it (NoRepair says why).
	Repair   func(device string) [][]string
	NoRepair string
	// ReadRepair interprets the exit status and output of one of Repair.
	ReadRepair func(status int, output string) RepairResult
	// Promises are what a candidate promises about the state after a power loss, beyond POSIX, with
	// their source; nil: nothing beyond it.
	Promises func(c Candidate) script.Promises
	// Verify reads what the mounted filesystem, its superblock and the kernel show, and says of
	// every option of the candidate whether it is in force.
	Verify func(c Candidate, seen Evidence) []result.Option
	// Tune is the mkfs option that follows from the storage's geometry; nil for read-only
	// filesystems. It cannot be -o, which a candidate gives to mount.
	Tune func(g Geometry) Tuning
	// Properties are those of a candidate by design and by its options.
	Properties func(c Candidate) Properties
	// Own are the names in the root directory that its own tools create: mkfs, or a repair.
	Own []string
	// OneUUID: the driver identifies filesystems by UUID and does not mount a second one with the
	// same UUID.
	OneUUID bool
	// NoPrecondition says why storage cannot be preconditioned with it, filled and emptied again
	// before the work; "" if it can.
	NoPrecondition string
	// Magics are the byte sequences by which its blocks are recognised in a log of writes.
	Magics []picture.Magic
	// Threads are glob patterns (path.Match) of the kernel threads that belong
	// to the filesystem; "%d" stands for the device's kernel name ("vda").
	Threads []string
	// Abilities are what tools can do to it, as tried in the laboratory.
	Abilities map[Ability]Means
	// Unable says why it lacks an ability for which there is a tool, a clause whose subject is the
	// filesystem.
	Unable map[Ability]string
	// Facts for the facts table.
	Facts Facts

	// syntax describes how its mkfs tool parses its words.
	syntax syntax
	// says describes its driver's messages in the kernel's log.
	says says
}

// crc32c are the modules that compute CRC-32C, plainly and with the instructions that some processors have. The driver
// of ext4 requests one by the name of the checksum when it mounts, and libcrc32c when it is loaded.
var crc32c = []string{"crc32c_generic", "crc32c_intel", "crc32_arm_ce"}

// holdsAll is for filesystems that can store everything in a tree of Linux files.
func holdsAll(Candidate) Lacks { return Lacks{} }

// Lacks says what a candidate cannot hold.
type Lacks struct {
	Symlinks bool
	Owners   bool // and modes
	// MaxGroup is the largest group number that it stores; 0: every one.
	MaxGroup  uint32
	Specials  bool // device nodes, sockets, fifos
	Hardlinks bool
	// FoldsCase: names that differ only in case are equal.
	FoldsCase bool
	// Name reports whether a file may have this name; nil: every name may.
	Name func(name string) bool
	// MaxFile is the size limit of a file in bytes; 0: none that matters.
	MaxFile int64
	// MaxImage is the size limit of an image, compressed as it is, in bytes; 0: none that matters.
	MaxImage int64
}

// Holds names what a filesystem preserves of a tree of Linux files: of symlinks, owners, groups,
// specials, hardlinks, case and colons in names.
func (l Lacks) Holds() []string {
	var holds []string
	for _, x := range []struct {
		what string
		lack bool
	}{
		{"symlinks", l.Symlinks}, {"owners", l.Owners}, {"groups", l.Owners || l.MaxGroup > 0 && l.MaxGroup < 1<<16-1}, {"specials", l.Specials},
		{"hardlinks", l.Hardlinks}, {"case", l.FoldsCase}, {"colons", l.Name != nil && !l.Name("q:")},
	} {
		if !x.lack {
			holds = append(holds, x.what)
		}
	}
	return holds
}

// Compressed is how a filesystem reports its compression.
type Compressed string

// The ways in which filesystems report their compression.
const (
	CompressedExtents Compressed = "extents" // each extent's, to btrfs-compsize
	CompressedBlocks  Compressed = "blocks"  // the blocks saved of each file and since the mount, as f2fs counts them
)

// Tool is a program and where to get it.
type Tool struct {
	Program string // "mkfs.ext4"
	Package string // Debian's: "e2fsprogs"
	// From is where to get it if Debian has no such package.
	From string
	// Optional tools are not needed to run the candidate (check tools: the
	// check is absent with this reason).
	Optional bool
}

// Absent says that a machine lacks the tool.
func (t Tool) Absent() string { return t.Program + " is not installed" }

// CheckResult is the result of a check without repair.
type CheckResult struct {
	Clean bool
	// Broken: the tool itself failed; the state of the filesystem is unknown.
	Broken bool
	Reason string // one line; empty when clean
}

// Mended is the result of an attempt to repair. The zero value is invalid.
type Mended int

// The possible results of a repair.
const (
	// NothingToMend: the tool found nothing wrong.
	NothingToMend Mended = iota + 1
	// WasMended: it found errors and reports that none is left.
	WasMended
	// NotMended: it refuses, gave up, or reports errors left.
	NotMended
	// MendBroken: the tool itself failed; the state of the filesystem is unknown.
	MendBroken
)

// RepairResult is the result of one attempt to repair.
type RepairResult struct {
	Mended Mended
	Reason string // one line; empty where there was nothing to mend
}

// Evidence is what is visible of a filesystem while it is mounted.
type Evidence struct {
	// Mount are the options that the kernel shows in /proc/self/mountinfo, per-mount and
	// per-superblock ones together, in order.
	Mount []string
	// Device is the kernel name of the device ("vda", "loop0", "mmcblk0p3").
	Device string
	// Read reads the device (the superblock, for instance).
	Read func(offset int64, length int) ([]byte, error)
	// File reads a whole file: of /sys or /proc, or a tool's configuration.
	File func(path string) (string, error)
	// Command runs a read-only tool and returns its standard output.
	Command func(argv ...string) (string, error)
	// MountPoint is where it is mounted.
	MountPoint string
	// Daemon: the filesystem's Daemon runs beside it.
	Daemon bool
}

// Facts are the properties in the facts table. Sizes in bytes; 0: unknown or without a limit that
// matters.
type Facts struct {
	Year        int    // of its first release in Linux or elsewhere
	Design      string // "journaling", "copy-on-write", "log-structured", "read-only", "plain"
	Compression string // algorithms, or "" for none
	Encryption  bool
	DatesUntil  string // last year it can write: "2038", "2446"
	MaxFile     string // as its documentation states it
	MaxSize     string
	Source      string // where these come from
}
