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

// Candidates of the study of raw flash.
const (
	JFFS2    = "jffs2"
	Summary  = "jffs2@image+summary"
	UBIFS    = "ubifs"
	Squashfs = "squashfs@ubiblock -comp lzo"
)

// Faults of the medium in it.
const (
	BadBlocks = "bad blocks"
	BitFlips  = "bit flips"
	Beyond    = "bit flips beyond ECC"
	AllBad    = "all blocks bad"
)

// Flash is a made-up study of raw flash, with curves and faults of the medium.
func Flash() study.Study {
	both := []string{"read-write", "read-only"}
	return study.Study{
		Name: "toy-flash", Title: "A toy study of raw flash", Source: "A. N. Author, A Toy Study of Raw Flash, Journal of Made-up Results 2, 2021",
		Scales:   map[string]study.Scale{"quick": {Candidates: []string{JFFS2, Summary, UBIFS, Squashfs}, Rounds: 3}},
		Storages: []study.Storage{{Key: "nand", Label: "raw NAND flash", Specs: map[string]string{"quick": "nand:128M"}}},
		Scenario: func(image bool, s study.Scale) scenario.Scenario {
			steps := scenario.Scenario{{Work: "mkfs", Phase: "mkfs"}}
			if image {
				steps = scenario.Scenario{{Work: "image", Phase: "image"}, {Work: "flash", Phase: "flash"}}
			}
			steps = append(steps, scenario.Step{Work: "attach", Phase: "attach", Only: "ubi"}, scenario.Step{Work: "mount", Phase: "mount"},
				scenario.Step{Work: "tree-read", Phase: "read"}, scenario.Step{Work: "tree-compare", Phase: "compare"})
			if !image {
				steps = append(steps, scenario.Step{Work: "fill-size", Phase: "write"})
			}
			return append(steps, scenario.Step{Work: "unmount", Phase: "unmount"})
		},
		Factors: func(study.Scale, study.Storage) []scenario.Factor { return FlashFactors() },
		Columns: []study.Column{
			{Name: "Mount", Key: "mount", Unit: "s", Uses: both, Terms: wall("mount"), About: "mounting with cold caches"},
			{Name: "Attach and mount", Key: "boot", Unit: "s", Uses: both, Terms: append(wall("attach"), wall("mount")...), Optional: []string{"attach"}, About: "what a boot waits for"},
			{Name: "Read", Key: "read", Unit: "s", Uses: both, Terms: wall("read"), Per: result.DataBytes, About: "every byte of every file"},
			{Name: "Write", Key: "write", Unit: "s", Uses: []string{"read-write"}, Terms: wall("write"), Per: result.DataBytes, About: "the files once more"},
			{Name: "Unmount", Key: "unmount", Unit: "s", Extra: true, Terms: wall("unmount"), About: "the last unmount"},
		},
		Claims: []study.Claim{
			curveClaim("jffs2-grows", "jffs2's mount time grows with the partition", study.CurveCheck{Axis: "partition size", Column: "mount", Candidate: JFFS2, Low: 8}),
			curveClaim("ubifs-constant", "ubifs' mount time does not", study.CurveCheck{Axis: "partition size", Column: "mount", Candidate: UBIFS, High: 2}),
			curveClaim("jffs2-constant", "jffs2's mount time does not (false)", study.CurveCheck{Axis: "partition size", Column: "mount", Candidate: JFFS2, High: 2}),
			curveClaim("all-grow", "every mount time grows with the partition (false)", study.CurveCheck{Axis: "partition size", Column: "mount", Low: 1.5}),
			curveClaim("no-axis", "mount time grows with the weather", study.CurveCheck{Axis: "weather", Column: "mount", Low: 8}),
			curveClaim("no-candidate", "ext4's mount time grows", study.CurveCheck{Axis: "partition size", Column: "mount", Candidate: Ext4, Low: 8}),
			mediumClaim("ubi-keeps", study.MediumCheck{Candidate: UBIFS, Level: BadBlocks}),
			mediumClaim("squashfs-loses", study.MediumCheck{Candidate: Squashfs, Level: Beyond, Loses: true}),
			mediumClaim("jffs2-keeps", study.MediumCheck{Candidate: JFFS2, Level: Beyond}),
			mediumClaim("no-fault", study.MediumCheck{Candidate: JFFS2, Level: "coffee"}),
		},
	}
}

