// Package toy makes up a small study and runs of it, for the tests of verdicts
// and reports: it has one of everything that a study can have, and its figures
// are known, hence so is the right answer.
package toy

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"whichfs/internal/filesystem"
	"whichfs/internal/plan"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
	"whichfs/internal/testing/parsed"
)

// Candidates of the study.
const (
	Ext2   = "ext2"
	Ext4   = "ext4"
	VFAT   = "vfat"
	Btrfs  = "btrfs"
	Packed = "btrfs -o compress=lzo"
)

// Levels of its factors.
const (
	Noatime = "noatime"
	Dirsync = "noatime,dirsync"
	Shifted = "shifted"
)

// Storages of the study.
const (
	Card = "card-8g"
	SSD  = "ssd-120g"
	Disk = "disk-1t"
)

// Study is the made-up study.
func Study() study.Study {
	rw := []string{"read-write"}
	specs := func(model string) map[string]string { return map[string]string{"quick": "sim:" + model + ",1G"} }
	return study.Study{
		Name: "toy-2020", Title: "A toy study of storage", Source: "A. N. Author, A Toy Study of Storage, Journal of Made-up Results 1, 2020",
		Scales: map[string]study.Scale{"quick": {Candidates: []string{Ext2, Ext4, VFAT, Btrfs, Packed}, Rounds: 5}},
		Storages: []study.Storage{
			{Key: Card, Label: "8 GB SD card, class 4", Specs: specs("toy-card"), EraseBlock: 4 << 20},
			{Key: SSD, Label: "120 GB SSD on USB", Specs: specs("toy-ssd")},
			{Key: Disk, Label: "1 TB hard disk", Specs: specs("toy-disk")},
		},
		Scenario: func(bool, study.Scale) scenario.Scenario {
			return scenario.Scenario{
				{Work: "discard"},
				{Work: "mkfs", Phase: "mkfs"},
				{Work: "mount", Phase: "mount"},
				{Work: "file-write", Phase: "write"},
				{Work: "file-read", Phase: "read"},
				{Work: "meta-create", Phase: "create"},
				{Work: "seeks", Phase: "seeks"},
				{Work: "space", Phase: "space"},
				{Work: "threads", Phase: "threads"},
				{Work: "unmount", Phase: "unmount"},
			}
		},
		Factors: func(study.Scale, study.Storage) []scenario.Factor { return Factors() },
		Columns: []study.Column{
			{Name: "Write", Key: "write", Unit: "s", Uses: rw, Terms: wall("write"), Per: result.DataBytes, About: "one file of 64 MiB, until it is on storage"},
			{Name: "Read", Key: "read", Unit: "s", Uses: rw, Terms: wall("read"), Per: result.DataBytes, About: "the same file, from cold caches"},
			{Name: "Create", Key: "create", Unit: "s", Uses: rw, Terms: wall("create"), Per: result.DataFiles, About: "empty files"},
			{Name: "Seeks", Key: "seeks", Unit: "s", Uses: rw, Terms: wall("seeks"), Per: result.Ops, About: "blocks of the file at random"},
			{Name: "Space", Key: "space", Unit: "B", Terms: []study.Term{{Phase: "space", Metric: result.SpaceUsed}}, About: "used space with the file"},
			{Name: "Compressed to", Key: "ratio", Unit: "1", Terms: []study.Term{{Phase: "space", Metric: result.CompressRatio}}, About: "bytes on storage over bytes of the file"},
			{Name: "In use before", Key: "full", Unit: "1", Level: true, Terms: []study.Term{{Phase: "space", Metric: result.SpaceFull}}, About: "share of the space in use before"},
			{Name: "Mount", Key: "mount", Unit: "s", Extra: true, Terms: wall("mount"), About: "mounting the new filesystem"},
		},
		Numbers: numbers(),
		Choices: []study.Choice{
			{Name: "large files", Source: "table 4", Columns: []string{"write", "read"}, Rows: []study.ChoiceRow{
				{Storage: Card, Places: [4]string{Packed, Btrfs, Ext4, VFAT}},
				{Storage: Disk, Places: [4]string{Packed, Ext4, Btrfs, Ext2}},
			}},
			{Name: "small files", Source: "table 5", Columns: []string{"create"}, Rows: []study.ChoiceRow{{Storage: Card, Places: [4]string{Ext4, Ext2, Btrfs, VFAT}}}},
		},
		Claims: claims(),
	}
}

