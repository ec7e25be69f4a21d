package study

import (
	"fmt"
	"slices"

	"whichfs/internal/plan/scenario"
	"whichfs/internal/probe"
	"whichfs/internal/result"
)

// The published rows: one per filesystem, in the order of the tables.
const (
	p12Ext2      = "ext2"
	p12Ext3      = "ext3"
	p12Ext4      = "ext4"
	p12NoJournal = "ext4 -O ^has_journal"
	p12Vfat      = "vfat"
)

// The levels of the factors, and the cards.
const (
	p12Noatime = "noatime"
	p12Dirsync = "noatime,dirsync"
	p12Always  = "strictatime"
	p12Fewer   = "noatime, fewer files"
	p12Stride  = "stride"
	p12Shifted = "shifted"
	p12Aged    = "aged"

	p12Card1 = "sdxc-64g"
	p12Card2 = "sdhc-16g"
	p12Card3 = "microsdhc-16g"
	p12Open3 = "microsdhc-16g-open" // the third, too
)

func p12Candidates() []string {
	return []string{p12Ext2, p12Ext3, p12Ext4, p12NoJournal, p12Vfat}
}

// p12Amount is the amount of work at a scale.
type p12Amount struct {
	file        int64 // B, of the one large file
	files, dirs int   // empty files, and their directories
	seeks       int
	settle      int  // s, for which the card is left idle before the run: a minute as published
	claims      bool // every variant that a claim needs
	published   bool // every candidate with every variant
}

func (s Scale) p12() p12Amount { return s.Amount.(p12Amount) }

// p12Small takes minutes instead of hours.
var p12Small = p12Amount{file: 64 << 20, files: 2048, dirs: 2, seeks: 128, settle: 1}

// p12ForClaims adds what the claims need.
func p12ForClaims(a p12Amount) p12Amount {
	a.claims = true
	return a
}

// Pandora2012 compares filesystems for the SD cards of a handheld with 512 MiB
// of memory, by the tests of Bonnie++ in their own order.
func Pandora2012() Study {
	return Study{
		Name:       "pandora-2012",
		Title:      "SD-card filesystem benchmarks",
		Work:       "a card of files: streams, rewriting, seeks, many empty files",
		Source:     "SD-card filesystem benchmarks (Bonnie++ on a 512 MB Pandora, Debian squeeze), web page of June and July 2012",
		Board:      "pandora",
		Processors: 1,
		Scales: map[string]Scale{
			// The file is twice the memory left for caches, as on the Pandora; the
			// guest's own memory is larger than any file that is written in minutes, so
			// the rest is reserved (hold-memory).
			"quick": {
				Candidates: p12Candidates(), Rounds: 3, StepLimit: 120, ByWall: Less{Storages: 1, Rounds: 2, Once: true},
				Memory: 192 << 20, Amount: p12Small,
			},
			"claims": {
				Candidates: p12Candidates(), Rounds: 3, StepLimit: 120,
				Memory: 512 << 20, Amount: p12ForClaims(p12Small),
			},
			"full": {
				Candidates: p12Candidates(), Rounds: 5, StepLimit: 7200,
				Memory: 512 << 20, Amount: p12Amount{file: 1 << 30, files: 102_400, dirs: 100, seeks: 8000, settle: 60, claims: true, published: true},
			},
		},
		Storages: p12Storages(),
		Scenario: p12Scenario,
		Factors:  p12Factors,
		Columns:  p12Columns(),
		Numbers:  p12Numbers(),
		Claims:   p12Claims(),
		Cards:    p12Described(),
	}
}

// p12Storages: the simulated cards, reduced to the size that the work needs.
// The behaviour of a card depends on its segments and not on their number; but
// the file has to occupy more of them than the card keeps open, or seeks and
// rewriting would never hit a closed one.
func p12Storages() []Storage {
	card := func(key, label string, erase, file int64) Storage {
		sim, quick := "sim:pandora-"+key, p12Small
		quick.file = file
		return Storage{Key: key, Label: label, EraseBlock: erase, Amount: map[string]any{"quick": quick, "claims": p12ForClaims(quick)},
			Specs: map[string]string{"quick": sim + ",640M", "claims": sim + ",640M", "full": sim + ",8G"}}
	}
	// The page finds 5 open units in the third card, as in the first, and figures that these do not
	// explain: there is a model of either.
	open := card(p12Open3, "16 GB microSDHC, class 10, by its open units", 4<<20, 56<<20)
	open.At = "full"
	return []Storage{
		card(p12Card1, "64 GB SDXC, class 10 (Platinum)", 8<<20, 64<<20),
		card(p12Card2, "16 GB SDHC, class 6 (extrememory Performance)", 2<<20, 56<<20),
		card(p12Card3, "16 GB microSDHC, class 10 (SanDisk Mobile Ultra)", 4<<20, 56<<20),
		open,
	}
}

