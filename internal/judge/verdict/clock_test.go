package verdict

import (
	"strings"
	"testing"

	"whichfs/internal/plan/study"
	"whichfs/internal/result"
)

// counted makes a trial one of a clock that counts instructions.
func counted2ns(t *result.Trial) {
	for i, m := range t.Measurements {
		if m.Metric == result.Wall && m.Absent == "" {
			t.Measurements = append(t.Measurements, result.Measurement{Phase: m.Phase, Metric: result.Instructions, Value: m.Value * 5e8, Unit: "1"})
		}
		if m.Unit == "s" && m.Absent == "" {
			t.Measurements[i].Value, t.Measurements[i].Absent = 0, "no time"
		}
	}
	t.Overhead = t.Ended.Sub(t.Started).Seconds()
}

func TestInstructionsAreNotTime(t *testing.T) {
	f := fake{candidates: []string{"ext4", "f2fs", "squashfs -comp lzo", "erofs"}, rounds: 2, noise: 0.001, seed: 3,
		factor: map[string]map[string]float64{"f2fs": everywhere(1.4)}, change: counted2ns,
		run: func(r *result.Run) { r.Clock, r.Emulated = result.ClockInstructions, true }}
	run, trials, st := f.make()
	v, err := Compute(run, nil, trials, st, Beside{})
	if err != nil {
		t.Fatal(err)
	}
	if v.Reach != reachOfInstructions || len(v.Tables) != 0 || v.Trials.Overhead != 0 {
		t.Errorf("reach %q, %d tables, overhead %v", v.Reach, len(v.Tables), v.Trials.Overhead)
	}
	for _, c := range append(v.Columns, v.Extra...) {
		if c.Unit == "s" || strings.Contains(c.Name, "time") {
			t.Errorf("column %s is in %s", c.Name, c.Unit)
		}
	}
	write := v.Columns[4]
	if write.Key != "write" || write.Unit != "instr" || write.Cells[0].Candidate != "ext4" || write.Cells[0].Absent != "" {
		t.Errorf("%+v", write)
	}
	for _, u := range v.Uses {
		for _, text := range append(u.Reasons, u.Answer) {
			if strings.Contains(text, "as long") || strings.Contains(text, " ms") || strings.Contains(text, "Emulation makes") {
				t.Errorf("%q", text)
			}
		}
	}
	timed := map[string]bool{}
	for _, c := range st.Columns {
		timed[c.Key] = c.Unit == "s"
	}
	turnedDown := 0
	for i, c := range v.Claims {
		about := false
		for _, key := range st.Claims[i].Check.Columns() {
			about = about || timed[key]
		}
		if !about {
			continue
		}
		turnedDown++
		if c.Result != NotTested || !strings.Contains(c.Figures, "this run counts instructions") {
			t.Errorf("claim %s about time: %s, %s", c.ID, c.Result, c.Figures)
		}
	}
	if turnedDown < 5 {
		t.Errorf("only %d claims are about time", turnedDown)
	}
	for _, w := range v.Warnings {
		if strings.Contains(w, "running time") {
			t.Errorf("warning %q", w)
		}
	}
	for _, p := range v.Phases {
		for _, r := range p.Rows {
			if x, there := r.Figures[result.Instructions]; there && x.Absent == "" && x.Unit != "instr" {
				t.Errorf("phase %s: %+v", p.Name, x)
			}
		}
	}
}

// With a processor, a claim about the times of compressors is decided, and the verdict names what it
// holds for.
func TestProcessorDecides(t *testing.T) {
	predicted := ""
	decided := func(cpu string) (v Verdict, open, others int) {
		run, trials, st := fake{candidates: []string{"ext4", "btrfs -m single", "btrfs -m single -o compress=lzo", "squashfs -comp lzo", "squashfs -comp zstd"}, rounds: 3, noise: 0.001, seed: 3,
			run: func(r *result.Run) {
				r.Clock, r.Processor, r.Predicted, r.Storage = result.ClockVirtual, cpu, predicted, "sim:sd-basic,1G"
			}}.make()
		st.Claims = []study.Claim{
			{ID: "lzo", Check: study.RatioCheck{Column: "write", A: "btrfs -m single -o compress=lzo", B: []string{"btrfs -m single"}, Low: 0.5, High: 2}},
			{ID: "plain", Check: study.RatioCheck{Column: "write", A: "btrfs -m single", B: []string{"ext4"}, Low: 0.5, High: 2}},
		}
		v, err := Compute(run, nil, trials, st, Beside{})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range v.Claims {
			switch {
			case c.Result == Undecided && strings.Contains(c.Figures, "--cpu"):
				open++
			case c.Result == Agrees:
				others++
			default:
				t.Errorf("%s: %s, %s", c.ID, c.Result, c.Figures)
			}
		}
		return v, open, others
	}
	if v, open, others := decided(""); open != 1 || others != 1 || v.Reach != reachOfStorage {
		t.Errorf("without: %d open, %d others, %s", open, others, v.Reach)
	}
	if v, open, others := decided("bbb"); open != 0 || others != 2 || v.Reach != reachOfProcessor("bbb") || !strings.Contains(v.Reach, "processor bbb;") {
		t.Errorf("with: %d open, %d others, %s", open, others, v.Reach)
	}
	predicted = "BeagleBone Black (bbb) on model sd-basic"
	if v, _, _ := decided("bbb"); v.Reach != reachOfPrediction+reachOfProcessor("bbb") {
		t.Errorf("predicted: %s", v.Reach)
	}
}