func wall(phase string) []study.Term { return []study.Term{{Phase: phase, Metric: result.Wall}} }

// Factors that are varied in a run of it.
func Factors() []scenario.Factor {
	return []scenario.Factor{
		{Name: "mount options", Reference: "relatime", Levels: []scenario.Variant{
			{Name: Noatime, Mount: []string{"noatime"}},
			{Name: Dirsync, Mount: []string{"noatime", "dirsync"}, Files: 0.1},
		}},
		{Name: "alignment", Reference: "aligned", Candidates: []string{Ext4, VFAT}, Levels: []scenario.Variant{
			{Name: Shifted, Part: &scenario.Part{Shift: 63 * 512}},
		}},
	}
}

func numbers() []study.Numbers {
	cells := func(rows map[string][]float64, order ...string) []study.Published {
		var out []study.Published
		for _, variant := range order {
			for i, c := range []string{Ext2, Ext4, VFAT, Btrfs} {
				out = append(out, study.Published{Candidate: c, Variant: variant, Value: rows[variant][i]})
			}
		}
		return out
	}
	write := cells(map[string][]float64{"": {4.1, 9.8, 8.0, 9.0}, Noatime: {4.0, 9.9, 8.1, 9.1}}, "", Noatime)
	create := cells(map[string][]float64{"": {2900, 4100, 200, 1500}, Dirsync: {104, 95, 44, 60}}, "", Dirsync)
	create[len(create)-1] = study.Published{Candidate: Btrfs, Variant: Dirsync, Value: 60, Text: "about 60"}
	return []study.Numbers{
		{Key: "card/write", Name: "Writing", Source: "table 1", Column: "write", Unit: "MB/s", Storage: Card, Card: true, Cells: write},
		{Key: "card/create", Name: "Creating files", Source: "table 2", Column: "create", Unit: "/s", Storage: Card, Cells: create},
		{Key: "card/time", Name: "Time to write", Source: "table 1", Column: "write", Unit: "s", Storage: Card,
			Cells: cells(map[string][]float64{"": {250, 104, 128, 114}}, "")},
		{Key: "card/space", Name: "Space", Source: "table 6", Column: "space", Unit: "MB", Storage: Card, Grows: true,
			Cells: cells(map[string][]float64{"": {1040, 1060, 1030, 1090}}, "")},
		{Key: "disk/write", Name: "Writing", Source: "table 3", Column: "write", Unit: "MiB/s", Storage: Disk, Card: true,
			Cells: cells(map[string][]float64{"": {30, 41, 25, 38}}, "")},
		{Key: "ratio", Name: "Compressed to", Source: "text", Column: "ratio", Unit: "%", Cells: []study.Published{{Candidate: Packed, Value: 47, Label: "lzo"}}},
	}
}

