package verdict

import (
	"slices"
	"strings"
	"testing"

	"whichfs/internal/judge/verdict/toy"
	"whichfs/internal/result"
)

// charge gives every phase the work of a processor that is charged to the clock: a tenth of its
// time, and an instruction for each nanosecond of that.
func charge(t *result.Trial, checksums float64) {
	for _, m := range t.Measurements {
		if m.Metric != result.Wall || m.Absent != "" {
			continue
		}
		busy := m.Value / 10
		for metric, amount := range map[string]float64{
			result.Processor: busy, result.Instructions: busy * 1e9, result.InstructionsChecksums: busy * 1e9 * checksums,
			result.InstructionsOther: busy * 1e9 * (1 - checksums), result.InstructionsCompressing: 0,
			result.ProcessorCopied: 4096, result.ProcessorCalls: 7, result.ProcessorFaults: 0,
		} {
			t.Measurements = append(t.Measurements, result.Figure(metric, amount).In(m.Phase))
		}
	}
}

// withoutProcessorTimes makes a trial one of a clock on which the processor takes no time.
func withoutProcessorTimes(t *result.Trial) {
	for i, m := range t.Measurements {
		if slices.Contains(result.ProcessorTimes, m.Metric) {
			t.Measurements[i] = result.Missing(m.Metric, "the processor takes no time").In(m.Phase)
		}
	}
}

// Costs and reasons use what was charged, and not what the scheduler accounts for.
func TestCostsOfChargedProcessor(t *testing.T) {
	f := fake{candidates: []string{"ext4", "f2fs", "xfs"}, rounds: 3, noise: 0.001, seed: 7,
		factor: map[string]map[string]float64{"f2fs": everywhere(3)}}
	f.change = func(t *result.Trial) {
		if t.Candidate == "f2fs" {
			for i := range t.Measurements {
				if t.Measurements[i].Metric == result.CPUSystem {
					t.Measurements[i].Value = 0
				}
			}
		}
		charge(t, map[string]float64{"f2fs": 0.5}[t.Candidate])
		for i, m := range t.Measurements {
			if m.Metric == result.Processor && t.Candidate == "f2fs" {
				t.Measurements[i].Value = m.Value * 8 // most of its time
			}
		}
	}
	run, trials, st := f.make()
	v, err := Compute(run, nil, trials, st, Beside{})
	if err != nil {
		t.Fatal(err)
	}
	var reasons []string
	for _, u := range v.Uses {
		reasons = append(reasons, u.Reasons...)
	}
	all := strings.Join(reasons, "\n")
	mustContain(t, "reasons", all, "it takes 7.20 s of processor time against 300 ms; it executes 450 Minstr of checksums against 0")
	if strings.Contains(all, "of compressing") {
		t.Error(all)
	}
	ext4, f2fs := v.Costs.Rows[0], v.Costs.Rows[1]
	if ext4.Candidate != "ext4" || f2fs.CPU.Estimate.Value < 20*ext4.CPU.Estimate.Value || !strings.HasPrefix(v.Costs.About, aboutCharged) {
		t.Errorf("%s: %+v, %+v", v.Costs.About, ext4, f2fs)
	}
	work := f2fs.Work
	if got, want := work[result.Instructions].Estimate.Value, 3*ext4.Work[result.Instructions].Estimate.Value; got < 0.99*want || got > 1.01*want {
		t.Errorf("%v instructions, want %v", got, want)
	}
	if n := work[result.ProcessorCalls].Estimate.Value; n < 7 || int(n)%7 != 0 || work[result.Instructions].Unit != "instr" || work[result.ProcessorCopied].Unit != "B" {
		t.Errorf("%+v", work)
	}
}

// A charge that is absent is not replaced by another figure.
func TestChargeAbsent(t *testing.T) {
	v := judged(t, toy.Run{Seed: 1, Change: func(t *result.Trial) bool {
		charge(t, 0)
		for i, m := range t.Measurements {
			if m.Metric == result.Processor {
				t.Measurements[i] = result.Missing(m.Metric, "damaged").In(m.Phase)
			}
		}
		return true
	}})
	if r := v.Costs.Rows[0]; r.CPU.Absent != "damaged" || r.PerOp.Absent != "damaged" || r.Work != nil {
		t.Errorf("%+v", r)
	}
}

// Where the processor takes no time, its costs are absent with the reason, and the others remain.
func TestCostsOfFreeProcessor(t *testing.T) {
	v := judged(t, toy.Run{Seed: 1, Change: func(t *result.Trial) bool { withoutProcessorTimes(t); return true }})
	if v.Costs == nil || v.Costs.About != aboutBusy {
		t.Fatalf("%+v", v.Costs)
	}
	r := v.Costs.Rows[2]
	for _, x := range []Figure{r.CPU, r.PerByte, r.PerOp, r.ThreadCPU} {
		if x.Absent != "the processor takes no time" {
			t.Errorf("%+v", x)
		}
	}
	if r.Busy.Absent != "" || r.Memory.Absent != "" || r.Work != nil {
		t.Errorf("%+v", r)
	}
	for _, u := range v.Uses {
		if all := strings.Join(u.Reasons, "\n"); strings.Contains(all, "processor time") {
			t.Error(all)
		}
	}
}

// Only a kind of code that explains a good part of the difference is named.
func TestExecutes(t *testing.T) {
	for _, c := range []struct {
		all, compressing, checksums [2]float64 // of the slower and the faster
		want                        string
	}{
		{[2]float64{10e6, 2e6}, [2]float64{8e6, 0}, [2]float64{0, 0}, "it executes 8.00 Minstr of compressing against 0 instr"},
		{[2]float64{10e6, 2e6}, [2]float64{1e6, 0}, [2]float64{1e6, 0}, ""},
		{[2]float64{10e6, 2e6}, [2]float64{4e6, 1e6}, [2]float64{3e6, 1e6}, "it executes 4.00 Minstr of compressing against 1.00 Minstr; it executes 3.00 Minstr of checksums against 1.00 Minstr"},
		{[2]float64{2e6, 10e6}, [2]float64{1e6, 0}, [2]float64{0, 0}, ""},
		{[2]float64{2e6, 2e6}, [2]float64{1e6, 1e6}, [2]float64{0, 0}, ""},
	} {
		got := executes(func(metrics ...string) (float64, float64, bool) {
			pair := map[string][2]float64{result.Instructions: c.all, result.InstructionsCompressing: c.compressing, result.InstructionsChecksums: c.checksums}[metrics[0]]
			return pair[0], pair[1], true
		})
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("%+v: %q", c, text)
		}
	}
	if got := executes(func(...string) (float64, float64, bool) { return 0, 0, false }); got != nil {
		t.Errorf("%q", got)
	}
}
