package study

import (
	"slices"
	"strings"

	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
)

// Names of candidates, storages, data and levels used by rows and claims.
const (
	dbgBtrfs = "btrfs"
	dbgLzo   = "btrfs -o compress=lzo"
	dbgZlib  = "btrfs -o compress=zlib"
	dbgZstd1 = "btrfs -o compress=zstd:1"
	dbgZstd3 = "btrfs -o compress=zstd:3"

	dbgUSB, dbgNVMe, dbgHDD = "ssd-sata-usb", "nvme", "hdd"

	dbgLarge, dbgSmall, dbgPacked, dbgGit = "large", "small", "packed", "git"
)

// dbgCompressed are the candidates that compress, in the order of the source.
var dbgCompressed = []string{dbgLzo, dbgZlib, dbgZstd1, dbgZstd3}

// dbgAmount is the amount of work at a scale.
type dbgAmount struct {
	tools     bool // the source's own programs read the trees as well, and data that is compressed already is written: a file and a .git
	published bool // every candidate with every variant
}

// dbgRecord is the larger of the records that tar is tried with, in bytes; the
// other is its default.
const dbgRecord = 1 << 20

// DevbuildGist compares filesystems and Btrfs's compressors for developers'
// build directories, one of large and one of small files, on a SATA SSD behind
// USB, an NVMe SSD and a hard disk.
func DevbuildGist() Study {
	candidates := append([]string{"ext4", "xfs", dbgBtrfs}, dbgCompressed...)
	quick := Scale{
		Candidates: candidates,
		Rounds:     3,
		Data:       []DataSet{{Name: dbgLarge, Set: "build-large-part"}, {Name: dbgSmall, Set: "build-small-part"}},
		RAM:        "ram:1G",
		StepLimit:  240,
		Amount:     dbgAmount{},
	}
	claims := quick
	quick.ByWall = Less{Storages: 1}
	claims.Data = append(slices.Clone(quick.Data), DataSet{Name: dbgPacked, Stream: 32 << 20}, DataSet{Name: dbgGit, Set: "gen:dot-git,32M"})
	claims.Amount = dbgAmount{tools: true}
	return Study{
		Name:       "devbuild-gist",
		Title:      "Which file system for daily work? Should btrfs compress?",
		Work:       "daily work: copying and reading large and many small files, compression",
		Source:     "kokizzu, which file sytem to use for daily work? should we turn on btrfs compression?, GitHub Gist 1b6bd230a9e9677d5ee89cc80ce7557a",
		Processors: 6, // Intel Core i7-9750H
		Scales: map[string]Scale{
			"quick":  quick,
			"claims": claims,
			"full": {
				Candidates: candidates,
				Rounds:     5,
				Data:       []DataSet{{Name: dbgLarge, Set: "build-large"}, {Name: dbgSmall, Set: "build-small"}, {Name: dbgPacked, Stream: 512 << 20}, {Name: dbgGit, Set: "gen:dot-git,256M"}},
				RAM:        "ram:8G",
				StepLimit:  7200,
				// Both trees (2.7 and 2.0 GB), the copy of one of them in memory, and a
				// cache of at least a quarter of a tree.
				Memory: 10 << 30,
				Amount: dbgAmount{tools: true, published: true},
			},
		},
		Storages: dbgStorages(),
		Scenario: dbgScenario,
		Factors:  dbgFactors,
		Columns:  dbgColumns(),
		Numbers:  dbgNumbers(),
		Choices:  dbgChoices(),
		Claims:   dbgClaims(),
	}
}

// dbgStorages are the published devices; the partitions had 25 GiB. Half of a
// device must hold a tree and the filesystem's own structures.
func dbgStorages() []Storage {
	specs := func(model string) map[string]string {
		return map[string]string{"quick": "sim:" + model + ",2G", "claims": "sim:" + model + ",2G", "full": "sim:" + model + ",25G"}
	}
	// With three on each, quick takes longer than three minutes.
	fewer := map[string]int{"quick": 2}
	return []Storage{
		{Key: dbgUSB, Label: "SATA SSD on USB 3 (Intel SSD 530, 480 GB)", Specs: specs("devbuild-usb-ssd")},
		{Key: dbgNVMe, Label: "NVMe SSD (Intel SSD 660p, 512 GB)", Specs: specs("devbuild-nvme"), Rounds: fewer},
		{Key: dbgHDD, Label: "hard disk (Seagate One Touch, 5 TB)", Specs: specs("devbuild-hdd"), Rounds: fewer},
	}
}