func claims() []study.Claim {
	return []study.Claim{
		{ID: "table-write", Text: "the order in table 1", Where: "table 1", Storage: Card, Check: study.NumbersCheck{Table: "card/write"}},
		{ID: "table-time", Text: "the order by the time to write", Where: "table 1", Storage: Card, Check: study.NumbersCheck{Table: "card/time"}},
		{ID: "dirsync", Text: "dirsync cripples the creation of files (at least three times as long)", Where: "section 4", Check: study.EffectCheck{Column: "create", Variant: Dirsync, Low: 3}},
		{ID: "noatime", Text: "noatime gains nothing (10 % at most)", Where: "section 4", Check: study.EffectCheck{Column: "write", Variant: Noatime, Low: 0.9, High: 1.1}},
		{ID: "shifted-none", Text: "alignment makes no difference", Where: "section 5", Storage: Card, Check: study.EffectCheck{Column: "create", Variant: Shifted, Low: 0.9, High: 1.1},
			Follows: "the mapping of the model"},
		{ID: "ratio", Text: "lzo saves about half", Where: "section 6", Check: study.ValueCheck{Column: "ratio", Candidate: Packed, Low: 0.44, High: 0.5},
			Contradicted: "table 6 has 0.62"},
		{ID: "read-best", Text: "ext2 reads fastest", Where: "table 3", Check: study.BestCheck{Column: "read", Candidate: Ext2, Among: []string{Ext4, VFAT}}},
		{ID: "disk-write", Text: "ext4 writes fastest on the disk", Where: "table 3", Storage: Disk, Check: study.BestCheck{Column: "write", Candidate: Ext4, Among: []string{Ext2, Ext4, VFAT}}},
		{ID: "slower-gains-more", Text: "the slower the device, the more compression gains", Where: "section 7",
			Check: study.TrendCheck{Column: "write", A: Btrfs, B: Packed, Over: []string{SSD, Disk, Card}}},
		{ID: "boots", Text: "it boots", Where: "section 8", Check: study.Untested("nothing here boots"), At: "full"},
	}
}

// Run says what to make up.
type Run struct {
	Storage string // key; empty: Card
	Rounds  int    // 0: 5
	Seed    uint64
	Noise   float64 // relative; 0: 0.01
	Plain   bool    // without factors
	// Until makes a run that is to stop when its questions are settled.
	Until     bool
	Questions []string
	// Drift is how much the storage's speed wanders, relative, from trial to
	// trial; sentinels show it.
	Drift float64
	// Change may alter every trial in the end; false leaves the trial out.
	Change func(t *result.Trial) bool
}

// What each candidate does per second on the card (bytes, files, seeks), the
// speedup of the other storages, the speedup that compression gives there, and
// the slowdown of phases by levels.
var (
	perSecond = map[string]map[string]float64{
		Ext2:   {"write": 4.2e6, "read": 16e6, "create": 3000, "seeks": 30},
		Ext4:   {"write": 9.6e6, "read": 16.2e6, "create": 5200, "seeks": 33},
		VFAT:   {"write": 7.4e6, "read": 15.9e6, "create": 190, "seeks": 52},
		Btrfs:  {"write": 8.6e6, "read": 15.8e6, "create": 1700, "seeks": 28},
		Packed: {"write": 14e6, "read": 24e6, "create": 1650, "seeks": 29},
	}
	speeds = map[string]float64{Card: 1, SSD: 20, Disk: 4}
	gains  = map[string]float64{Card: 1, SSD: 0.62, Disk: 0.8}
	space  = map[string]float64{Ext2: 66e6, Ext4: 68e6, VFAT: 65e6, Btrfs: 70e6, Packed: 33e6}
	levels = map[string]map[string]float64{
		Noatime: {},
		Dirsync: {"create": 30},
		Shifted: {"create": 1.6, "write": 1.15},
	}
)

const (
	bytes = 64 << 20
	files = 10_240
	seeks = 800
)

// Make returns the run, its trials, and the study.
func (r Run) Make() (result.Run, []result.Trial, study.Study) {
	st := Study()
	if r.Storage == "" {
		r.Storage = Card
	}
	if r.Rounds == 0 {
		r.Rounds = 5
	}
	if r.Noise == 0 {
		r.Noise = 0.01
	}
	on, _ := st.Storage("quick", r.Storage)
	p := plan.Plan{Study: st.Name, Scale: "quick", Machine: "lab", Storage: on.Specs["quick"], Candidates: parsed.Candidates(st.Scales["quick"].Candidates...),
		Rounds: r.Rounds, Seed: r.Seed, Margin: 0.10}
	if !r.Plain {
		p.Factors = Factors()
	}
	if r.Until {
		p.Until, p.Questions = plan.UntilSettled, r.Questions
	}
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // the plan above
	}
	run := result.Run{
		ID: "20200102-030405-toy-" + r.Storage, Study: st.Name, Scale: "quick", Machine: "lab", Storage: p.Storage, Seed: p.Seed, Rounds: p.Rounds,
		Candidates: filesystem.Texts(p.Candidates), Margin: p.Margin, Plan: text, Version: "test", Emulated: true, State: result.Finished,
		Started: time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC),
	}
	chance := rand.New(rand.NewPCG(r.Seed, 7))
	var trials []result.Trial
	at := run.Started
	for _, slot := range plan.Trials(p) {
		t := r.trial(chance, slot)
		t.ID, t.Started, t.Ended, t.Overhead = int64(len(trials)+1), at, at.Add(40*time.Second), 2
		if r.Change != nil && !r.Change(&t) {
			continue
		}
		at = t.Ended
		trials = append(trials, t)
	}
	run.Ended, run.Active = at, at.Sub(run.Started).Seconds()
	return run, trials, st
}

