package verdict

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/fault"
	"whichfs/internal/judge/verdict/toy"
	"whichfs/internal/plan"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
)

// survived is the verdict of the toy run after change edited its trials.
func survived(t *testing.T, change func(trials []result.Trial, st *study.Study) []result.Trial) Verdict {
	t.Helper()
	run, trials, st := toy.ReliabilityRun()
	if change != nil {
		trials = change(trials, &st)
	}
	v, err := Compute(run, nil, trials, st, Beside{})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func cellAt(t *testing.T, v Verdict, candidate, name string) FaultCell {
	t.Helper()
	row, ok := v.Reliability.Row(candidate)
	for _, c := range row.Cells {
		if c.Name == name && ok {
			return c
		}
	}
	t.Fatalf("no cell for %s, %s", candidate, name)
	return FaultCell{}
}

func TestReliabilityCounts(t *testing.T) {
	v := survived(t, nil)
	r := v.Reliability
	if r == nil {
		t.Fatal("nothing was gathered")
	}
	if len(v.Uses) != 0 || len(v.Columns) != 0 {
		t.Errorf("a study without measures has %d uses, %d columns", len(v.Uses), len(v.Columns))
	}
	if want := []string{PowerCuts, CrashStates, CorruptWrites, BitRot}; !slices.Equal(r.Classes, want) {
		t.Errorf("classes %v, want %v", r.Classes, want)
	}
	var order []string
	for _, row := range r.Rows {
		order = append(order, row.Candidate)
		if len(row.Cells) != len(r.Cases) || len(row.Sums) != len(r.Classes) {
			t.Errorf("%s: %d cells of %d cases", row.Candidate, len(row.Cells), len(r.Cases))
		}
	}
	if want := []string{toy.Btrfs, toy.Ext4, toy.Careless, toy.VFAT, toy.NILFS2}; !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
	// Two rounds add up.
	c := cellAt(t, v, toy.Careless, "cut async")
	if c.Tried != 120 || c.Worst != "wrong" || c.Lost.Count() != "40 of 120" || c.Silent.Hits != 40 || c.Visible.Hits != 0 {
		t.Errorf("%+v", c)
	}
	if want := []OutcomeCount{{"wrong", 12}, {"lost", 28}, {"recovered", 80}}; !slices.Equal(c.Counts, want) {
		t.Errorf("counts %v, want %v, worst first", c.Counts, want)
	}
	if c.Dirty != 40 || c.Clean != 80 || c.Mounted != 120 || c.Promises != 4800 || c.Broken != 120 || c.Replayed != 80 {
		t.Errorf("%+v", c)
	}
	row, _ := r.Row(toy.Ext4)
	if got := row.Sum(PowerCuts).Lost.String(); got != "0 of 240: at most 1.2 %" {
		t.Errorf("ext4 after cuts: %q", got)
	}
	if !row.Sum(PowerCuts).Kept() || row.Sum(BitRot).Kept() {
		t.Errorf("ext4 keeps %v after cuts, %v after rot", row.Sum(PowerCuts).Kept(), row.Sum(BitRot).Kept())
	}
	// Wrong, zeroed, truncated and lost are silent; a hang is not.
	vfat, _ := r.Row(toy.VFAT)
	if c := vfat.Sum(PowerCuts); c.Silent.Hits != 78 || c.Visible.Hits != 2 {
		t.Errorf("vfat after cuts: silent %s, visible %s", c.Silent, c.Visible)
	}
	// Corrupted writes and bit rot: 120 iterations, without dropped writes.
	if d := row.Detection; d.Tried != 120 || d.Silent.Hits != 54 || d.Unnoticed.Of != 78 {
		t.Errorf("detection %+v", d)
	}
}

// A case that was not judged is absent with its reason; a trial that failed in
// one keeps the figures of the others, and a note reports it.
func TestNotJudgedIsNotKept(t *testing.T) {
	v := survived(t, nil)
	for _, c := range []struct{ candidate, name, absent, note string }{
		{toy.NILFS2, "cut async", "this kernel has no nilfs2", ""},
		{toy.VFAT, "crash states", "no promise of vfat says", ""},
		{toy.VFAT, "rot in metadata", "", "nothing from 1 of 2 trials (rot in metadata: fsck.fat: killed"},
		{toy.Ext4, "crash states", "", "nothing from 1 of 2 trials (explored in the first round)"},
	} {
		cell := cellAt(t, v, c.candidate, c.name)
		if !strings.Contains(cell.Absent, c.absent) || (cell.Absent == "") != (c.absent == "") || !strings.Contains(cell.Note, c.note) {
			t.Errorf("%s, %s: absent %q, note %q", c.candidate, c.name, cell.Absent, cell.Note)
		}
		if cell.Absent != "" && (cell.Kept() || cell.Tried != 0) {
			t.Errorf("%s, %s was not judged and counts as kept", c.candidate, c.name)
		}
	}
	// The failed trial counts with what it did before.
	if c := cellAt(t, v, toy.VFAT, "rot in data"); c.Tried != 30 {
		t.Errorf("the case before the failing one has %d iterations, want 30", c.Tried)
	}
	text := strings.Join(v.Reliability.Findings, "\n")
	if !strings.Contains(text, "Not tested: vfat (crash states); nilfs2 (all cases)") {
		t.Errorf("findings do not name what was not judged:\n%s", text)
	}
	// Iterations with an unknown outcome, and invalid figures.
	v = survived(t, func(trials []result.Trial, _ *study.Study) []result.Trial {
		for i := range trials {
			for j := range trials[i].Measurements {
				m := &trials[i].Measurements[j]
				switch {
				case trials[i].Candidate != toy.Btrfs:
				case m.Phase == "cut sync" && m.Metric == fault.Tried:
					m.Value += 5
				case m.Phase == "cut async" && m.Metric == fault.OutcomePrefix+"whole":
					m.Metric = fault.OutcomePrefix + "dissolved"
				case m.Phase == "rot in data":
					m.Value = math.NaN()
				case m.Phase == "rot in metadata" && strings.HasPrefix(m.Metric, fault.OutcomePrefix):
					m.Value = -3
				}
			}
		}
		return trials
	})
	if c := cellAt(t, v, toy.Btrfs, "cut sync"); c.Tried != 120 || c.Note != "10 iterations without a known outcome left out" {
		t.Errorf("%+v", c)
	}
	if c := cellAt(t, v, toy.Btrfs, "cut async"); c.Tried != 8 || !strings.HasPrefix(c.Note, "112 iterations") {
		t.Errorf("an unknown outcome counts: %+v", c)
	}
	if c := cellAt(t, v, toy.Btrfs, "rot in data"); c.Tried != 0 || !strings.Contains(c.Absent, "NaN") {
		t.Errorf("%+v", c)
	}
	if c := cellAt(t, v, toy.Btrfs, "rot in metadata"); c.Tried != 0 || c.Absent == "" {
		t.Errorf("%+v", c)
	}
}

func TestReliabilityWords(t *testing.T) {
	r := survived(t, nil).Reliability
	text := r.Answer + "\n" + strings.Join(r.Findings, "\n")
	for _, want := range []string{
		"All promised data survived every power cut on btrfs and ext4 (lost after 0 of 240: at most 1.2 %).",
		"Some promised data was lost after power cuts on ext4 -o nobarrier (58 of 240); vfat (80 of 240).",
		"ext4 -o nobarrier broke its promises after 58 of 240 power cuts (19 % to 30 %); the worst outcome: wrong.",
		"Every explored crash state kept every promise on btrfs and ext4 (0 of 1512 broke one).",
		"ext4 -o nobarrier broke a promise in 112 of 1512 crash states; the worst outcome: died.",
		"No silent corruption on btrfs (silent in 0 of 74 with damage, at most 4.0 %)",
		"on ext4 (silent in 54 of 120:",
		"Shown to lose promised data after power cuts less often, beyond chance: btrfs and ext4 (than ext4 -o nobarrier and vfat)",
		"Shown to return corrupt data silently less often, beyond chance: btrfs (than ext4, ext4 -o nobarrier and vfat)",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	// With twenty iterations each, one loss against none settles nothing.
	few := survived(t, func(trials []result.Trial, st *study.Study) []result.Trial {
		var out []result.Trial
		for _, x := range trials {
			if x.Candidate != toy.Ext4 && x.Candidate != toy.Btrfs || x.Round > 1 {
				continue
			}
			x.Measurements = []result.Measurement{{Phase: "cut sync", Metric: fault.Tried, Value: 20}}
			lost := 0.0
			if x.Candidate == toy.Ext4 {
				lost = 3
			}
			x.Measurements = append(x.Measurements, result.Measurement{Phase: "cut sync", Metric: fault.OutcomePrefix + "whole", Value: 20 - lost},
				result.Measurement{Phase: "cut sync", Metric: fault.OutcomePrefix + "lost", Value: lost})
			out = append(out, x)
		}
		return out
	}).Reliability
	text = few.Answer + "\n" + strings.Join(few.Findings, "\n")
	for _, want := range []string{"btrfs (lost after 0 of 20: at most 14 %)", "Not settled which is likelier to lose promised data after power cuts: btrfs and ext4; 20 iterations cannot tell."} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if strings.Contains(text, "Shown to") {
		t.Errorf("twenty iterations settle something:\n%s", text)
	}
}

func TestRateWords(t *testing.T) {
	for _, c := range []struct {
		hits, of int
		listed   bool
		want     string
	}{
		{0, 226, false, "0 of 226: at most 1.3 %"}, {0, 20, false, "0 of 20: at most 14 %"}, {226, 226, false, "226 of 226: at least 98.7 %"},
		{3, 15, false, "3 of 15: 4.3 % to 48 %"}, {0, 5000, false, "0 of 5000: at most 0.06 %"}, {3, 4812, true, "3 of 4812"}, {0, 0, false, "–"}, {2, 1, false, "–"},
	} {
		if got := rateOf(c.hits, c.of, c.listed).String(); got != c.want {
			t.Errorf("%d of %d: %q, want %q", c.hits, c.of, got, c.want)
		}
	}
}

func TestFaultClaims(t *testing.T) {
	want := map[string][2]string{
		"no-check":       {Agrees, "0 of 240: at most 1.2 %"},
		"careless-loses": {Disagrees, "58 of 240"},
		"btrfs-wrong":    {Disagrees, "0 of 390: at most 0.8 %"},
		"some-wrong":     {Agrees, "ext4 28 of 30"},
		"ext4-wrong":     {Disagrees, "52 of 390"},
		"straddles":      {Undecided, "6 of 120: 1.9 % to 11 %"},
		"nilfs2":         {NotTested, "this kernel has no nilfs2"},
		"elsewhere":      {NotTested, "jfs (not in this run)"},
		"no-case":        {NotTested, "coffee: not tried"},
		"partly":         {Undecided, "vfat (crash states: no promise of vfat"},
	}
	for _, c := range survived(t, nil).Claims {
		w, ok := want[c.ID]
		if !ok {
			t.Errorf("claim %s is not expected", c.ID)
			continue
		}
		delete(want, c.ID)
		if c.Result != w[0] || !strings.Contains(c.Figures, w[1]) {
			t.Errorf("%s: %s, %q; want %s, %q", c.ID, c.Result, c.Figures, w[0], w[1])
		}
	}
	if len(want) > 0 {
		t.Errorf("claims are missing: %v", want)
	}
	// Twenty iterations without a loss are too few for "never", and to refute "it
	// can".
	for _, c := range []struct {
		hits, of int
		never    string
		some     string
	}{{0, 20, Undecided, Undecided}, {0, 60, Agrees, Disagrees}, {1, 60, Disagrees, Agrees}} {
		r := rateOf(c.hits, c.of, false)
		if got := shareWithin(r, 0, 0); got != c.never {
			t.Errorf("%s is never: %s, want %s", r, got, c.never)
		}
		if got := shareWithin(rateOf(c.of-c.hits, c.of, false), 1, 1); got != c.never {
			t.Errorf("all but %s is always: %s, want %s", r, got, c.never)
		}
		if got := someOf(r); got != c.some {
			t.Errorf("%s can happen: %s, want %s", r, got, c.some)
		}
	}
}

// A run of a study of speed with cases has both its order and, among the
// reasons, what survives. Without a case it has no such reason.
func TestReliabilityBesideSpeed(t *testing.T) {
	run, trials, st := toy.Run{Plain: true, Seed: 2}.Make()
	v, err := Compute(run, nil, trials, st, Beside{})
	if err != nil || v.Reliability != nil {
		t.Fatalf("without a case: %+v, %v", v.Reliability, err)
	}
	run.Plan = planWith(t, run.Plan, st, scenario.Step{Work: fault.PowerCut, Phase: "cut async"})
	for i := range trials {
		add := func(metric string, n float64) {
			trials[i].Measurements = append(trials[i].Measurements, result.Measurement{Phase: "cut async", Metric: metric, Value: n, Unit: "1"})
		}
		add(fault.Tried, 4)
		add(fault.OutcomePrefix+"recovered", 4)
	}
	if v, err = Compute(run, nil, trials, st, Beside{}); err != nil {
		t.Fatal(err)
	}
	found := false
	for _, u := range v.Uses {
		for _, reason := range u.Reasons {
			found = found || strings.Contains(reason, "What survives on those that could be first") && strings.Contains(reason, "0 of 20 power cuts, at most 14 %")
		}
	}
	if !found || len(v.Uses) == 0 {
		t.Errorf("no reason says what survives: %+v", v.Uses)
	}
	for _, p := range v.Phases {
		for _, row := range p.Rows {
			for metric := range row.Figures {
				if isFault(metric) {
					t.Errorf("%s: %s is among the costs", p.Name, metric)
				}
			}
		}
	}
}

// planWith is the plan of a run with the steps of its study, preceded by
// another one.
func planWith(t *testing.T, text []byte, st study.Study, steps ...scenario.Step) []byte {
	t.Helper()
	var p plan.Plan
	if err := json.Unmarshal(text, &p); err != nil {
		t.Fatal(err)
	}
	p.ReadWrite = append(slices.Clone(scenario.Scenario(steps)), st.Scenario(false, st.Scales[p.Scale])...)
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// The step of a case determines its class, whatever its phase is called: the
// step of the plan stored with the run, which the current study may lack.
func TestClassOfACase(t *testing.T) {
	for _, c := range []struct {
		step   scenario.Step
		class  string
		stored bool
	}{
		{scenario.Step{Work: fault.PowerCut}, PowerCuts, false},
		{scenario.Step{Work: fault.PowerCut, Fault: fault.Kill}, ProcessorResets, false},
		{scenario.Step{Work: fault.FlakyWrites, Fault: fault.CorruptAfter}, CorruptWrites, true},
		{scenario.Step{Work: fault.FlakyWrites, Fault: fault.CorruptInTurn}, CorruptWrites, true},
		{scenario.Step{Work: fault.FlakyWrites, Fault: fault.DropWrites}, CorruptWrites, false},
		{scenario.Step{Work: fault.FlakyWrites, Fault: fault.FailWrites}, CorruptWrites, false},
		{scenario.Step{Work: fault.BitRot, Fault: fault.InMetadata}, BitRot, true},
		{scenario.Step{Work: fault.BadSectors, Fault: fault.InData}, UnreadableSectors, false},
		{scenario.Step{Work: fault.CrashStates}, CrashStates, false},
		{scenario.Step{Work: fault.CrashStates, Fault: fault.Careless}, CarelessPrograms, false},
	} {
		c.step.Phase = "careless rot in a crash"
		got, ok := caseOfStep(c.step)
		if !ok || got != (FaultCase{Name: c.step.Phase, Class: c.class, stored: c.stored}) {
			t.Errorf("%s %s: %+v, %v", c.step.Work, c.step.Fault, got, ok)
		}
	}
	if _, ok := caseOfStep(scenario.Step{Work: "mkfs", Phase: "cut"}); ok {
		t.Error("mkfs is a case")
	}
	run, trials, st := toy.ReliabilityRun()
	run.Plan = planWith(t, run.Plan, st, scenario.Step{Work: fault.CrashStates, Phase: "coffee", Fault: fault.Careless})
	v, err := Compute(run, nil, trials, st, Beside{})
	if err != nil {
		t.Fatal(err)
	}
	if c, ok := v.Reliability.Case("coffee"); !ok || c.Class != CarelessPrograms {
		t.Errorf("%+v, %v", c, ok)
	}
	if c, ok := v.Reliability.Case("rot in metadata"); !ok || c.Class != BitRot {
		t.Errorf("%+v, %v", c, ok)
	}
}

func TestReliabilityWarnings(t *testing.T) {
	v := survived(t, func(trials []result.Trial, _ *study.Study) []result.Trial {
		for i := range trials {
			trials[i].Notes = []result.Note{{Phase: "rot in data", Level: result.Warning, Text: "kernel: checksum error"}, {Phase: "unmount", Level: result.Warning, Text: "kernel: slow"}}
		}
		return trials
	})
	text := strings.Join(v.Warnings, "\n")
	if strings.Contains(text, "checksum error") || strings.Contains(text, "Two rounds") || !strings.Contains(text, "slow") {
		t.Errorf("warnings:\n%s", text)
	}
}

// The same trials in any order give the same answer.
func TestReliabilityOrderOfTrials(t *testing.T) {
	a := survived(t, nil)
	b := survived(t, func(trials []result.Trial, _ *study.Study) []result.Trial {
		slices.Reverse(trials)
		return trials
	})
	if a.Reliability.Answer != b.Reliability.Answer || !slices.Equal(a.Reliability.Findings, b.Reliability.Findings) {
		t.Errorf("%s\n%s", a.Reliability.Answer, b.Reliability.Answer)
	}
}

// A study without measures is one of faults only if it has cases.
func TestFaultsOnly(t *testing.T) {
	if !FaultsOnly(toy.Reliability()) || FaultsOnly(toy.Study()) || FaultsOnly(study.FromFio("", "")) || FaultsOnly(study.Study{}) || FaultsOnly(study.Elc2015Abilities()) {
		t.Error("studies of faults and of speed are mistaken for each other")
	}
}

// withMatrix is the toy run, of which each candidate has also two cells of the
// matrix of corruption and a reset; btrfs does not survive one of the cells.
func withMatrix(t *testing.T) Verdict {
	t.Helper()
	run, trials, st := toy.ReliabilityRun()
	steps := []scenario.Step{
		{Work: fault.FlakyWrites, Phase: "write 0xff", Fault: fault.CorruptEither, Byte: fault.ByteOnes, Block: fault.BlockSize},
		{Work: fault.FlakyReads, Phase: "read", Order: scenario.OrderRandom},
		{Work: fault.PowerCut, Phase: "reset", Fault: fault.Kill},
	}
	run.Plan = planWith(t, run.Plan, st, steps...)
	for i := range trials {
		if trials[i].Outcome != result.Done {
			continue
		}
		for _, step := range steps {
			end := fault.Whole
			if trials[i].Candidate == toy.Btrfs && step.Phase == "write 0xff" {
				end = fault.Unmountable
			}
			for metric, v := range map[string]float64{fault.Tried: 3, fault.OutcomePrefix + end.Key(): 3,
				fault.MountMedian: 0.25 * float64(trials[i].Round), fault.MountLongest: 2 * float64(trials[i].Round)} {
				trials[i].Measurements = append(trials[i].Measurements, result.Measurement{Phase: step.Phase, Metric: metric, Value: v})
			}
		}
	}
	v, err := Compute(run, nil, trials, st, Beside{})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Cells of the matrix are named by what they share and what they do not; fatal
// ones are counted; a reset is no power cut; and mounts have their times.
func TestCorruptBytes(t *testing.T) {
	v := withMatrix(t)
	for name, want := range map[string][2]string{"write 0xff": {"writes, a byte of each block", "0xff first"}, "read": {"reads, a byte of each request", "0x00 elsewhere"}} {
		if c, ok := v.Reliability.Case(name); !ok || c.Class != CorruptBytes || c.Group != want[0] || c.Short != want[1] || c.stored {
			t.Errorf("%+v, %v", c, ok)
		}
	}
	text := strings.Join(v.Reliability.Findings, "\n")
	for _, want := range []string{"in this many cells of their matrix: btrfs (1 of 2); ext4", "Resets of the processor, with the storage still powered: btrfs"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if m := cellAt(t, v, toy.Ext4, "reset").Mount; m == nil || *m != (MountTime{Median: 0.375, Longest: 4}) {
		t.Errorf("%+v", m)
	}
	if row, _ := v.Reliability.Row(toy.Ext4); row.Sum(PowerCuts).Tried != 240 || row.Sum(ProcessorResets).Tried != 6 || row.Sum(CorruptBytes).Tried != 12 {
		t.Errorf("%+v", row.Sums)
	}
}

// A wrong answer of statfs is one, in whichever case and round.
func TestRoom(t *testing.T) {
	run, trials, st := toy.ReliabilityRun()
	run.Plan = planWith(t, run.Plan, st, scenario.Step{Work: "room", Phase: "one"}, scenario.Step{Work: "room", Phase: "small"})
	for i := range trials {
		for phase, off := range map[string]float64{"one": 0.01, "small": 0.02 * float64(trials[i].Round)} {
			if trials[i].Candidate != toy.VFAT || phase == "one" {
				for metric, v := range map[string]float64{result.SpaceAvailable: 100, result.SpaceFits: 90, result.SpaceOff: off} {
					trials[i].Measurements = append(trials[i].Measurements, result.Measurement{Phase: phase, Metric: metric, Value: v})
				}
			}
		}
	}
	for i, k := range []study.RoomCheck{{Candidate: toy.Ext4, Low: 0.04}, {Candidate: toy.Ext4, Low: 0.05}, {Candidate: toy.VFAT, Low: 0.05}, {Candidate: "jfs"}} {
		k.Cases = []string{"one", "small"}
		st.Claims = append(st.Claims, study.Claim{ID: "room-" + string(rune('a'+i)), Check: k})
	}
	v, err := Compute(run, nil, trials, st, Beside{})
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{"room-a": Agrees, "room-b": Disagrees, "room-c": Undecided, "room-d": NotTested} {
		i := slices.IndexFunc(v.Claims, func(c Claim) bool { return c.ID == id })
		if v.Claims[i].Result != want {
			t.Errorf("%s: %+v", id, v.Claims[i])
		}
	}
	if v.Room == nil || !slices.Equal(v.Room.Cases, []string{"one", "small"}) || len(v.Room.Rows) != 5 {
		t.Fatalf("%+v", v.Room)
	}
	for _, row := range v.Room.Rows {
		if row.Candidate == toy.Ext4 && row.Cells[1] != (RoomCell{Available: 100, Fits: 90, Off: 0.04}) || row.Candidate == toy.VFAT && row.Cells[1].Absent == "" {
			t.Errorf("%+v", row)
		}
	}
}

// A run of faults gives its answer in a series, too, and has no costs per byte.
func TestReliabilityInSeries(t *testing.T) {
	v := survived(t, nil)
	s := Series("series", []Verdict{v}, toy.Reliability())
	if len(s.Storages) != 1 || !slices.Equal(s.Storages[0].Answers, []string{v.Reliability.Answer}) {
		t.Errorf("answers %+v", s.Storages)
	}
	if v.Costs != nil {
		t.Error("a run of faults has costs by byte and operation")
	}
}
