package study

import (
	"fmt"
	"slices"
	"strings"

	"whichfs/internal/filesystem"
	"whichfs/internal/plan/scenario"
)

// The published rows, and the others compared with them.
const (
	e15Ext4      = "ext4"
	e15NoJournal = "ext4 -O ^has_journal"
	e15Btrfs     = "btrfs"
	e15F2fs      = "f2fs"
	e15Xfs       = "xfs"
	e15Nilfs2    = "nilfs2"
	e15Vfat      = "vfat"
)

// Levels of the factors.
const (
	e15Noatime  = "noatime"
	e15Discard  = "discard"
	e15Stripe   = "stripe"
	e15Nodes    = "nodes"
	e15Sections = "sections"
	e15Segments = "segments"
)

// e15Talk is the source of both halves.
const e15Talk = "Tristan Lelong (Adeneo Embedded), Filesystem considerations for embedded devices, Embedded Linux Conference, March 2015"

// Keys of the storages: the two cards and the eMMC.
const (
	e15First  = "sd"
	e15Second = "sd-samsung"
	e15Emmc   = "emmc"
)

// e15Boot and e15Login are the phases of boots with the lab's own kernel, to the
// first process and, as published, to the login prompt.
const (
	e15Boot  = "boot 6.1"
	e15Login = "login 6.1"
)

// e15Tree is the data that fills the filesystem, and its root filesystem at
// boot: the published one had about 15 MB.
const e15Tree = "tree"

// e15Amount is the amount of work at a scale.
type e15Amount struct {
	// volume of each job, in bytes: at least two of the larger blocks for each file, as
	// published (10 MB), so that their order can be random.
	volume int64
	files  int // that hold it
	// published volumes exceed, all jobs together, a filesystem of 1 GB.
	published bool
	// less divides the amounts that jobs write at random in small blocks, which takes a card longest; 0:
	// they are not divided.
	less int64
	// full is the share of the space in use before the filesystem is mounted and checked: as published,
	// or what a card takes by wall clock in a minute. 0: one copy of the tree.
	full float64
	// share of the published amount of I/O during which the kernel's threads are watched; 0: they are not.
	share float64
	// alone adds the jobs of one thread, which claims on scaling need.
	alone bool
}

func (s Scale) e15() e15Amount { return s.Amount.(e15Amount) }

// Elc2015 compares block filesystems for the eMMC and SD cards of embedded
// devices by fio, and by their costs: processor, threads, space, mount, check
// and boot. The talk's second half, on power cuts and corruption, is the study
// elc-2015-reliability.
func Elc2015() Study {
	published := []string{e15Ext4, e15Btrfs, e15F2fs, e15Xfs, e15Nilfs2}
	return Study{
		Name:       "elc-2015",
		Title:      "Filesystem considerations for embedded devices",
		Work:       "random and sequential I/O of several jobs, processor time, check, boot",
		Source:     e15Talk,
		Board:      "bbb",
		Processors: 1,
		Scales: map[string]Scale{
			"quick": {
				Candidates: published, Rounds: 3, StepLimit: 180,
				Data:   []DataSet{{Name: e15Tree, Set: "debian-armhf-part"}},
				RAM:    "ram:1G",
				Amount: e15Amount{volume: 16 << 20, files: 2, full: 0.25, share: 1e-3}, Boots: 1,
				ByWall: Less{
					Rounds: 2, NoFactors: true, NoBoots: true,
					// Three blocks of 4 MiB have an order that is not that of the file.
					Amount: e15Amount{volume: 12 << 20, files: 1, less: 12},
					Lacks: []string{
						"a sixteenth of the random writes in small blocks", "three quarters of the other data",
						"one tree instead of a quarter of the storage in use before the last mount", "no I/O to watch the kernel's threads by",
					},
				},
			},
			"claims": {
				Candidates: published, Rounds: 3, StepLimit: 900,
				Data:   []DataSet{{Name: e15Tree, Set: "debian-armhf-part"}},
				RAM:    "ram:1G",
				Amount: e15Amount{volume: 16 << 20, files: 2, full: 0.6, share: 1e-2, alone: true}, Boots: 5,
				Memory: 512 << 20, // as on the BeagleBone Black
			},
			"full": {
				Candidates: append(slices.Clone(published), e15NoJournal, e15Vfat), Rounds: 3, StepLimit: 14_400,
				Data:   []DataSet{{Name: e15Tree, Set: "debian-armhf-part"}},
				RAM:    "ram:1G",
				Amount: e15Amount{volume: 500 << 20, files: 50, published: true, full: 0.6, share: e15Most, alone: true}, Boots: 5,
				// As on the BeagleBone Black, which is why the tree is small.
				Memory: 512 << 20,
			},
		},
		Storages: e15Storages(),
		Scenario: e15Scenario,
		Factors:  e15Factors,
		Columns:  e15Columns(),
		Numbers:  e15Numbers(),
		Claims:   e15Claims(),
	}
}

