package contrast

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/result"
)

// foretell makes a run of the virtual clock charged for a processor, which takes a quarter of each
// phase's time. Times without a factor are one second in every round.
func foretell(m made) made {
	m.id = "p"
	m.run = func(r *result.Run) {
		r.Clock, r.Processor, r.Predicted, r.Storage = result.ClockVirtual, "bbb", "BeagleBone Black (bbb) on model sd-basic", "sim:sd-basic,1G"
		r.Conditions = append(r.Conditions, result.Condition{Group: "machine", Name: "charged processor", Value: "bbb: 480 MIPS", Matters: true},
			result.Condition{Group: "machine", Name: "kernel package", Value: "linux-source-6.1", Matters: true},
			result.Condition{Group: "storage", Name: "model", Value: "sd-basic", Matters: true},
			result.Condition{Group: "storage", Name: "size", Value: "1073741824 B", Matters: true},
			result.Condition{Group: "machine", Name: "kernel recipe", Value: "cccc", Matters: true},
			result.Condition{Group: "machine", Name: "guest memory", Value: "512 MiB", Matters: true},
			result.Condition{Group: "machine", Name: "memory", Value: "490 MiB", Matters: true})
	}
	also := m.trial
	m.trial = func(t *result.Trial) {
		if also != nil {
			also(t)
		}
		for _, x := range slices.Clone(t.Measurements) {
			if x.Metric == result.Wall {
				t.Measurements = append(t.Measurements, result.Measurement{Phase: x.Phase, Metric: result.Processor, Value: x.Value / 4, Unit: "s"})
			}
		}
	}
	return m
}

// measure makes a run on a board.
func measure(m made) made {
	m.id = "m"
	m.run = func(r *result.Run) {
		r.Machine, r.Storage, r.Clock = "local", "/dev/mmcblk0", result.ClockWall
		r.Conditions = slices.DeleteFunc(r.Conditions, func(c result.Condition) bool { return c.Name == "lab image" })
		r.Conditions = append(r.Conditions, result.Condition{Group: "machine", Name: "processor", Value: "implementer 0x41", Matters: true},
			result.Condition{Group: "storage", Name: "size", Value: "1073741824 B", Matters: true},
			result.Condition{Group: "machine", Name: "memory", Value: "490 MiB", Matters: true})
	}
	return m
}

// perRound gives one phase of one candidate these times, round by round.
func perRound(candidate, phase string, seconds ...float64) func(*result.Trial) {
	return func(t *result.Trial) {
		for i, m := range t.Measurements {
			if t.Candidate == candidate && m.Phase == phase && m.Metric == result.Wall {
				t.Measurements[i].Value = seconds[t.Round-1]
			}
		}
	}
}

func phase(t testing.TB, c Contrast, candidate, name string) PhaseRatio {
	t.Helper()
	i := slices.IndexFunc(c.Prediction.Phases, func(p PhaseRatio) bool { return p.Candidate == candidate && p.Phase == name })
	if i < 0 {
		t.Fatalf("no phase %s of %s", name, candidate)
	}
	return c.Prediction.Phases[i]
}

var fourWritable = []string{"ext4", "xfs", "f2fs", "jfs"}