// dbgFactors: the source's trials shared a partition. Its repetitions (ext4.1) began with the tree of
// the first one in it; it was up to a fifth full on the SSD behind USB, and half full on the other.
func dbgFactors(s Scale, _ Storage) []scenario.Factor {
	amount := s.Amount.(dbgAmount)
	if !amount.tools {
		return nil
	}
	holding := func(name string, earlier scenario.Step) scenario.Variant {
		earlier.Data, earlier.Dir = dbgLarge, "earlier"
		return scenario.Variant{Name: name, Before: dbgLarge + "-first", Earlier: scenario.Scenario{earlier}}
	}
	full := func(name string, share float64) scenario.Variant {
		return holding(name, scenario.Step{Work: "fill-size", Share: share})
	}
	f := scenario.Factor{Name: "in use before", Reference: "nothing", Keys: []string{"check"},
		Levels: []scenario.Variant{holding("one tree", scenario.Step{Work: "tree-preserve"}), full("half", 0.5)}}
	for _, d := range []string{dbgLarge, dbgSmall} {
		f.Keys = append(f.Keys, d+"-write", d+"-pipe", d+"-fetch", d+"-remove")
	}
	if amount.published {
		f.Levels = append(f.Levels, full("a fifth", 0.2))
	} else {
		f.Candidates = []string{"ext4", "xfs", dbgBtrfs}
	}
	return []scenario.Factor{f}
}

// dbgScenario is the published order of work, for one tree after the other.
// Before the measured write an old copy is deleted; deleting and trimming are
// timed separately. Before every read the filesystem is remounted. As printed,
// the consumer of tar's stream reads /dev/null; the published speeds are those
// of a stream that was read, and so are ours.
func dbgScenario(readOnly bool, scale Scale) scenario.Scenario {
	s := scenario.Scenario{{Work: "discard"}}
	if !readOnly {
		s = append(s, scenario.Step{Work: "mkfs", Phase: "mkfs"}, scenario.Step{Work: "mount", Phase: "mount"})
	}
	for i, d := range []string{dbgLarge, dbgSmall} {
		dir := d
		if readOnly {
			dir = "" // the image holds the tree at its top
			if i > 0 {
				s = append(s, scenario.Step{Work: "unmount"})
			}
			s = append(s, scenario.Scenario{
				{Work: "image", Phase: d + "-image", Data: d},
				{Work: "flash", Phase: d + "-write"},
				{Work: "mount"},
			}...)
		} else {
			s = append(s, scenario.Scenario{
				{Work: "tree-preserve", Phase: d + "-first", Data: d, Dir: dir},
				{Work: "tree-remove", Phase: d + "-remove", Dir: dir},
				{Work: "trim", Phase: d + "-trim"},
				{Work: "space", Phase: d + "-before"},
				{Work: "tree-preserve", Phase: d + "-write", Data: d, Dir: dir},
			}...)
		}
		s = append(s, scenario.Scenario{
			{Work: "space", Phase: d + "-space"},
			{Work: "compression", Phase: d + "-compression", Data: d, Dir: dir},
			{Work: "remount"},
			{Work: "tree-pipe", Phase: d + "-pipe", Data: d, Dir: dir},
			{Work: "remount"},
			{Work: "tree-fetch", Phase: d + "-fetch", Data: d, Dir: dir},
		}...)
		if scale.Amount.(dbgAmount).tools {
			s = append(s, scenario.Scenario{
				{Work: "remount"},
				{Work: "tar-pipe", Phase: d + "-tar", Data: d, Dir: dir},
				{Work: "remount"},
				{Work: "tar-pipe", Phase: d + "-tar-records", Data: d, Dir: dir, Block: dbgRecord},
				{Work: "remount"},
				{Work: "cp-fetch", Phase: d + "-cp", Data: d, Dir: dir},
			}...)
		}
		if !readOnly && d == dbgLarge {
			s = append(s, scenario.Step{Work: "tree-remove", Dir: dir}, scenario.Step{Work: "trim"})
		}
	}
	if scale.Amount.(dbgAmount).tools && !readOnly {
		s = append(s, scenario.Scenario{
			{Work: "tree-remove", Dir: dbgSmall},
			{Work: "trim"},
			{Work: "stream-write", Phase: dbgPacked + "-write", Data: dbgPacked, Dir: dbgPacked},
			{Work: "compression", Phase: dbgPacked + "-compression", Dir: dbgPacked},
			{Work: "remount"},
			{Work: "stream-read", Phase: dbgPacked + "-read", Data: dbgPacked, Dir: dbgPacked},
			{Work: "tree-preserve", Phase: dbgGit + "-write", Data: dbgGit, Dir: dbgGit},
			{Work: "compression", Phase: dbgGit + "-compression", Data: dbgGit, Dir: dbgGit},
			{Work: "remount"},
			{Work: "tree-fetch", Phase: dbgGit + "-read", Data: dbgGit, Dir: dbgGit},
		}...)
	}
	return append(s, scenario.Scenario{{Work: "unmount", Phase: "unmount"}, {Work: "check", Phase: "check"}}...)
}