// e15Storages: 1 GB, like the published filesystems. The models represent
// classes: nothing is known of the insides of the published cards, nor much of
// the eMMC's.
func e15Storages() []Storage {
	specs := func(model string) map[string]string {
		spec := "sim:" + model + ",1G"
		return map[string]string{"quick": spec, "claims": spec, "full": spec}
	}
	return []Storage{
		{Key: e15First, Label: "SD card, class 10 (Kingston)", Specs: specs("sd-class10")},
		{Key: e15Second, Label: "SD card, class 10 (Samsung)", Specs: specs("sd-basic"), At: "claims"},
		{Key: e15Emmc, Label: "eMMC, 4 GB, writes like class 6 (Micron MTFC4GLDEA)", Specs: specs("emmc-4g"), At: "claims"},
	}
}

// e15Factors: the mount options that the talk uses for all filesystems, and
// those it derives from the sizes of an erase block and of a block. A quick run has time for
// one option and one tuning, on the card, each with the first filesystem that
// the talk names for it.
func e15Factors(s Scale, on Storage) []scenario.Factor {
	block := on.EraseBlock
	if block == 0 {
		block = 4 << 20 // of the simulated card, and of most real ones
	}
	const fsBlock, f2fsSegment = 4096, 2 << 20
	mount := scenario.Factor{
		Name: "mount options", Reference: "default",
		Levels: []scenario.Variant{{Name: e15Noatime, Mount: []string{"noatime"}}, {Name: e15Discard, Mount: []string{"discard"}}},
	}
	tuned := func(candidate, level string, words ...string) scenario.Factor {
		return scenario.Factor{
			Name: "geometry of " + candidate, Reference: "default", Candidates: []string{candidate},
			Levels: []scenario.Variant{{Name: level, Make: words}},
		}
	}
	// Blocks as large as the card's pages, often 16 KiB, are larger than the kernel's, which mounts them
	// or says that it does not.
	blocks := func(candidate, option string) scenario.Factor {
		f := scenario.Factor{Name: "blocks of " + candidate, Reference: "4 KiB, the default", Candidates: []string{candidate}}
		for _, kib := range []int{1, 2, 16} {
			f.Levels = append(f.Levels, scenario.Variant{Name: fmt.Sprintf("%s %d KiB", candidate, kib), Make: []string{"-b", option + fmt.Sprint(kib<<10)}})
		}
		return f
	}
	sections := tuned(e15F2fs, e15Sections, "-s", fmt.Sprint(max(1, block/f2fsSegment)), "-z", "1")
	if !s.e15().published {
		if on.Key == e15Second || on.Key == e15Emmc {
			return nil
		}
		mount.Levels, mount.Candidates = mount.Levels[:1], []string{e15Ext4}
		return []scenario.Factor{mount, sections}
	}
	return []scenario.Factor{
		mount, sections,
		tuned(e15Ext4, e15Stripe, "-E", fmt.Sprintf("stride=%d,stripe_width=%d", block/fsBlock, block/fsBlock)),
		tuned(e15Btrfs, e15Nodes, "-n", fmt.Sprint(fsBlock)),
		tuned(e15Nilfs2, e15Segments, "-B", fmt.Sprint(block/fsBlock)),
		blocks(e15Xfs, "size="), blocks(e15Nilfs2, ""),
	}
}

// e15Cell is one cell of the published matrix of fio jobs.
type e15Cell struct {
	rw     string
	block  string
	direct bool
}

// e15Matrix is the published matrix: four patterns, two block sizes, with and
// without the page cache.
func e15Matrix() []e15Cell {
	var all []e15Cell
	for _, rw := range []string{"randread", "read", "randwrite", "write"} {
		for _, block := range []string{"4M", "4k"} {
			for _, direct := range []bool{true, false} {
				all = append(all, e15Cell{rw, block, direct})
			}
		}
	}
	return all
}