// p12Described are the three cards as the page describes them.
func p12Described() []probe.Report {
	var out []probe.Report
	for i, c := range []struct{ read, write, open float64 }{{15e6, 15e6, 5}, {13.5e6, 16.1e6, 3}, {18.8e6, 12.6e6, 5}} {
		const where = "the page's paragraph on this card; the speeds with dd on the bare device"
		on := p12Storages()[i]
		finding := func(key string, value float64, unit string) probe.Finding {
			return probe.Finding{Key: key, Value: value, Unit: unit, Evidence: where}
		}
		out = append(out, published("pandora-2012", on.Key, on.Label, []probe.Finding{
			finding(probe.ReadSpeed, c.read, "B/s"), finding(probe.WriteSpeed, c.write, "B/s"),
			finding(probe.SegmentSize, float64(on.EraseBlock), "B"),
			finding(probe.OpenLinear, c.open, "1")}))
	}
	return out
}

// p12FirstSector is where old partitioning programs start the first partition,
// in bytes: after one track of 63 sectors.
const p12FirstSector = 63 * 512

// p12Few is the share of the files made where every change of a directory waits
// for the card: 10,240 instead of 102,400, as published.
const p12Few = 0.1

// p12Factors: mount options were varied only on the first card; alignment and
// stride are findings about all of them. The claims need dirsync with vfat, and
// access times recorded at every read, as well.
func p12Factors(s Scale, on Storage) []scenario.Factor {
	few := func(candidates ...string) []string {
		if s.p12().published {
			return nil
		}
		return candidates
	}
	block := on.EraseBlock
	if block == 0 { // the user's own storage
		block = 4 << 20
	}
	const fsBlock = 4096
	factors := []scenario.Factor{{
		Name: "alignment", Reference: "aligned", Candidates: few(p12Ext4),
		Levels: []scenario.Variant{{Name: p12Shifted, Part: &scenario.Part{Shift: p12FirstSector}}},
	}}
	row := [][]string{{}, {p12Noatime}, {p12Noatime, "dirsync"}}
	others := on.Key != p12Card1 && on.Key != "" // the user's own storage is varied like the first card
	if others {
		row = row[:1]
	}
	if s.p12().claims { // of each filesystem the page had one, for all runs
		factors = append(factors, scenario.Factor{
			Name: "age", Reference: "fresh", Candidates: few(p12Ext4), Once: s.p12().published,
			Levels: []scenario.Variant{{Name: p12Aged, Earlier: p12Row(s.p12(), row), Before: "block-write"}},
		})
	}
	if others {
		return factors
	}
	mounted := few(p12Ext4)
	if s.p12().claims && mounted != nil {
		mounted = append(mounted, p12Vfat)
	}
	stride := few(p12Ext4)
	if stride == nil {
		stride = []string{p12Ext3, p12Ext4}
	}
	if s.p12().claims {
		factors = append(factors, scenario.Factor{
			Name: "access times", Reference: "relatime", Candidates: []string{p12Ext4},
			Levels: []scenario.Variant{{Name: p12Always, Mount: []string{"strictatime"}}},
		})
	}
	options := []scenario.Variant{
		{Name: p12Noatime, Mount: []string{"noatime"}},
		{Name: p12Dirsync, Mount: []string{"noatime", "dirsync"}, Files: p12Few},
	}
	if s.p12().claims { // what of dirsync's effects is that of the number of files
		options = append(options, scenario.Variant{Name: p12Fewer, Mount: []string{"noatime"}, Files: p12Few})
	}
	return append([]scenario.Factor{
		{Name: "mount options", Reference: "relatime", Candidates: mounted, Levels: options},
		{Name: "stride", Reference: "none", Candidates: stride, Levels: p12Strides(s.p12().claims, block/fsBlock)},
	}, factors...)
}

// p12Pieces are what a stride and a stripe width can be besides the card's erase block, in blocks of the
// filesystem: a page of 16 KiB, an erase block of a chip of 128 KiB, and 1 MiB between that and the card's.
var p12Pieces = []int64{4, 32, 256}

