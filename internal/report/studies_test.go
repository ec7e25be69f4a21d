package report

import (
	"bytes"
	"encoding/json"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"charm.land/lipgloss/v2"

	"whichfs/internal/filesystem"
	"whichfs/internal/judge/verdict"
	"whichfs/internal/plan"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
	"whichfs/internal/testing/parsed"
)

// madeUp is a run of a study with made-up figures for all its columns: they are
// meaningless, but fill every table.
func madeUp(t *testing.T, st study.Study, on study.Storage) (verdict.Verdict, []result.Trial) {
	t.Helper()
	scale := st.Fit("quick", on)
	p := plan.Plan{Study: st.Name, Scale: "quick", Machine: "lab", Storage: on.Specs["quick"], Candidates: parsed.Candidates(scale.Candidates...), Rounds: 4, Seed: 3,
		Margin: 0.10, Factors: st.Vary(scale, on)}
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	run := result.Run{ID: "20260314-092653-" + st.Name, Study: st.Name, Scale: "quick", Machine: "lab", Storage: p.Storage, Rounds: p.Rounds,
		Candidates: scale.Candidates, Margin: p.Margin, Plan: text, Version: "test", State: result.Finished, Emulated: true,
		Started: time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC)}
	chance := rand.New(rand.NewPCG(3, 3))
	var trials []result.Trial
	for _, slot := range plan.Trials(p) {
		x := result.Trial{ID: int64(len(trials) + 1), Round: slot.Round, Place: slot.Place, Candidate: slot.Candidate.String(), Variant: slot.Variant, Attempt: 1,
			Outcome: result.Done, Started: run.Started, Ended: run.Started.Add(time.Minute), Overhead: 3}
		x.Measurements = madeUpFigures(st, scale, x, chance)
		trials = append(trials, x)
	}
	run.Active = 60 * float64(len(trials))
	v, err := verdict.Compute(run, nil, trials, st, verdict.Beside{})
	if err != nil {
		t.Fatal(err)
	}
	return v, trials
}

func madeUpFigures(st study.Study, scale study.Scale, x result.Trial, chance *rand.Rand) []result.Measurement {
	imaged := false
	if c, err := filesystem.Parse(x.Candidate); err == nil {
		imaged = c.Imaged()
	}
	var out []result.Measurement
	have := map[study.Term]bool{}
	add := func(phase, metric, unit string, v float64) {
		if !have[study.Term{Phase: phase, Metric: metric}] {
			have[study.Term{Phase: phase, Metric: metric}] = true
			out = append(out, result.Measurement{Phase: phase, Metric: metric, Value: v, Unit: unit})
		}
	}
	// A different figure for each candidate and phase.
	own := func(words ...string) float64 {
		h := fnv.New32a()
		_, _ = h.Write([]byte(strings.Join(words, "|")))
		return 0.3 + float64(h.Sum32()%1000)/300
	}
	noisy := func(v float64) float64 { return v * math.Exp(0.03*chance.NormFloat64()) }
	for _, phase := range st.Scenario(imaged, scale).Phases() {
		wall := noisy(own(x.Candidate, phase))
		add(phase, result.Wall, "s", wall)
		add(phase, result.CPUSystem, "s", wall*0.2)
		add(phase, result.CPUKernel, "s", wall*0.05)
		add(phase, result.DeviceBusy, "s", wall*0.7)
		add(phase, result.DeviceWritten, "B", 20e6)
		add(phase, result.DataBytes, "B", 16<<20)
		add(phase, result.DataFiles, "1", 512)
		add(phase, result.Ops, "1", 96)
	}
	for _, col := range st.Columns {
		for _, term := range col.Terms {
			v := noisy(own(x.Candidate, term.Phase, term.Metric))
			if col.Unit == "B" {
				v *= 1e7
			}
			add(term.Phase, term.Metric, col.Unit, v)
		}
	}
	return out
}

// Every study fills its report, on every kind of storage, without a line wider
// than the terminal or an invalid figure.
func TestEveryStudyFillsItsReport(t *testing.T) {
	for _, st := range study.All {
		var all []verdict.Verdict
		for _, on := range st.Storages {
			v, trials := madeUp(t, st, on)
			all = append(all, v)
			if len(st.Numbers) > 0 && (v.Numbers == nil || len(v.Numbers.Tables) == 0) {
				t.Errorf("%s on %s: no published table stands beside it", st.Name, on.Key)
			}
			var b bytes.Buffer
			if err := Text(&b, v, TextOptions{}); err != nil {
				t.Fatal(err)
			}
			checkLines(t, st.Name, b.String())
			page := render(t, "html", v, trials)
			for _, bad := range []string{"NaN", "%!", "+Inf"} {
				if bytes.Contains(page, []byte(bad)) {
					t.Errorf("%s on %s: the page has %q", st.Name, on.Key, bad)
				}
			}
			if !json.Valid(render(t, "json", v, trials)) {
				t.Errorf("%s: no JSON", st.Name)
			}
			save(t, st.Name+"-"+on.Key+".txt", b.Bytes())
			save(t, st.Name+"-"+on.Key+".html", page)
		}
		var b bytes.Buffer
		if err := SeriesText(&b, verdict.Series("all-of-"+st.Name, all, st), TextOptions{}); err != nil {
			t.Fatal(err)
		}
		checkLines(t, st.Name+", series", b.String())
		save(t, st.Name+"-series.txt", b.Bytes())
	}
}

func checkLines(t *testing.T, what, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if w := lipgloss.Width(line); w > 100 || strings.Contains(line, "NaN") || strings.Contains(line, "%!") {
			t.Errorf("%s: line of %d: %q", what, w, line)
		}
	}
}

// save writes a report for inspection, to the directory that REPORTS names.
func save(t *testing.T, name string, text []byte) {
	t.Helper()
	if dir := os.Getenv("REPORTS"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