func curveClaim(id, text string, k study.CurveCheck) study.Claim {
	return study.Claim{ID: id, Text: text, Where: "section 2", Check: k}
}

func mediumClaim(id string, k study.MediumCheck) study.Claim {
	text := fmt.Sprintf("%s keeps its files with %s", k.Candidate, k.Level)
	if k.Loses {
		text = strings.Replace(text, "keeps", "loses", 1)
	}
	return study.Claim{ID: id, Text: text, Where: "section 3", Check: k}
}

// FlashFactors are its two axes and its faults.
func FlashFactors() []scenario.Factor {
	const mib = 1 << 20
	size := scenario.Factor{Name: "partition size", Axis: "partition size", Unit: "B", Value: 128 * mib, Reference: "128 MiB"}
	for _, n := range []int64{8, 16, 32, 64} {
		size.Levels = append(size.Levels, scenario.Variant{Name: fmt.Sprintf("%d MiB", n), Size: n * mib, Value: float64(n * mib)})
	}
	fill := scenario.Factor{Name: "how full", Axis: "share that is filled", Unit: "1", Value: 0.25, Reference: "25 % full", Once: true,
		Candidates: []string{JFFS2, UBIFS}, Keys: []string{"mount"}}
	for _, share := range []float64{0.05, 0.5, 0.75} {
		fill.Levels = append(fill.Levels, scenario.Variant{Name: fmt.Sprintf("%g %% full", 100*share), Share: share, Value: share, Until: "mount"})
	}
	faults := scenario.Factor{Name: "faults of the medium", Reference: "healthy", Medium: true}
	for _, name := range []string{BadBlocks, BitFlips, Beyond, AllBad} {
		faults.Levels = append(faults.Levels, scenario.Variant{Name: name, Chip: "bad=1", Until: "compare"})
	}
	return []scenario.Factor{size, fill, faults}
}

// FlashRun makes up a run of the study, with this seed.
func FlashRun(seed uint64) (result.Run, []result.Trial, study.Study) {
	st := Flash()
	p := plan.Plan{Study: st.Name, Scale: "quick", Machine: "lab", Storage: "nand:128M", Candidates: parsed.Candidates(st.Scales["quick"].Candidates...),
		Rounds: 3, Seed: seed, Margin: 0.10, Factors: FlashFactors()}
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // the plan above
	}
	run := result.Run{
		ID: "20210102-030405-toy-flash", Study: st.Name, Scale: "quick", Machine: "lab", Storage: p.Storage, Clock: result.ClockInstructions, Seed: seed,
		Rounds: p.Rounds, Candidates: filesystem.Texts(p.Candidates), Margin: p.Margin, Plan: text, Version: "test", Emulated: true, State: result.Finished,
		Started: time.Date(2021, 1, 2, 3, 4, 5, 0, time.UTC),
	}
	chance := rand.New(rand.NewPCG(seed, 9))
	var trials []result.Trial
	at := run.Started
	for _, slot := range plan.Trials(p) {
		t := flashTrial(chance, slot)
		t.ID, t.Started, t.Ended, t.Overhead = int64(len(trials)+1), at, at.Add(20*time.Second), 2
		at = t.Ended
		trials = append(trials, t)
	}
	run.Ended, run.Active = at, at.Sub(run.Started).Seconds()
	return run, trials, st
}

