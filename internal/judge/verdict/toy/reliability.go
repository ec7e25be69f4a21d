package toy

import (
	"encoding/json"
	"time"

	"whichfs/internal/fault"
	"whichfs/internal/filesystem"
	"whichfs/internal/plan"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
	"whichfs/internal/testing/parsed"
)

// Careless is the candidate of the study of reliability that breaks its
// promises.
const Careless = "ext4 -o nobarrier"

// NILFS2 is a candidate not supported where the study was run.
const NILFS2 = "nilfs2"

// Reliability is a made-up study of what survives, with cases and no columns.
func Reliability() study.Study {
	return study.Study{
		Name: "toy-reliability", Title: "A toy study of what survives", Source: "A. N. Author, What Survived of My Toys, Journal of Made-up Results 3, 2022",
		Scales:   map[string]study.Scale{"quick": {Candidates: []string{Ext4, Careless, Btrfs, VFAT, NILFS2}, Rounds: 2}},
		Storages: []study.Storage{{Key: "ram", Label: "memory", Specs: map[string]string{"quick": "ram:320M"}}},
		Scenario: func(bool, study.Scale) scenario.Scenario {
			return scenario.Scenario{
				{Work: fault.PowerCut, Phase: "cut async", Count: 10}, {Work: fault.PowerCut, Phase: "cut sync", Count: 10},
				{Work: fault.FlakyWrites, Phase: "corrupt after, one file", Fault: fault.CorruptAfter},
				{Work: fault.FlakyWrites, Phase: "corrupt in turn, many files", Fault: fault.CorruptInTurn},
				{Work: fault.FlakyWrites, Phase: "dropped, many files", Fault: fault.DropWrites},
				{Work: fault.BitRot, Phase: "rot in data", Fault: fault.InData}, {Work: fault.BitRot, Phase: "rot in metadata", Fault: fault.InMetadata},
				{Work: fault.CrashStates, Phase: "crash states"},
			}
		},
		Claims: []study.Claim{
			faultClaim("no-check", "no filesystem needed a check after a power cut", study.FaultCheck{Candidates: []string{Ext4, Btrfs}, Cases: []string{"cut async", "cut sync"}, Outcomes: []string{"needs-check"}}),
			faultClaim("careless-loses", "without barriers at least a third of the cuts lose something", study.FaultCheck{Candidates: []string{Careless}, Cases: []string{"cut async", "cut sync"}, Outcomes: []string{"lost", "wrong", "truncated", "zeroed"}, Low: 0.33, High: 1}),
			faultClaim("btrfs-wrong", "btrfs returns wrong bytes (false)", study.FaultCheck{Candidates: []string{Btrfs}, Outcomes: []string{"wrong"}, Any: true}),
			faultClaim("some-wrong", "some filesystem returns wrong bytes", study.FaultCheck{Outcomes: []string{"wrong"}, Cases: []string{"rot in data"}, Any: true}),
			faultClaim("ext4-wrong", "ext4 never returns wrong bytes (false)", study.FaultCheck{Candidates: []string{Ext4}, Outcomes: []string{"wrong"}}),
			faultClaim("straddles", "at most 3 % of the cuts of btrfs are replayed", study.FaultCheck{Candidates: []string{Btrfs}, Cases: []string{"cut sync"}, Metric: fault.Replayed, High: 0.03}),
			faultClaim("nilfs2", "nilfs2 keeps everything", study.FaultCheck{Candidates: []string{NILFS2}, Cases: []string{"cut async"}, Outcomes: []string{"lost"}}),
			faultClaim("elsewhere", "jfs keeps everything", study.FaultCheck{Candidates: []string{"jfs"}, Cases: []string{"cut async"}, Outcomes: []string{"lost"}}),
			faultClaim("no-case", "coffee in the slot does nothing", study.FaultCheck{Candidates: []string{Ext4}, Cases: []string{"coffee"}, Outcomes: []string{"lost"}}),
			faultClaim("partly", "neither ext4 nor vfat needs a check", study.FaultCheck{Candidates: []string{Ext4, VFAT}, Cases: []string{"cut async", "crash states"}, Outcomes: []string{"needs-check"}}),
		},
	}
}

func faultClaim(id, text string, k study.FaultCheck) study.Claim {
	return study.Claim{ID: id, Text: text, Where: "section 4", Check: k}
}

