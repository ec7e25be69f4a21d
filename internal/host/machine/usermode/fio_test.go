package usermode

import (
	"strings"
	"testing"

	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/labguest"
	"whichfs/internal/host/machine/machinetest"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
	"whichfs/internal/testing/parsed"
	"whichfs/internal/wire"
)

// fioPhases runs a scenario and returns its figures by phase and metric.
func fioPhases(t *testing.T, s machine.Session, candidate string, steps scenario.Scenario) (map[string]map[string]result.Measurement, []result.Artifact, wire.Done) {
	t.Helper()
	phases := map[string]map[string]result.Measurement{}
	var artifacts []result.Artifact
	d, err := s.Trial(t.Context(), wire.Trial{Candidate: parsed.Candidate(candidate), Scenario: steps, StepLimit: 600}, machine.Events{Figures: func(f wire.Figures) {
		artifacts = append(artifacts, f.Artifacts...)
		for _, m := range f.Measurements {
			if phases[m.Phase] == nil {
				phases[m.Phase] = map[string]result.Measurement{}
			}
			phases[m.Phase][m.Metric] = m
		}
	}})
	if err != nil {
		t.Fatal(machinetest.Explain(err))
	}
	return phases, artifacts, d
}

// fio in a guest, with the small blocks of a study's matrix of jobs: reads come from the storage
// and not from a cache, and the output is kept whole.
func TestFio(t *testing.T) {
	t.Parallel()
	st, ok := study.ByName("elc-2015")
	if !ok {
		t.Fatal("there is no study elc-2015")
	}
	steps := scenario.Scenario{{Work: "mkfs"}, {Work: "mount"}}
	scale := st.Scales["quick"]
	for _, step := range st.Scenario(false, scale) {
		if step.Work == "fio" && (strings.Contains(step.Phase, "4k") || strings.HasPrefix(step.Phase, "mixed-random")) {
			steps = append(steps, step)
		}
	}
	steps = append(steps, scenario.Step{Work: "unmount"}, scenario.Step{Work: "check", Phase: "check"})
	s := begin(t, counting(t), machine.Spec{Storage: "sim:sd-basic,256M", Processor: parse(t, "600MIPS")})
	const candidate = "f2fs"
	phases, artifacts, d := fioPhases(t, s, candidate, steps)
	if d.Outcome != result.Done {
		t.Fatalf("%s ended %s in %s: %s", candidate, d.Outcome, d.Phase, d.Reason)
	}
	jobs := 0
	for phase, figures := range phases {
		if phase == "check" || phase == "sentinel" || phase == labguest.WholeTrial {
			continue
		}
		jobs++
		moved, took := figures[result.DataBytes], figures[result.FioTime]
		if moved.Value <= 0 || took.Value <= 0 || moved.Absent+took.Absent != "" {
			t.Errorf("%s, %s: %+v, %+v", candidate, phase, moved, took)
		}
		if strings.Contains(phase, "read-") && figures[result.DeviceRead].Value < 0.95*moved.Value {
			t.Errorf("%s, %s: %v of %v bytes came from the storage", candidate, phase, figures[result.DeviceRead].Value, moved.Value)
		}
		if strings.Contains(phase, "write-") && figures[result.DeviceWritten].Value < 0.95*moved.Value {
			t.Errorf("%s, %s: %v of %v bytes went to the storage", candidate, phase, figures[result.DeviceWritten].Value, moved.Value)
		}
		if l := figures[result.LatP99]; l.Absent != "" || l.Value <= 0 {
			t.Errorf("%s, %s: %+v", candidate, phase, l)
		}
	}
	if jobs != 10 || len(artifacts) != jobs {
		t.Errorf("%s: %d jobs and %d outputs of fio", candidate, jobs, len(artifacts))
	}
	for _, a := range artifacts {
		if a.Name != "fio.json" || !strings.Contains(a.Text, `"bins"`) || !strings.HasSuffix(strings.TrimSpace(a.Text), "}") {
			t.Errorf("%s, %s: %s of %d bytes is not whole", candidate, a.Phase, a.Name, len(a.Text))
		}
	}
	for want, job := range map[string]string{
		"line 2":     "[a]\nfilename=/dev/vda\nrw=read\nsize=1m\n",
		"do not fit": "[a]\nrw=write\nsize=900m\n",
		"nosuch":     "[a]\nrw=write\nsize=1m\nnosuch=1\n",
	} {
		_, _, d := fioPhases(t, s, "ext4", scenario.Scenario{{Work: "mkfs"}, {Work: "mount"}, {Work: "fio", Phase: "fio", Dir: "fio", Job: job}})
		if d.Outcome != result.Refused || d.Phase != "fio" || !strings.Contains(d.Reason, want) || d.Hint == "" {
			t.Errorf("%q: %+v, want %q", job, d, want)
		}
	}
	// A job of the user, through the study made of it.
	own := study.FromFio("own.fio", "[own]\nrw=randrw\nsize=4m\nbs=4k\nioengine=psync\n")
	phases, _, d = fioPhases(t, s, "vfat", own.Scenario(false, own.Scales["quick"]))
	if d.Outcome != result.Done {
		t.Fatalf("ended %s in %s: %s", d.Outcome, d.Phase, d.Reason)
	}
	for _, c := range own.Columns {
		for _, term := range c.Terms {
			if m, ok := phases[term.Phase][term.Metric]; !ok || m.Absent != "" && term.Phase != "check" {
				t.Errorf("column %s: %+v, %v", c.Key, m, ok)
			}
		}
	}
}

// Work that is too much for its time or for the filesystem's space has no figures, and the work on a new
// filesystem after it has; without a new one the trial ends.
func TestTooMuch(t *testing.T) {
	t.Parallel()
	s := begin(t, counting(t), machine.Spec{Storage: "sim:sd-basic,256M"})
	small := scenario.Step{Work: "fio", Phase: "small", Dir: "fio", Job: "[a]\nrw=write\nsize=1m\n"}
	for candidate, c := range map[string]struct{ job, says string }{
		"ext4":   {"[a]\nrw=randwrite\nsize=1m\ntime_based=1\nruntime=7200\nrate_iops=1\n", "not finished after 10m0s"},
		"nilfs2": {"[a]\nrw=write\nsize=120m\nbs=1m\noverwrite=1\nloops=10\nfsync=1\n", "no space left on device"}, // it frees nothing so soon
	} {
		much := scenario.Scenario{{Work: "mkfs"}, {Work: "mount"}, {Work: "fio", Phase: "much", Dir: "fio", Job: c.job}, {Work: "space", Phase: "between"}}
		phases, _, d := fioPhases(t, s, candidate, append(much, scenario.Step{Work: "unmount"}, scenario.Step{Work: "mkfs"}, scenario.Step{Work: "mount"}, small))
		if m := phases["much"][result.Wall]; d.Outcome != result.Done || !strings.Contains(m.Absent, c.says) {
			t.Errorf("%s: %+v, %+v", candidate, d, m)
		}
		if m := phases["between"][result.Wall]; !strings.HasPrefix(m.Absent, "much was given up: ") || !strings.Contains(m.Absent, c.says) {
			t.Errorf("%s, the step after it: %+v", candidate, m)
		}
		if m := phases["small"][result.FioTime]; m.Absent != "" || m.Value <= 0 {
			t.Errorf("%s, on the new filesystem: %+v", candidate, m)
		}
		if _, _, d := fioPhases(t, s, candidate, much); d.Outcome != result.SubjectFailed || d.Phase != "much" || !strings.Contains(d.Reason, c.says) {
			t.Errorf("%s, without a new filesystem: %+v", candidate, d)
		}
	}
}