func (c e15Cell) phase() string {
	return c.rw + "-" + strings.ToLower(c.block) + "-" + e15Through(c.direct)
}

func (c e15Cell) reads() bool { return strings.HasSuffix(c.rw, "read") }

func e15Through(direct bool) string {
	if direct {
		return "direct"
	}
	return "buffered"
}

// job is the published fio job. All jobs share the names of their files, so
// that readers need only one layout. Jobs that write end with an fsync;
// otherwise they would measure memory.
func (c e15Cell) job(a e15Amount) string {
	return e15Job("elc", c.rw, c.block, c.direct, 1, a.files, a.volume, c.moved(a))
}

// moved is the part of the volume that a job moves, in bytes: a quick run moves
// less in small blocks, which take ten times as long for the same volume.
func (c e15Cell) moved(a e15Amount) int64 {
	switch {
	case a.published || c.block == "4M":
		return a.volume
	case c.reads():
		return a.volume / 8
	case c.rw == "randwrite":
		return a.volume / 16 / max(1, a.less)
	default:
		return a.volume / 16
	}
}

// e15Longest is when a job of small random writes ends that has not moved its volume: the published
// one takes a card that copies an erase block for each of them half a day. Figures are per byte moved.
const e15Longest = 600 // s

// e15Job writes a job file in the published shape. size and moved are those of
// all jobs together.
func e15Job(name, rw, block string, direct bool, jobs, files int, size, moved int64) string {
	flag := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	lines := []string{
		"[" + name + "]",
		"rw=" + rw,
		fmt.Sprintf("size=%d", size/int64(jobs)),
		"blocksize=" + block,
		fmt.Sprintf("nrfiles=%d", files),
		fmt.Sprintf("direct=%d", flag(direct)),
		fmt.Sprintf("buffered=%d", flag(!direct)),
		fmt.Sprintf("numjobs=%d", jobs),
		"ioengine=libaio",
		// Through the page cache a request completes on submission.
		"lat_percentiles=1",
	}
	if moved < size {
		lines = append(lines, fmt.Sprintf("io_size=%d", moved/int64(jobs)))
	}
	if block == "4k" && (rw == "randwrite" || rw == "randrw") {
		lines = append(lines, fmt.Sprintf("runtime=%d", e15Longest))
	}
	if !strings.HasSuffix(rw, "read") {
		lines = append(lines, "end_fsync=1")
	}
	if jobs > 1 {
		lines = append(lines, "group_reporting")
	}
	return strings.Join(lines, "\n") + "\n"
}

// e15Jobs is the number of jobs that read and write at the same time.
const e15Jobs = 4

// e15Mixed are the jobs of several threads that read and write. The talk gives
// neither their number nor their block sizes: both are ours.
func e15Mixed(a e15Amount) scenario.Scenario { return e15MixedJobs(a, e15Jobs, "") }

// e15Alone are the same jobs with one thread, for the same data: how much four
// gain is how a filesystem scales.
func e15Alone(a e15Amount) scenario.Scenario { return e15MixedJobs(a, 1, "-alone") }

func e15MixedJobs(a e15Amount, jobs int, suffix string) scenario.Scenario {
	var steps scenario.Scenario
	for _, m := range []struct{ order, rw, block string }{{"random", "randrw", "4k"}, {"sequential", "rw", "64k"}} {
		for _, direct := range []bool{true, false} {
			size, moved := a.volume, a.volume
			if !a.published {
				size, moved = a.volume/4, a.volume/8
			}
			if m.order == "random" {
				moved /= max(1, a.less)
			}
			steps = append(steps, scenario.Step{
				Work: "fio", Phase: "mixed-" + m.order + "-" + e15Through(direct) + suffix, Dir: "mixed" + suffix, Size: size,
				Job: e15Job("mixed"+suffix, m.rw, m.block, direct, jobs, max(1, a.files/jobs), size, moved),
			})
		}
	}
	return steps
}

// The kernel's threads were watched during 38 GB of I/O, of which a scale does a share: e15Most with
// --full, as a card takes an hour for all of it. At most e15AtOnce goes into one filesystem: nilfs2
// frees none of what is written over.
const (
	e15Watched = 38_000_000_000 // B
	e15AtOnce  = e15Watched / 100
	e15Most    = 0.1
)