// ends are how the iterations of one round of a case end, by candidate.
var ends = map[string]map[string]map[fault.Outcome]int{
	Ext4: {
		"cut async": {fault.Recovered: 55, fault.Whole: 5}, "cut sync": {fault.Recovered: 60},
		"corrupt after, one file": {fault.Wrong: 3, fault.Zeroed: 1, fault.Whole: 11}, "corrupt in turn, many files": {fault.Wrong: 9, fault.IOError: 4, fault.Unmountable: 2},
		"dropped, many files": {fault.Truncated: 2, fault.Lost: 8, fault.NeedsCheck: 5},
		"rot in data":         {fault.Wrong: 14, fault.Whole: 1}, "rot in metadata": {fault.Reported: 6, fault.NeedsCheck: 5, fault.ReadOnly: 4},
		"crash states": {fault.Recovered: 1200, fault.Whole: 312},
	},
	Careless: {
		"cut async": {fault.Recovered: 40, fault.Lost: 14, fault.Wrong: 6}, "cut sync": {fault.Recovered: 51, fault.Lost: 9},
		"corrupt after, one file": {fault.Wrong: 4, fault.Whole: 11}, "corrupt in turn, many files": {fault.Wrong: 10, fault.IOError: 5},
		"dropped, many files": {fault.Lost: 15}, "rot in data": {fault.Wrong: 15}, "rot in metadata": {fault.Reported: 7, fault.NeedsCheck: 8},
		"crash states": {fault.Whole: 900, fault.Recovered: 500, fault.Lost: 110, fault.Died: 2},
	},
	Btrfs: {
		"cut async": {fault.Recovered: 4, fault.Whole: 56}, "cut sync": {fault.Recovered: 3, fault.Whole: 57},
		"corrupt after, one file": {fault.IOError: 4, fault.Whole: 11}, "corrupt in turn, many files": {fault.IOError: 11, fault.Unmountable: 4},
		"dropped, many files": {fault.Unmountable: 15}, "rot in data": {fault.IOError: 15}, "rot in metadata": {fault.Recovered: 12, fault.Reported: 3},
		"crash states": {fault.Whole: 1512},
	},
	VFAT: {
		"cut async": {fault.Truncated: 12, fault.Lost: 21, fault.Whole: 27}, "cut sync": {fault.Lost: 6, fault.Whole: 53, fault.Hang: 1},
		"corrupt after, one file": {fault.Wrong: 15}, "corrupt in turn, many files": {fault.Wrong: 15}, "dropped, many files": {fault.Lost: 15},
		"rot in data": {fault.Wrong: 13, fault.Whole: 2}, "rot in metadata": {fault.Lost: 11, fault.Wrong: 4},
	},
}

// ReliabilityRun makes up a run of the study: everything is tried twice, except
// that the second trial of vfat ends before its last cases.
func ReliabilityRun() (result.Run, []result.Trial, study.Study) {
	st := Reliability()
	p := plan.Plan{Study: st.Name, Scale: "quick", Machine: "lab", Storage: "ram:320M", Candidates: parsed.Candidates(st.Scales["quick"].Candidates...), Rounds: 2, Seed: 3, Margin: 0.10}
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // the plan above
	}
	run := result.Run{ID: "20220304-050607-toy-reliability", Study: st.Name, Scale: "quick", Machine: "lab", Storage: p.Storage, Seed: p.Seed, Rounds: 2,
		Candidates: filesystem.Texts(p.Candidates), Margin: p.Margin, Plan: text, Version: "test", Emulated: true, State: result.Finished,
		Conditions: []result.Condition{{Group: "machine", Name: "kernel", Value: "6.1.0-test", Matters: true}},
		Started:    time.Date(2022, 3, 4, 5, 6, 7, 0, time.UTC)}
	var trials []result.Trial
	at := run.Started
	for _, slot := range plan.Trials(p) {
		t := result.Trial{ID: int64(len(trials) + 1), Round: slot.Round, Place: slot.Place, Candidate: slot.Candidate.String(), Attempt: 1, Outcome: result.Done,
			Started: at, Ended: at.Add(30 * time.Second), Overhead: 4}
		at = t.Ended
		if t.Candidate == NILFS2 {
			t.Outcome, t.Reason = result.Unsupported, "this kernel has no nilfs2"
			trials = append(trials, t)
			continue
		}
		for _, step := range st.Scenario(false, st.Scales["quick"]) {
			if step.Phase == "crash states" && t.Round == 2 {
				t.Measurements = append(t.Measurements, result.Measurement{Phase: step.Phase, Metric: fault.Tried, Unit: "1", Absent: "explored in the first round"})
				continue
			}
			if t.Candidate == VFAT && t.Round == 2 && step.Phase == "rot in metadata" {
				t.Outcome, t.Phase, t.Reason = result.SubjectFailed, step.Phase, "fsck.fat: killed after 60 s"
				break
			}
			t.Measurements = append(t.Measurements, faultFigures(t.Candidate, step)...)
		}
		trials = append(trials, t)
	}
	run.Ended, run.Active = at, at.Sub(run.Started).Seconds()
	return run, trials, st
}

func faultFigures(candidate string, step scenario.Step) []result.Measurement {
	var out []result.Measurement
	add := func(metric string, n int) {
		out = append(out, result.Measurement{Phase: step.Phase, Metric: metric, Value: float64(n), Unit: "1"})
	}
	out = append(out, result.Measurement{Phase: step.Phase, Metric: result.Wall, Value: 2.5, Unit: "s"})
	own := ends[candidate][step.Phase]
	tried, lost, mounted, broken := 0, 0, 0, 0
	for _, o := range fault.Outcomes {
		n := own[o]
		if n == 0 {
			continue
		}
		add(fault.OutcomePrefix+o.Key(), n)
		tried += n
		if !o.Kept() {
			lost += n
			broken += 3 * n
		}
		if o != fault.NeedsCheck && o != fault.Unmountable && o != fault.Died {
			mounted += n
		}
	}
	if tried == 0 {
		return []result.Measurement{{Phase: step.Phase, Metric: fault.Tried, Unit: "1", Absent: "no promise of vfat says what a crash state must keep"}}
	}
	add(fault.Tried, tried)
	add(fault.Mounted, mounted)
	if lost > 0 && step.Work != fault.CrashStates {
		add(fault.CheckDirty, lost)
		add(fault.AfterPrefix+fault.Lost.Key(), lost/2)
		add(fault.AfterPrefix+fault.Whole.Key(), lost-lost/2)
	}
	add(fault.CheckClean, tried-lost)
	add(fault.Promises, 40*tried)
	add(fault.Broken, broken)
	add(fault.Replayed, own[fault.Recovered])
	add(fault.Complained, own[fault.Reported]+own[fault.IOError])
	if step.Work == fault.CrashStates {
		add(fault.States, tried)
		add(fault.Equal, 3*tried)
	}
	return out
}
