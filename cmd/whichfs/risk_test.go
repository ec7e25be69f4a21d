package main

import (
	"strings"
	"testing"
	"time"

	"whichfs/internal/filesystem"
	"whichfs/internal/plan"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/result/store"
	"whichfs/internal/testing/parsed"
)

// Broken filesystems are mounted on this machine's own kernel only with the
// user's permission, which is required each time, also for a resumed run, and
// before anything is prepared or stored.
func TestKernelRiskNeedsPermission(t *testing.T) {
	t.Parallel()
	p := newProgram(t, `{}`)
	for _, args := range [][]string{
		{"run", "elc-2015-reliability", "--machine", "local", "--storage", "loop:512M"},
		{"crash", "explore", "ext4", "--machine", "local"},
	} {
		refusesRisk(t, p, args...)
	}
	if _, _, err := progressOf(p.store()); err == nil {
		t.Error("a run was kept")
	}
	st, err := store.Open(p.store())
	if err != nil {
		t.Fatal(err)
	}
	begun := plan.Plan{Study: "elc-2015-reliability", Scale: "quick", Machine: "local", Storage: "loop:512M", Candidates: parsed.Candidates("ext4"),
		Rounds: 1, Margin: 0.1, ReadWrite: scenario.Scenario{{Work: "bit-rot", Phase: "rot"}}}
	text, err := begun.Encode()
	if err != nil {
		t.Fatal(err)
	}
	run := result.Run{ID: "r", Study: begun.Study, Scale: begun.Scale, Machine: begun.Machine, Storage: begun.Storage, Rounds: 1,
		Candidates: filesystem.Texts(begun.Candidates), Margin: begun.Margin, Started: time.Now(), State: result.Interrupted, Plan: text}
	if err := st.CreateRun(run, 1); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	refusesRisk(t, p, "resume")
}

func refusesRisk(t *testing.T, p *program, args ...string) {
	t.Helper()
	_, text := p.run(t, exitRefused, args...)
	for _, want := range []string{"on this machine's own kernel", "crash this machine", "unsaved work is lost", "use --machine lab", "--risk-this-kernel"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q does not say %q:\n%s", args, want, text)
		}
	}
}