// flashTrial: jffs2 reads the whole partition to mount; ubifs reads little of
// it, when it attaches; the smallest partition is too small for UBI.
func flashTrial(chance *rand.Rand, slot plan.Slot) result.Trial {
	t := result.Trial{Round: slot.Round, Place: slot.Place, Candidate: slot.Candidate.String(), Variant: slot.Variant, Attempt: 1, Outcome: result.Done}
	add := func(phase, metric string, v float64, unit string) {
		t.Measurements = append(t.Measurements, result.Measurement{Phase: phase, Metric: metric, Value: v, Unit: unit})
	}
	noisy := func(v float64) float64 { return v * math.Exp(0.01*chance.NormFloat64()) }
	size, share := 128.0, 0.25
	for _, f := range FlashFactors() {
		for _, l := range f.Levels {
			if l.Name == slot.Variant && l.Size > 0 {
				size = float64(l.Size >> 20)
			}
			if l.Name == slot.Variant && l.Share > 0 {
				share = l.Share
			}
		}
	}
	onUBI := t.Candidate == UBIFS || t.Candidate == Squashfs
	image := t.Candidate == Summary || t.Candidate == Squashfs
	if onUBI && size == 8 {
		t.Outcome, t.Phase, t.Reason, t.Hint = result.Refused, "attach", "8 MiB of this chip leave no erase block for UBI", "a partition of 16 MiB or more"
		return t
	}
	mount := map[string]float64{JFFS2: 0.02*size*(0.5+2*share) + 0.003, Summary: 0.0012*size + 0.003, UBIFS: 0.012 + 0.02*share, Squashfs: 0.004}[t.Candidate]
	if image {
		add("image", result.Wall, noisy(0.1*size), "s")
		add("flash", result.Wall, noisy(0.02*size), "s")
	}
	if onUBI {
		add("attach", result.Wall, noisy(0.004*size), "s")
	} else {
		t.Measurements = append(t.Measurements, result.Measurement{Phase: "attach", Metric: result.Wall, Unit: "s", Absent: "jffs2 lies on the chip itself"})
	}
	add("mount", result.Wall, noisy(mount), "s")
	if strings.HasSuffix(t.Variant, "full") {
		return t
	}
	speed := map[string]float64{JFFS2: 4, Summary: 4.1, UBIFS: 6, Squashfs: 9}[t.Candidate]
	data := size / 4
	add("read", result.Wall, noisy(data/speed), "s")
	add("read", result.DataBytes, data*(1<<20), "B")
	if faulty(&t, add) || t.Variant != "" && !strings.HasSuffix(t.Variant, "MiB") {
		return t
	}
	if !image {
		add("write", result.Wall, noisy(data/speed*2), "s")
		add("write", result.DataBytes, data*(1<<20), "B")
	}
	add("unmount", result.Wall, noisy(0.002), "s")
	return t
}

// faulty adds the fate of the files; true: the trial ended there.
func faulty(t *result.Trial, add func(phase, metric string, v float64, unit string)) bool {
	const files = 300
	bad, corrected, failed, scrubbed, wrong, unreadable, missing := 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
	end := func(outcome result.Outcome, phase, reason string) bool {
		t.Outcome, t.Phase, t.Reason = outcome, phase, reason
		t.Measurements = nil
		return true
	}
	onUBI := t.Candidate == UBIFS || t.Candidate == Squashfs
	switch {
	case t.Variant == AllBad && t.Candidate == Squashfs:
		return end(result.Unsupported, "image", "not tried")
	case t.Variant == AllBad && onUBI:
		return end(result.Refused, "attach", "every erase block is bad")
	case t.Variant == AllBad:
		return end(result.SubjectFailed, "mount", "Input/output error")
	case t.Variant == BadBlocks:
		bad = 4
	case t.Variant == BitFlips:
		corrected = 240
		if onUBI {
			scrubbed = 12
		}
	case t.Variant == Beyond && t.Candidate == JFFS2:
		failed, wrong, missing = 31, 2, 3
	case t.Variant == Beyond && t.Candidate == Summary:
		failed, missing = 31, 5
		if t.Round == 1 {
			failed, missing = 0, 0
		}
	case t.Variant == Beyond && t.Candidate == UBIFS:
		if t.Round == 2 {
			return end(result.SubjectFailed, "read", "Input/output error")
		}
		add("compare", result.MountReadOnly, 1, "1")
	case t.Variant == Beyond:
		failed, unreadable = 3, 7
	}
	add("compare", result.FilesWhole, files-wrong-unreadable-missing, "1")
	add("compare", result.FilesWrong, wrong, "1")
	add("compare", result.FilesUnreadable, unreadable, "1")
	add("compare", result.FilesMissing, missing, "1")
	add("compare", result.ECCFailed, failed, "1")
	add("compare", result.FlashBad, bad, "1")
	add("read", result.ECCCorrected, corrected/2, "1")
	add("compare", result.ECCCorrected, corrected/2, "1")
	add("compare", result.UBIScrubbed, scrubbed, "1")
	return false
}