// Every phase of a candidate is off by the same factor, except three.
func TestPredictionIsMeasured(t *testing.T) {
	orders := map[string]float64{"ext4 write": 1, "xfs write": 2, "f2fs write": 3, "jfs write": 4, "ext4 read": 1, "xfs read": 2, "f2fs read": 3, "jfs read": 4}
	// ext4 10 % slower than predicted, xfs 20 %, f2fs 40 %, jfs 100 %.
	off := map[string]float64{"ext4": 1.1, "xfs": 1.2, "f2fs": 1.4, "jfs": 2}
	maps.Copy(off, orders)
	off["ext4 read"] = 100
	p := foretell(made{candidates: fourWritable, rounds: 3, factor: orders, trial: perRound("ext4", "fill", 1, 2, 4)}).source(t)
	m := measure(made{candidates: fourWritable, rounds: 3, factor: off, trial: perRound("ext4", "fill", 3, 6, 3)}).source(t)
	c := compareThem(t, p, m)

	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-6*math.Abs(want) {
			t.Errorf("%s: %v instead of %v", what, got, want)
		}
	}
	interval := func(what string, got verdict.Interval, value, low, high float64) {
		t.Helper()
		near(what, got.Value, value)
		near(what+", low", got.Low, low)
		near(what+", high", got.High, high)
	}
	// By Student's and Welch's formulas, computed apart from this program: 3.2 degrees of freedom.
	d := phase(t, c, "ext4", "fill")
	interval("predicted", d.Predicted, 2, 0.3574621236, 11.1899967466)
	interval("measured", d.Measured, 3.7797631497, 1.3986919513, 10.2142644454)
	interval("ratio", d.Ratio, 1.8898815748, 0.4568344058, 7.8182648281)

	worst := c.Prediction.Phases[0]
	if worst.Candidate != "ext4" || worst.Phase != "read" || math.Abs(worst.Ratio.Value-110) > 1e-9 || worst.Processor == nil || math.Abs(*worst.Processor-0.25) > 1e-12 {
		t.Errorf("worst: %+v", worst)
	}
	// Four candidates with n phases each. Of ext4, n-2 are off by 0.1; of xfs all by 0.2, of f2fs by 0.4, of
	// jfs by 1; ext4's fill is off by 0.89 and its read by 109. As 2n-2 are at most
	// 0.2, both middle ones, the 2n-th and the next, are 0.4.
	n := len(c.Prediction.Phases) / 4
	if len(c.Prediction.Phases) != 4*n || n < 10 {
		t.Fatalf("%d phases", len(c.Prediction.Phases))
	}
	near("median", c.Prediction.Off.Median, 0.4)
	near("within 15 %", c.Prediction.Off.Within15, float64(n-2)/float64(4*n))
	near("within 30 %", c.Prediction.Off.Within30, float64(2*n-2)/float64(4*n))
	// Writing keeps its order. Reading turns ext4's three of the six pairs around.
	for key, tau := range map[string]float64{"write": 1, "read": 0} {
		i := slices.IndexFunc(c.Columns, func(col Column) bool { return col.Key == key })
		if got := c.Columns[i].Tau; got == nil || !got.Has || math.Abs(got.Value-tau) > 1e-12 || got.N != 4 {
			t.Errorf("order of %s: %+v", key, got)
		}
	}
	if c.A.ID != "p" || c.A.Predicted != "BeagleBone Black (bbb) on model sd-basic" || c.B.Predicted != "" || len(c.About) != 0 || len(c.Warnings) != 0 || c.Reach != "" {
		t.Errorf("%+v", c)
	}
	if !strings.HasPrefix(c.Answer[0], "Measured times differ from predicted ones by 40 % in the median of ") || !strings.HasPrefix(c.Answer[2], "The worst: phase read of ext4, predicted 1.00") ||
		!strings.HasSuffix(c.Answer[2], "the processor takes 25 % of the predicted time.") {
		t.Errorf("%q", c.Answer)
	}
	if turned := compareThem(t, m, p); turned.A.ID != "p" || turned.Answer[0] != c.Answer[0] {
		t.Errorf("turned around: %+v", turned.A)
	}
}

// Candidates with nearly the same time spoil tau-b, and not tau of the pairs that the measurement tells apart.
func TestPredictionOfNearlyEqualCandidates(t *testing.T) {
	p := foretell(made{candidates: fourWritable, rounds: 3, factor: map[string]float64{
		"ext4 write": 1, "xfs write": 1.01, "f2fs write": 1.02, "jfs write": 2,
		"ext4 read": 1, "xfs read": 1, "f2fs read": 3, "jfs read": 2,
		"jfs delete": 2,
	}}).source(t)
	m := made{candidates: fourWritable, rounds: 3,
		factor: map[string]float64{"ext4 read": 4, "f2fs read": 3, "jfs read": 2},
		trial: func(one *result.Trial) {
			for candidate, seconds := range map[string][]float64{"ext4": {1.02, 1.10, 0.98}, "xfs": {1.05, 0.97, 1.01}, "f2fs": {0.99, 0.96, 1.03}, "jfs": {2, 2.1, 1.9}} {
				perRound(candidate, "write", seconds...)(one)
			}
		}}
	single := m
	single.rounds = 1
	const few = "the measurement tells fewer than two pairs of candidates apart"
	for _, x := range []struct {
		m     made
		key   string
		tau   float64
		apart ToldApart
	}{
		// The measured order of the first three is the reverse of the predicted one, within the noise.
		{m, "write", 0, ToldApart{Value: 1, Pairs: 3, Of: 6}},
		// The prediction ties ext4 with xfs, and wrongly has ext4 before f2fs and jfs: 3 pairs less 2.
		{m, "read", 1 / math.Sqrt(5*6), ToldApart{Value: 1.0 / 6, Pairs: 6, Of: 6}},
		{m, "delete", 0, ToldApart{Absent: few, Of: 6}},
		{single, "read", 1 / math.Sqrt(5*6), ToldApart{Absent: "one measured round tells no candidates apart", Of: 6}},
	} {
		c := compareThem(t, p, measure(x.m).source(t))
		col := c.Columns[slices.IndexFunc(c.Columns, func(col Column) bool { return col.Key == x.key })]
		if math.Abs(col.Tau.Value-x.tau) > 1e-12 || *col.ToldApart != x.apart {
			t.Errorf("%s: %+v, %+v", x.key, *col.Tau, *col.ToldApart)
		}
	}
	m.candidates = fourWritable[:2]
	c := compareThem(t, p, measure(m).source(t))
	i := slices.IndexFunc(c.Columns, func(col Column) bool { return col.Key == "read" })
	if got := *c.Columns[i].ToldApart; got != (ToldApart{Absent: few, Pairs: 1, Of: 1}) {
		t.Errorf("a single pair: %+v", got)
	}
	if c := compareThem(t, measure(made{candidates: four, rounds: 2}).source(t), made{id: "n", candidates: four, rounds: 2}.source(t)); c.Columns[0].ToldApart != nil {
		t.Errorf("two measurements: %+v", c.Columns[0].ToldApart)
	}
}

