package recommend

import (
	"strings"
	"testing"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/judge/verdict/toy"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
)

// faultRun is the made-up run of faults after change edited its trials.
func faultRun(t *testing.T, id string, change func(run *result.Run, trials []result.Trial)) verdict.Judged {
	t.Helper()
	run, trials, st := toy.ReliabilityRun()
	run.ID = id
	if change != nil {
		change(&run, trials)
	}
	v, err := verdict.Compute(run, nil, trials, st, verdict.Beside{})
	if err != nil {
		t.Fatal(err)
	}
	return verdict.Judged{Verdict: v, Study: st, Columns: verdict.Samples(run, nil, trials, st)}
}

func speedRun(t *testing.T, candidates ...string) verdict.Judged {
	return made{study: "pandora-2012", id: "speed", candidates: candidates, rounds: 3, noise: 0.01, seed: 1}.source(t)
}

func doubtsOf(o Order, name string) string {
	var out []string
	for _, p := range o.Places {
		for _, d := range p.Doubt {
			if p.Candidate == name {
				out = append(out, d.Text)
			}
		}
	}
	for _, a := range o.Without {
		for _, d := range a.Doubt {
			if a.Candidate == name {
				out = append(out, d.Text)
			}
		}
	}
	return strings.Join(out, "\n")
}

// A breach rules a candidate out, whatever its speed; too few judged
// iterations, or none, show nothing and rule no candidate out.
func TestSurvives(t *testing.T) {
	speed := speedRun(t, toy.Ext4, toy.Careless, toy.Btrfs, "xfs")
	faults := faultRun(t, "faults", nil)
	a, err := Make(question(t, "survives=power-cut read-write", ""), []verdict.Judged{speed, faults})
	if err != nil {
		t.Fatal(err)
	}
	o := a.Orders[0]
	if got := excludedBy(o, "survives=power-cut"); got != toy.Careless {
		t.Errorf("ruled out by survives=power-cut: %q", got)
	}
	for _, e := range o.Excluded {
		if !strings.Contains(e.Why, "58 of 240 power cuts (19 % to 30 %)") || !strings.Contains(e.Source, "faults (kernel 6.1.0-test)") {
			t.Errorf("%+v", e)
		}
	}
	if got := doubtsOf(o, toy.Ext4) + doubtsOf(o, toy.Btrfs); got != "" {
		t.Errorf("0 of 240 leaves a doubt: %s", got)
	}
	if got := doubtsOf(o, "xfs"); !strings.Contains(got, "survives=power-cut is not shown: no run of faults includes it") {
		t.Errorf("xfs, which was never tried: %q", got)
	}
	// The order of speed has no figure of the other run, and its storage differs.
	if len(a.Runs) != 1 || a.Runs[0].ID != "speed" || len(a.FaultRuns) != 1 || len(a.Evidence) != 3 {
		t.Errorf("%d runs, %d of faults, %d of evidence", len(a.Runs), len(a.FaultRuns), len(a.Evidence))
	}
	if !strings.Contains(strings.Join(a.Warnings, "\n"), "Faults were tested on kernel 6.1.0-test (faults), and speed was measured on kernel 6.1.0") {
		t.Errorf("warnings %v", a.Warnings)
	}
	alone, err := Make(question(t, "read-write", ""), []verdict.Judged{speed})
	if err != nil {
		t.Fatal(err)
	}
	with, err := Make(question(t, "read-write", ""), []verdict.Judged{speed, faults})
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range alone.Orders[0].Places {
		if q := with.Orders[0].Places[i]; p.Candidate != q.Candidate || p.Score != q.Score {
			t.Errorf("the run of faults changes the order: %+v, %+v", p, q)
		}
	}
	// Without a run of faults no candidate is ruled out, and the answer says so.
	if a, err = Make(question(t, "survives=power-cut read-write", ""), []verdict.Judged{speed}); err != nil {
		t.Fatal(err)
	}
	if o := a.Orders[0]; excludedBy(o, "survives=power-cut") != "" || len(o.Missing) == 0 || o.Missing[len(o.Missing)-1].Remedy != "whichfs run "+faultStudy {
		t.Errorf("without a run of faults: %+v", o.Missing)
	}
}