func (r Run) trial(chance *rand.Rand, slot plan.Slot) result.Trial {
	t := result.Trial{Round: slot.Round, Place: slot.Place, Candidate: slot.Candidate.String(), Variant: slot.Variant, Attempt: 1, Outcome: result.Done}
	add := func(phase, metric string, v float64, unit string) {
		t.Measurements = append(t.Measurements, result.Measurement{Phase: phase, Metric: metric, Value: v, Unit: unit})
	}
	weather := math.Exp(r.Drift * chance.NormFloat64())
	add("sentinel", result.SentinelWrite, 0.1*weather, "s")
	add("sentinel", result.SentinelRead, 0.05*weather, "s")
	noise := func() float64 { return weather * math.Exp(r.Noise*chance.NormFloat64()) }
	share := 1.0
	if t.Variant == Dirsync {
		share = 0.1
	}
	packed := 1.0
	if strings.Contains(t.Candidate, "compress") {
		packed = gains[r.Storage]
	}
	for _, w := range []struct {
		phase, metric, unit string
		amount              float64
	}{
		{"write", result.DataBytes, "B", bytes}, {"read", result.DataBytes, "B", bytes},
		{"create", result.DataFiles, "1", files * share}, {"seeks", result.Ops, "1", seeks},
	} {
		longer := 1.0
		if k, ok := levels[t.Variant][w.phase]; ok {
			longer = k
		}
		took := w.amount / (perSecond[t.Candidate][w.phase] * speeds[r.Storage] * packed) * longer * noise()
		add(w.phase, result.Wall, took, "s")
		add(w.phase, w.metric, w.amount, w.unit)
		add(w.phase, result.CPUUser, took*0.02, "s")
		add(w.phase, result.CPUSystem, took*0.2, "s")
		add(w.phase, result.CPUKernel, took*0.05, "s")
		if t.Candidate == VFAT {
			t.Measurements = append(t.Measurements, result.Measurement{Phase: w.phase, Metric: result.CPUFilesystem, Unit: "s", Absent: "vfat has no kernel threads of its own"})
		} else {
			add(w.phase, result.CPUFilesystem, took*0.01, "s")
		}
		add(w.phase, result.DeviceBusy, took*0.8, "s")
		if w.phase != "read" {
			add(w.phase, result.DeviceWritten, bytes, "B")
		} else {
			add(w.phase, result.DeviceRead, bytes, "B")
		}
	}
	add("mkfs", result.Wall, 0.2*noise(), "s")
	add("mount", result.Wall, 0.01*noise(), "s")
	add("unmount", result.Wall, 0.03*noise(), "s")
	add("space", result.SpaceUsed, space[t.Candidate], "B")
	add("space", result.SpaceFull, 0, "1")
	if t.Candidate == Packed {
		add("space", result.CompressRatio, 0.47, "1")
	} else {
		t.Measurements = append(t.Measurements, result.Measurement{Phase: "space", Metric: result.CompressRatio, Unit: "1",
			Absent: fmt.Sprintf("%s does not compress", t.Candidate)})
	}
	add("threads", result.KernelThreads, float64(len(t.Candidate)%4), "1")
	add("threads", result.MemHeld, 1e6*float64(len(t.Candidate)), "B")
	return t
}