func dbgColumns() []Column {
	var all []Column
	for _, d := range []string{dbgLarge, dbgSmall} {
		all = append(all, dbgTimes(d)...)
	}
	for _, d := range []string{dbgLarge, dbgSmall} {
		all = append(all, dbgShares(d)...)
	}
	for _, d := range []string{dbgLarge, dbgSmall} {
		all = append(all, dbgBeside(d)...)
	}
	packed := func(d, name, phase, metric, unit, about string) Column {
		return Column{Name: name + ", " + d, Key: d + "-" + strings.ToLower(name), Unit: unit, Extra: true, Terms: []Term{{d + "-" + phase, metric}}, About: about}
	}
	processor := func(d string) Column {
		return Column{Name: "Processor, write, " + d, Key: d + "-cpu", Unit: "s", Extra: true,
			Terms: []Term{{d + "-write", result.CPUUser}, {d + "-write", result.CPUSystem}, {d + "-write", result.CPUKernel}},
			About: "processor time of that writing, including kernel threads"}
	}
	return append(all,
		packed(dbgPacked, "Write", "write", result.Wall, "s", "writing a file that cannot be compressed, like media, until it is on storage"),
		packed(dbgPacked, "Read", "read", result.Wall, "s", "reading that file from cold caches"),
		packed(dbgPacked, "Ratio", "compression", result.CompressRatio, "1", "bytes that that file takes, over its length"),
		processor(dbgPacked),
		packed(dbgGit, "Write", "write", result.Wall, "s", "writing a tree like a .git, whose packs and objects are compressed already, until it is on storage"),
		packed(dbgGit, "Read", "read", result.Wall, "s", "copying that tree from cold caches into a file system in memory"),
		packed(dbgGit, "Ratio", "compression", result.CompressRatio, "1", "bytes that the contents of that tree take, over their length"),
		processor(dbgGit),
		Column{Name: "Make", Key: "mkfs", Unit: "s", Extra: true, Terms: []Term{{"mkfs", result.Wall}}, About: "making the empty filesystem"},
		Column{Name: "Check", Key: "check", Unit: "s", Extra: true, Terms: []Term{{"check", result.Wall}}, About: "a check without repair after a clean unmount"})
}

// dbgTimes are the columns of speed in the published tables.
func dbgTimes(d string) []Column {
	rw, both := []string{"read-write"}, []string{"read-write", "read-only"}
	return []Column{
		{Name: "Write, " + d, Key: d + "-write", Unit: "s", Uses: rw, Terms: []Term{{d + "-write", result.Wall}}, Per: result.DataBytes,
			About: "copying the tree of " + d + " files with owners, modes and times, until it is on storage, after an old copy was deleted and trimmed"},
		{Name: "Read as a stream, " + d, Key: d + "-pipe", Unit: "s", Uses: both, Terms: []Term{{d + "-pipe", result.Wall}}, Per: result.DataBytes,
			About: "reading the tree of " + d + " files from cold caches into a pipe that another thread empties"},
		{Name: "Read into memory, " + d, Key: d + "-fetch", Unit: "s", Uses: both, Terms: []Term{{d + "-fetch", result.Wall}}, Per: result.DataBytes,
			About: "copying the tree of " + d + " files from cold caches into a file system in memory"},
	}
}