// Neither a figure nor a ratio of a single round has an interval.
func TestPredictionOfOneRound(t *testing.T) {
	c := compareThem(t, foretell(made{candidates: four, rounds: 1}).source(t), measure(made{candidates: four, rounds: 3, noise: 0.1}).source(t))
	d := phase(t, c, "ext4", "fill")
	if !d.Predicted.Single || d.Measured.Single || !d.Ratio.Single {
		t.Errorf("%+v", d)
	}
	if len(c.Warnings) != 1 || c.Warnings[0] != "Run p has only one round: neither its figures nor any ratio has an interval." {
		t.Errorf("%q", c.Warnings)
	}
}

// What only one run has is listed with its reason, and so is what differs besides the hardware.
func TestPredictionNamesWhatIsMissing(t *testing.T) {
	p := foretell(made{candidates: []string{"ext4", "xfs", "f2fs", "ext2"}, rounds: 2}).source(t)
	m := measure(made{candidates: []string{"ext4", "xfs", "jfs", "ext2"}, rounds: 2, trial: func(one *result.Trial) {
		one.Measurements = slices.DeleteFunc(one.Measurements, func(m result.Measurement) bool { return one.Candidate == "ext4" && m.Phase == "write" })
		if one.Candidate == "xfs" {
			one.Outcome, one.Phase, one.Reason, one.Measurements = result.SubjectFailed, "mkfs", "no space", nil
		}
	}})
	hardware := m.run
	m.run = func(r *result.Run) {
		hardware(r)
		for i := range r.Conditions {
			switch r.Conditions[i].Name {
			case "kernel":
				r.Conditions[i].Value = "5.10.0"
			case "tree":
				r.Conditions[i].Value = "sha256:2"
			case "size":
				r.Conditions[i].Value = "2147483648 B"
			case "memory":
				r.Conditions[i].Value = "240 MiB"
			}
		}
	}
	c := compareThem(t, p, m.source(t))
	want := []Missing{
		{"f2fs", "", "not measured: run m does not have this candidate"},
		{"jfs", "", "not predicted: run p does not have this candidate"},
		{"ext4", "write", "not measured: phase write has no such figure"},
		{"xfs", "", "not measured: mkfs: no space"},
	}
	if !slices.Equal(c.Prediction.Missing, want) {
		t.Errorf("%+v", c.Prediction.Missing)
	}
	if !slices.Equal(c.About, []string{"kernel", "data", "storage", "memory"}) || len(c.Differs) != 4 {
		t.Errorf("%q: %+v", c.About, c.Differs)
	}
	if len(c.Warnings) != 1 || !strings.HasPrefix(c.Warnings[0], "The runs also differ in kernel") {
		t.Errorf("%q", c.Warnings)
	}
	if w := change(t, c, "write", "ext4"); !strings.HasPrefix(w.Absent, "not measured: ") {
		t.Errorf("%+v", w)
	}
}

// Only what a processor was charged for predicts what a clock on the wall measures.
func TestPredictionNeedsAProcessor(t *testing.T) {
	m := measure(made{candidates: four, rounds: 2}).source(t)
	p := foretell(made{candidates: four, rounds: 2})
	hardware := p.run
	for name, change := range map[string]func(*result.Run){
		"no processor":  func(r *result.Run) { r.Processor, r.Predicted = "", "" },
		"another clock": func(r *result.Run) { r.Clock = result.ClockInstructions },
		"another scale": func(r *result.Run) { r.Scale = "full" },
	} {
		p.run = func(r *result.Run) { hardware(r); change(r) }
		if _, err := Compare(p.source(t), m); err == nil || !strings.Contains(err.Error(), "did not measure the same thing") {
			t.Errorf("%s: %v", name, err)
		}
	}
	p.run = hardware
	other := p
	other.run = func(r *result.Run) { hardware(r); r.ID, r.Processor = "q", "pi4" }
	if c := compareThem(t, p.source(t), other.source(t)); c.Prediction != nil {
		t.Error("two predictions are no measurement")
	}
}