// p12Strides: the page tried "a lot of different combinations" and names none. The first level is the
// one that follows from the card; with all, there is every pair of pieces, since mke2fs takes only a
// width that is a multiple of the stride.
func p12Strides(all bool, erase int64) []scenario.Variant {
	level := func(name string, stride, width int64) scenario.Variant {
		return scenario.Variant{Name: name, Make: []string{"-E", fmt.Sprintf("stride=%d,stripe-width=%d", stride, width)}}
	}
	list := []scenario.Variant{level(p12Stride, erase, erase)}
	if !all {
		return list
	}
	for i, stride := range p12Pieces {
		for _, width := range p12Pieces[i:] {
			list = append(list, level(p12Pair(stride, width), stride, width))
		}
		list = append(list, level(p12Pair(stride, 0), stride, erase))
	}
	return list
}

// p12Pair names a level; width 0 is an erase block of the card.
func p12Pair(stride, width int64) string {
	if width == 0 {
		return fmt.Sprintf("stride %d, width of an erase block", stride)
	}
	return fmt.Sprintf("stride %d, width %d", stride, width)
}

// p12Pairs are the names of all levels but the first.
func p12Pairs() (names []string) {
	for _, v := range p12Strides(true, 1024)[1:] {
		names = append(names, v.Name)
	}
	return names
}

// p12Dir is the directory of all work, like Bonnie++'s below its argument.
const p12Dir = "bonnie"

// p12Reads is the phase of our own in which many files are read.
const p12Reads = "read-files"

// Bonnie++ 1.96 has five processes for its seeks, of which one in ten writes
// back what it read, and moves data in chunks of 8 KiB.
const (
	p12Seekers = 5
	p12Rewrite = 0.1
	p12Chunk   = 8 << 10
)

// p12Bonnie is one run of Bonnie++ without its tests of single characters, on a filesystem mounted with
// these options besides the candidate's own. The file is read after unmounting and mounting, so that
// nothing of it is cached.
func p12Bonnie(amount p12Amount, options ...string) scenario.Scenario {
	const chunk, jobs = p12Chunk, p12Seekers
	list := scenario.Scenario{
		{Work: "file-write", Phase: "block-write", Dir: p12Dir, Size: amount.file, Block: chunk},
		{Work: "file-rewrite", Phase: "rewrite", Dir: p12Dir, Size: amount.file, Block: chunk},
		{Work: "remount", Options: options},
		{Work: "file-read", Phase: "block-read", Dir: p12Dir, Size: amount.file, Block: chunk},
		{Work: "seeks", Phase: "seeks", Dir: p12Dir, Size: amount.file, Block: chunk, Ops: amount.seeks, Jobs: jobs, Share: p12Rewrite, Seed: 1},
		{Work: "tree-remove", Dir: p12Dir},
	}
	for i, order := range []string{scenario.OrderSequential, scenario.OrderRandom} {
		for _, work := range []string{"create", "stat", "delete"} {
			list = append(list, scenario.Step{
				Work: "meta-" + work, Phase: [2]string{"seq-", "rnd-"}[i] + work,
				Dir: p12Dir + "/" + order, Files: amount.files, Dirs: amount.dirs, Order: order, Seed: uint64(2 + i),
			})
		}
	}
	return list
}

// p12Untimed are the steps without their figures.
func p12Untimed(s scenario.Scenario) scenario.Scenario {
	for i := range s {
		s[i].Phase = ""
	}
	return s
}

// p12Row are the runs of a row of the page in one filesystem: five with each of its mount options, each
// after a rest of the card. The last remount is for what follows.
func p12Row(amount p12Amount, options [][]string) scenario.Scenario {
	var list scenario.Scenario
	for _, mounted := range options {
		run := amount
		if slices.Contains(mounted, "dirsync") {
			run.files, run.dirs = max(1, int(float64(run.files)*p12Few)), max(1, int(float64(run.dirs)*p12Few))
		}
		list = append(list, scenario.Step{Work: "remount", Options: mounted})
		for range 5 {
			list = append(append(list, scenario.Step{Work: "settle", Count: amount.settle}), p12Untimed(p12Bonnie(run, mounted...))...)
		}
	}
	return append(list, scenario.Step{Work: "remount"}, scenario.Step{Work: "settle", Count: amount.settle})
}