// dbgShares are the columns of space and compression in the published tables.
func dbgShares(d string) []Column {
	one := func(name, key, unit, phase, metric, about string) Column {
		return Column{Name: name + ", " + d, Key: d + "-" + key, Unit: unit, Terms: []Term{{d + "-" + phase, metric}}, About: about}
	}
	// More is not worse.
	level := func(name, key, unit, phase, metric, about string) Column {
		c := one(name, key, unit, phase, metric, about)
		c.Level = true
		return c
	}
	return []Column{
		one("Compressed to", "ratio", "1", "compression", result.CompressRatio, "bytes that the contents of the tree of "+d+" files take, over their length"),
		one("Disk use", "disk", "B", "compression", result.CompressDisk, "bytes that the contents of the tree of "+d+" files take"),
		level("In use before", "full", "1", "before", result.SpaceFull, "share of the filesystem's space in use before the tree of "+d+" files is written"),
		level("Uncompressed", "plain", "B", "compression", result.CompressPlain, "length of those contents, in whole blocks where they have any"),
		{Name: "Stored plain, " + d, Key: d + "-none", Unit: "1", Level: true, Terms: []Term{{d + "-compression", result.CompressNone}}, Over: []Term{{d + "-compression", result.CompressPlain}},
			About: "share of the contents of the tree of " + d + " files that is not compressed"},
		one("Compressed part to", "rest", "1", "compression", result.CompressRest, "bytes that the rest of those contents takes, over its length"),
		level("Regular extents", "regular", "1", "compression", result.ExtentsRegular, "extents of the tree of "+d+" files in blocks of their own"),
		level("Inline extents", "inline", "1", "compression", result.ExtentsInline, "extents of the tree of "+d+" files within the metadata"),
		level("Files", "files", "1", "compression", result.DataFiles, "regular files that these extents belong to"),
	}
}

// dbgBeside are our columns: the source's work between its measurements, and
// the processor cost of each measurement.
func dbgBeside(d string) []Column {
	cpu := func(name, phase string) Column {
		p := d + "-" + phase
		return Column{Name: "Processor, " + name + ", " + d, Key: p + "-cpu", Unit: "s", Extra: true,
			Terms: []Term{{p, result.CPUUser}, {p, result.CPUSystem}, {p, result.CPUKernel}},
			About: "processor time of that work, including kernel threads"}
	}
	wall := func(name, phase, about string) Column {
		return Column{Name: name + ", " + d, Key: d + "-" + phase, Unit: "s", Extra: true, Terms: []Term{{d + "-" + phase, result.Wall}}, About: about}
	}
	return []Column{
		{Name: "Space, " + d, Key: d + "-space", Unit: "B", Extra: true, Terms: []Term{{d + "-space", result.SpaceUsed}},
			About: "used space with the tree of " + d + " files, as the filesystem itself counts it"},
		{Name: "Copied, " + d, Key: d + "-copied", Unit: "s", Extra: true, Terms: []Term{{d + "-write", result.CopiedAfter}}, Per: result.DataBytes,
			About: "of the time of writing, until the last file is copied: the data may still be in memory"},
		{Name: "Highest rate, " + d, Key: d + "-fetch-peak", Unit: "B/s", Extra: true, Level: true, Terms: []Term{{d + "-fetch", result.DevicePeakRead}},
			About: "what the device delivered in the fastest second of reading into memory, as iostat shows it; none where that takes less than a second"},
		{Name: "Highest rate written, " + d, Key: d + "-write-peak", Unit: "B/s", Extra: true, Level: true, Terms: []Term{{d + "-write", result.DevicePeakWritten}},
			About: "what the device took in the fastest second of writing; none where that takes less than a second"},
		wall("tar", "tar", "the program itself: tar -c from cold caches into a pipe that is emptied"),
		wall("tar, records of 1 MiB", "tar-records", "tar -c -b 2048 likewise"),
		wall("cp -a", "cp", "the program itself: cp -a from cold caches into a file system in memory"),
		wall("First copy", "first", "writing the tree of "+d+" files for the first time"),
		wall("Remove", "remove", "deleting that copy, until the deletion is on storage"),
		wall("Trim", "trim", "discarding the free space (fstrim)"),
		cpu("write", "write"), cpu("read as a stream", "pipe"), cpu("read into memory", "fetch"),
	}
}