// e15Background are the jobs of that I/O: the source says no more of them than the amount.
func e15Background(a e15Amount) scenario.Scenario {
	total := int64(a.share * e15Watched)
	once := min(total, e15AtOnce)
	var steps scenario.Scenario
	for done := int64(0); done < total; done += once {
		phase := "background"
		if done > 0 {
			phase += fmt.Sprintf("-%d", done/once+1)
		}
		steps = append(steps, scenario.Step{
			Work: "fio", Phase: phase, Dir: "background", Size: once,
			Job: e15Job("background", "rw", "64k", false, e15Jobs, max(1, a.files/e15Jobs), once, once),
		})
	}
	return steps
}

// e15Scaling is the column of how a kind of mixed work scales.
func e15Scaling(phase string) string { return "scaling-" + strings.TrimPrefix(phase, "mixed-") }

// e15Scenario is the performance half of the talk on one filesystem of 1 GB. At
// the published volume, every job that writes gets its own filesystem: together
// they write several times the available space, and nilfs2 frees none of it.
func e15Scenario(readOnly bool, s Scale) scenario.Scenario {
	if readOnly {
		return e15ReadOnly()
	}
	amount := s.e15()
	list := scenario.Scenario{
		{Work: "discard"},
		{Work: "threads"}, // the basis of the later step
		{Work: "module-load", Phase: "module-load"},
		{Work: "mkfs", Phase: "mkfs"},
		{Work: "mount", Phase: "first-mount"},
		{Work: "space", Phase: "space-empty"},
		{Work: "threads", Phase: "threads"},
	}
	anew := scenario.Scenario{{Work: "unmount"}, {Work: "mkfs"}, {Work: "mount"}, {Work: "trim"}}
	fresh := func() {
		if amount.published {
			list = append(list, anew...)
		}
	}
	for _, c := range e15Matrix() {
		dir := "read"
		if !c.reads() {
			fresh()
			dir = "write"
		}
		list = append(list, scenario.Step{Work: "fio", Phase: c.phase(), Dir: dir, Size: amount.volume, Job: c.job(amount)})
	}
	mixed := e15Mixed(amount)
	if amount.alone {
		mixed = append(mixed, e15Alone(amount)...)
	}
	for _, step := range mixed {
		fresh()
		list = append(list, step)
	}
	for _, step := range e15Background(amount) {
		list = append(append(list, anew...), step)
	}
	filled := scenario.Step{Work: "fill", Phase: "fill", Data: e15Tree, Dir: "filled", Share: amount.full}
	if amount.full == 0 {
		filled.Work = "tree-copy"
	}
	list = append(append(list, anew...), scenario.Scenario{
		{Work: "unmount"},
		{Work: "mount", Phase: "mount-empty"},
		filled,
		{Work: "space", Phase: "space-filled"},
		{Work: "unmount", Phase: "unmount"},
		{Work: "mount", Phase: "mount"},
		{Work: "unmount"},
		{Work: "check", Phase: "check"},
	}...)
	// A quick run has no time for it, and one storage suffices.
	if amount.alone && s.On != e15Second && s.On != e15Emmc {
		list = append(list, e15Offline()...)
	}
	if s.Boots == 0 {
		return list
	}
	return append(list, scenario.Scenario{
		{Work: "mkfs"},
		{Work: "mount"},
		{Work: "boot-root", Phase: "boot-root", Data: e15Tree},
	}...)
}

// e15Offline makes the filesystem in a file, of the directory with the tree, writes it onto the
// storage, and compares what is in it.
func e15Offline() scenario.Scenario {
	steps := scenario.Scenario{
		{Work: "image", Phase: "offline-image", Data: e15Tree},
		{Work: "flash", Phase: "offline-flash"},
		{Work: "mount", Phase: "offline-mount"},
		{Work: "tree-compare", Phase: "offline-compare", Data: e15Tree},
		{Work: "unmount"},
	}
	for i := range steps {
		steps[i].Only = string(filesystem.OfflineImage)
	}
	return steps
}

// e15ReadOnly: an image is mounted and its cost measured; nothing writes to it.
func e15ReadOnly() scenario.Scenario {
	return scenario.Scenario{
		{Work: "discard"},
		{Work: "threads"},
		{Work: "module-load", Phase: "module-load"},
		{Work: "image", Phase: "mkfs", Data: e15Tree},
		{Work: "flash"},
		{Work: "mount", Phase: "mount"},
		{Work: "space", Phase: "space-filled"},
		{Work: "threads", Phase: "threads"},
		{Work: "unmount", Phase: "unmount"},
		{Work: "check", Phase: "check"},
	}
}