// p12Scenario is a run of Bonnie++ on a new filesystem, after one that the source discarded: it absorbs the
// one-time work of a new filesystem, and is a small one except with all published candidates and variants.
func p12Scenario(_ bool, s Scale) scenario.Scenario {
	const chunk = p12Chunk
	amount := s.p12()
	list := scenario.Scenario{
		{Work: "discard"},
		{Work: "module-load", Phase: "module-load"},
		{Work: "mkfs", Phase: "mkfs"},
		{Work: "mount", Phase: "mount"},
	}
	if amount.published {
		list = append(list, p12Untimed(p12Bonnie(amount))...)
	} else {
		list = append(list,
			scenario.Step{Work: "file-write", Dir: "discarded", Size: amount.file / 16, Block: chunk},
			scenario.Step{Work: "file-rewrite", Dir: "discarded", Size: amount.file / 16, Block: chunk},
			scenario.Step{Work: "meta-create", Dir: "discarded-files", Files: amount.files / 16, Dirs: 1, Order: scenario.OrderSequential, Seed: 1},
			scenario.Step{Work: "meta-delete", Dir: "discarded-files", Files: amount.files / 16, Dirs: 1, Order: scenario.OrderSequential, Seed: 1},
			scenario.Step{Work: "tree-remove", Dir: "discarded"})
	}
	list = append(list,
		scenario.Step{Work: "settle", Count: amount.settle},
		scenario.Step{Work: "hold-memory", Size: amount.file / 2})
	list = append(list, p12Bonnie(amount)...)
	// What recording the times of access costs: the first pass records them with
	// relatime as well, the second one only where every read does.
	read := scenario.Step{Work: "meta-read", Dir: p12Reads, Files: amount.files / 16, Dirs: 1, Order: scenario.OrderSequential, Seed: 4}
	made, again := read, read
	made.Work, again.Phase = "meta-create", p12Reads
	list = append(list, made, scenario.Step{Work: "remount"}, read, scenario.Step{Work: "remount"}, again)
	return append(list,
		scenario.Step{Work: "release-memory"},
		scenario.Step{Work: "unmount", Phase: "unmount"},
		scenario.Step{Work: "check", Phase: "check"})
}

func p12Columns() []Column {
	uses := []string{"read-write"}
	column := func(name, key, per, about string) Column {
		return Column{Name: name, Key: key, Unit: "s", Uses: uses, Per: per, Terms: []Term{{key, result.Wall}}, About: about}
	}
	bytes := func(name, key, about string) Column { return column(name, key, result.DataBytes, about) }
	files := func(name, key, about string) Column { return column(name, key, result.DataFiles, about) }
	extra := func(name, key, about string) Column {
		return Column{Name: name, Key: key, Unit: "s", Extra: true, Terms: []Term{{key, result.Wall}}, About: about}
	}
	return []Column{
		bytes("Block write", "block-write", "one large file, written in pieces of 8 KiB, until it is on storage (fsync)"),
		bytes("Rewrite", "rewrite", "the same file: each piece read, changed and written back, until it is on storage; its bytes are counted once"),
		bytes("Block read", "block-read", "the same file from start to end, after unmounting and mounting"),
		column("Seeks", "seeks", result.Ops, "five parallel seekers read pieces of the file at random places; one in ten is changed and written back"),
		files("Seq. create", "seq-create", "empty files created in the order of their names, until they are on storage"),
		files("Seq. stat", "seq-stat", "the metadata of each file, in the order in which the filesystem lists them"),
		files("Seq. delete", "seq-delete", "the files deleted in that order, with their directories, until the deletion is on storage"),
		files("Rnd. create", "rnd-create", "empty files with random names created, until they are on storage"),
		files("Rnd. stat", "rnd-stat", "the metadata of each file, in a random order"),
		files("Rnd. delete", "rnd-delete", "the files deleted in another random order, with their directories, until the deletion is on storage"),

		extra("Module load", "module-load", "loading the kernel module with its dependencies"),
		extra("Make", "mkfs", "making the empty filesystem"),
		extra("Mount", "mount", "mounting the new filesystem"),
		{Name: "Written by reading", Key: "written-by-reading", Unit: "B", Extra: true, Terms: []Term{{p12Reads, result.DeviceWritten}, {"unmount", result.DeviceWritten}},
			About: "what reading many files once more, and the unmount after it, write to the device"},
		extra("Unmount", "unmount", "the last unmount of the scenario"),
		extra("Check", "check", "a check without repair after a clean unmount"),
	}
}