// Twenty cuts show only at most 14 %.
func TestSurvivesTooFew(t *testing.T) {
	few := func(run *result.Run, trials []result.Trial) {
		for i := range trials {
			for j := range trials[i].Measurements {
				m := &trials[i].Measurements[j]
				if strings.HasPrefix(m.Phase, "cut") && trials[i].Candidate == toy.Ext4 {
					m.Value = 0
					if m.Metric == "fault.outcome.recovered" || m.Metric == "fault.tried" {
						m.Value = 5
					}
				}
			}
		}
	}
	a, err := Make(question(t, "survives=power-cut read-write", ""), []verdict.Judged{speedRun(t, toy.Ext4, toy.Btrfs), faultRun(t, "few", few)})
	if err != nil {
		t.Fatal(err)
	}
	if got := doubtsOf(a.Orders[0], toy.Ext4); !strings.Contains(got, "0 of 20 power cuts lost promised data, which shows only that at most 14 % do") {
		t.Errorf("doubts %q", got)
	}
	// A second run with enough cuts shows survival; one with a breach rules the
	// candidate out.
	a, err = Make(question(t, "survives=power-cut read-write", ""), []verdict.Judged{speedRun(t, toy.Ext4, toy.Btrfs), faultRun(t, "few", few), faultRun(t, "more", nil)})
	if err != nil {
		t.Fatal(err)
	}
	if got := doubtsOf(a.Orders[0], toy.Ext4); got != "" {
		t.Errorf("the larger run does not show it: %q", got)
	}
	breach := func(run *result.Run, trials []result.Trial) {
		for i := range trials {
			for j := range trials[i].Measurements {
				if m := &trials[i].Measurements[j]; m.Phase == "crash states" && m.Metric == "fault.outcome.whole" {
					m.Metric = "fault.outcome.zeroed"
				}
			}
		}
	}
	a, err = Make(question(t, "survives=power-cut read-write", ""), []verdict.Judged{speedRun(t, toy.Ext4, toy.Btrfs), faultRun(t, "more", nil), faultRun(t, "breach", breach)})
	if err != nil {
		t.Fatal(err)
	}
	if got := excludedBy(a.Orders[0], "survives=power-cut"); got != toy.Ext4+", "+toy.Btrfs {
		t.Errorf("a breach in one of two runs rules out %q", got)
	}
	if _, err := Make(Question{Seed: 1}, []verdict.Judged{faultRun(t, "x", nil), faultRun(t, "x", nil)}); err == nil {
		t.Error("a run of faults may be there twice")
	}
}

func TestDetects(t *testing.T) {
	a, err := Make(question(t, "detects=corruption", ""), []verdict.Judged{faultRun(t, "faults", nil)})
	if err != nil {
		t.Fatal(err)
	}
	o := a.Orders[0]
	for _, name := range []string{toy.Ext4, toy.Careless, toy.VFAT} {
		if !strings.Contains(excludedBy(o, "detects=corruption"), name) {
			t.Errorf("%s is not ruled out", name)
		}
	}
	if got := doubtsOf(o, toy.Btrfs); got != "" {
		t.Errorf("btrfs: %q", got)
	}
	if got := doubtsOf(o, toy.NILFS2); !strings.Contains(got, "it was not tested with corruption (this kernel has no nilfs2)") {
		t.Errorf("nilfs2: %q", got)
	}
	if o.Measured || !strings.HasPrefix(o.Answer, "No speed was measured") {
		t.Errorf("answer %q", o.Answer)
	}
}

// Where the design and the run disagree, the answer gives both.
func TestDesignAgainstMeasured(t *testing.T) {
	bad := faultRun(t, "bad", func(run *result.Run, trials []result.Trial) {
		for i := range trials {
			for j := range trials[i].Measurements {
				m := &trials[i].Measurements[j]
				if trials[i].Candidate == toy.Btrfs && (m.Phase == "cut sync" || m.Phase == "rot in data") && strings.HasPrefix(m.Metric, "fault.outcome.") {
					m.Metric = "fault.outcome.wrong"
				}
			}
		}
	})
	a, err := Make(question(t, "power-loss-safe checksums", ""), []verdict.Judged{bad})
	if err != nil {
		t.Fatal(err)
	}
	got := doubtsOf(a.Orders[0], toy.Btrfs)
	for _, want := range []string{"power-loss-safe: its design promises to keep synced data, but the run shows that it lost some", "checksums: by design it verifies checksums of everything"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
	found := map[string]string{}
	for _, e := range a.Evidence {
		for _, l := range e.Lines {
			found[e.Candidate+"/"+l.What] = l.Conflict
			if l.Judged == strings.HasPrefix(l.Measured, "not tested") || l.Design == "" || l.Source == "" {
				t.Errorf("%s: %+v", e.Candidate, l)
			}
		}
	}
	for name, want := range map[string]bool{"btrfs/power cuts": true, "btrfs/corruption": true, "ext4/power cuts": false, "ext4/corruption": false,
		"ext4 -o nobarrier/power cuts": false, "vfat/power cuts": false, "nilfs2/power cuts": false} {
		if (found[name] != "") != want {
			t.Errorf("%s: conflict %q, want one: %v", name, found[name], want)
		}
	}
}

func TestParseProven(t *testing.T) {
	for text, ok := range map[string]bool{"survives=power-cut": true, "detects=corruption": true, "survives": false, "survives=coffee": false, "detects=power-cut": false, "detects=": false} {
		n, err := ParseNeed(text)
		if (err == nil) != ok || ok && n.String() != text {
			t.Errorf("%s: %v, %v", text, n, err)
		}
	}
}

// The study named as a remedy is the one whose phases are cases.
func TestFaultStudyIsNamed(t *testing.T) {
	if !strings.HasPrefix(faultStudy, study.Elc2015().Name) {
		t.Errorf("remedy %s", faultStudy)
	}
}
