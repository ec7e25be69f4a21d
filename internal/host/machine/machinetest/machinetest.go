// Package machinetest is the contract of every machine: one suite of tests, run against each
// implementation, including the fake. It carries out the trials of other tests of machines, too.
package machinetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/filesystem"
	"whichfs/internal/host/machine"
	"whichfs/internal/result"
	"whichfs/internal/testing/parsed"
	"whichfs/internal/testing/wait"
	"whichfs/internal/wire"
)

// Suite tests a machine. fresh returns it with a spec whose storage is free and has at least 64
// MiB; the suite provides the data. It is called several times and cleans up with t.Cleanup.
func Suite(t *testing.T, fresh func(t *testing.T) (machine.Machine, machine.Spec)) {
	t.Run("Session", func(t *testing.T) { Session(t, fresh) })
	t.Run("Reading", func(t *testing.T) { testReading(t, fresh) })
	t.Run("CancelTrial", func(t *testing.T) { testCancelTrial(t, fresh) })
	t.Run("CancelledStart", func(t *testing.T) { testCancelledStart(t, fresh) })
	t.Run("ImpossibleStorage", func(t *testing.T) { testImpossibleStorage(t, fresh) })
}

func open(t *testing.T, fresh func(t *testing.T) (machine.Machine, machine.Spec)) machine.Session {
	t.Helper()
	return openFor(t, fresh, func(spec *machine.Spec) { spec.Data = Data(t) })
}

// openFor starts a session with additions to its spec.
func openFor(t *testing.T, fresh func(t *testing.T) (machine.Machine, machine.Spec), add func(*machine.Spec)) machine.Session {
	t.Helper()
	m, spec := fresh(t)
	if m.Name() == "" {
		t.Error("the machine has no name")
	}
	add(&spec)
	ctx, cancel := context.WithTimeout(context.Background(), wait.Patience)
	defer cancel()
	s, err := m.Start(ctx, spec)
	if err != nil {
		t.Fatalf("start: %v", Explain(err))
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// Explain is an error with the console output that came with it.
func Explain(err error) string {
	text := fmt.Sprint(err)
	var e *result.Failure
	if errors.As(err, &e) && len(e.Console) > 0 {
		text += "\nthe console's last lines:\n" + strings.Join(e.Console, "\n")
	}
	return text
}

// LabFailure fails unless an error is a failure of the lab with a reason, and with the console's last
// lines.
func LabFailure(t *testing.T, err error, reason, console string) {
	t.Helper()
	var e *result.Failure
	if !errors.As(err, &e) || e.Outcome != result.LabFailed || !strings.Contains(e.Error(), reason) {
		t.Fatalf("error %v", err)
	}
	if text := strings.Join(e.Console, "\n"); !strings.Contains(text, console) {
		t.Errorf("console:\n%s", text)
	}
}

// Session is the part of the suite that runs on the machine's processor: what a session does until it ends.
// One serves all of this, in order, which is part of the contract.
func Session(t *testing.T, fresh func(t *testing.T) (machine.Machine, machine.Spec)) {
	s := open(t, fresh)
	t.Run("Facts", func(t *testing.T) { testFacts(t, s) })
	t.Run("Support", func(t *testing.T) { testSupport(t, s) })
	t.Run("Trial", func(t *testing.T) { testTrial(t, s, "ext4") })
	t.Run("Garbage", func(t *testing.T) { testGarbage(t, s) })
	t.Run("Option", func(t *testing.T) { testOption(t, s) })
	t.Run("UnknownWork", func(t *testing.T) { testUnknownWork(t, s) })
	t.Run("TrialAgain", func(t *testing.T) { testTrial(t, s, "ext4 -O ^has_journal -o noatime") })
	t.Run("Probe", func(t *testing.T) {
		p, ok := s.(machine.Prober)
		if !ok {
			t.Fatal("the session cannot probe")
		}
		if r := probed(t, s, p); !r.Wrote {
			t.Error("a probe with permission to write did not write")
		}
	})
	t.Run("Explore", func(t *testing.T) { testExplore(t, s) })
	t.Run("TrialAfterProbe", func(t *testing.T) { testTrial(t, s, "ext4") })
	if b, ok := s.(machine.Booter); ok {
		t.Run("Boot", func(t *testing.T) { testBoot(t, s, b) })
	}
	t.Run("Close", func(t *testing.T) { testClose(t, s) })
}

func testFacts(t *testing.T, s machine.Session) {
	f, r := s.Facts(), s.Ready()
	if f.Version == "" || f.Kernel == "" || f.Arch == "" || f.Processors < 1 || f.Memory < 16<<20 || f.Uptime <= 0 {
		t.Errorf("facts %+v", f)
	}
	if r.Identity == "" || r.Size < 64<<20 {
		t.Errorf("storage %q of %d bytes", r.Identity, r.Size)
	}
	conditions(t, "machine", f.Conditions)
	conditions(t, "storage", r.Conditions)
}

// conditions checks their form and that one of them has the group.
func conditions(t *testing.T, group string, all []result.Condition) {
	t.Helper()
	found := false
	for _, c := range all {
		if c.Name == "" || c.Value == "" || !slices.Contains([]string{"machine", "storage", "tools", "data", "run"}, c.Group) {
			t.Errorf("condition %+v", c)
		}
		found = found || c.Group == group
	}
	if !found {
		t.Errorf("no condition of group %q among %v", group, all)
	}
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), wait.Patience)
	t.Cleanup(cancel)
	return ctx
}

func testSupport(t *testing.T, s machine.Session) {
	var asked []filesystem.Candidate
	for _, line := range append([]string{"ext4", "ext4 -o no_such_option", "porridge -x", ""}, filesystem.Names()...) {
		asked = append(asked, filesystem.Kept(line))
	}
	got, err := s.Support(within(t), asked)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Candidates) != len(asked) {
		t.Fatalf("%d answers to %d questions", len(got.Candidates), len(asked))
	}
	for i, c := range got.Candidates {
		if c.Candidate != asked[i].String() {
			t.Errorf("answer %d is about %q, not %q", i, c.Candidate, asked[i])
		}
		if (c.Outcome == "") != (c.Reason == "") {
			t.Errorf("%q: outcome %q with reason %q", c.Candidate, c.Outcome, c.Reason)
		}
	}
	if c := got.Candidates[0]; c.Reason != "" {
		t.Errorf("ext4 is not supported: %s (%s)", c.Reason, c.Hint)
	}
	// mkfs and mount decide whether an option is valid.
	if c := got.Candidates[1]; c.Reason != "" {
		t.Errorf("an unknown option: %+v", c)
	}
	for _, c := range got.Candidates[2:4] {
		if c.Outcome != result.Refused && c.Outcome != result.Unsupported {
			t.Errorf("unknown filesystem %q: outcome %q", c.Candidate, c.Outcome)
		}
	}
	if !strings.Contains(got.Candidates[2].Reason, "porridge") {
		t.Errorf("the reason %q does not name the filesystem", got.Candidates[2].Reason)
	}
}

func testGarbage(t *testing.T, s machine.Session) {
	for _, candidate := range []string{"porridge", "", "ext4 -o", "ext4 'open", "ext4\x00"} {
		ended(t, s, wire.Trial{Candidate: filesystem.Kept(candidate), Scenario: Scenario()}, result.Refused, result.Unsupported, result.SubjectFailed)
	}
}

// ended runs a trial that is impossible and checks that the session reports this and stays usable.
func ended(t *testing.T, s machine.Session, trial wire.Trial, allowed ...result.Outcome) wire.Done {
	t.Helper()
	d, err := s.Trial(within(t), trial, machine.Events{})
	if err != nil {
		t.Fatalf("trial of %q: %v", trial.Candidate, Explain(err))
	}
	if !slices.Contains(allowed, d.Outcome) || d.Reason == "" {
		t.Errorf("trial of %q: %+v, want one of %v with a reason", trial.Candidate, d, allowed)
	}
	return d
}

// A refusal by mkfs or mount is a result, with the phase and their own words.
func testOption(t *testing.T, s machine.Session) {
	for candidate, phase := range map[string]string{"ext4 -O no_such_feature": "mkfs", "ext4 -o no_such_option": "mount"} {
		d := ended(t, s, wire.Trial{Candidate: parsed.Candidate(candidate), Scenario: Scenario()}, result.SubjectFailed, result.Refused)
		if d.Phase != phase {
			t.Errorf("%q ended in phase %q, want %q: %s", candidate, d.Phase, phase, d.Reason)
		}
	}
}

func testUnknownWork(t *testing.T, s machine.Session) {
	scenario := Scenario()
	scenario[len(scenario)-1].Work = "levitate"
	d := ended(t, s, wire.Trial{Candidate: parsed.Candidate("ext4"), Scenario: scenario}, result.Refused)
	if !strings.Contains(d.Reason, "levitate") {
		t.Errorf("reason %q", d.Reason)
	}
}

func testClose(t *testing.T, s machine.Session) {
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("close a second time: %v", err)
	}
	unusable(t, s)
}

// unusable checks that an ended session reports that it is over instead of hanging.
func unusable(t *testing.T, s machine.Session) {
	t.Helper()
	var e *result.Failure
	if _, err := s.Trial(within(t), wire.Trial{Candidate: parsed.Candidate("ext4"), Scenario: Scenario()}, machine.Events{}); !errors.As(err, &e) || e.Outcome != result.LabFailed {
		t.Errorf("trial in a session that is over: %v", err)
	}
	if _, err := s.Support(within(t), parsed.Candidates("ext4")); err == nil {
		t.Error("support in a session that is over")
	}
}

func testCancelTrial(t *testing.T, fresh func(t *testing.T) (machine.Machine, machine.Spec)) {
	s := open(t, fresh)
	ctx, cancel := context.WithCancel(within(t))
	_, err := s.Trial(ctx, wire.Trial{Candidate: parsed.Candidate("ext4"), Scenario: Scenario()}, machine.Events{
		Phase: func(string) { cancel() },
	})
	cancel()
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled trial: %v", err)
	}
	unusable(t, s)
	over := make(chan struct{})
	go func() {
		_ = s.Close()
		_ = s.Close()
		close(over)
	}()
	wait.For(t, "the end of closing after a cancelled trial", over)
}

func testCancelledStart(t *testing.T, fresh func(t *testing.T) (machine.Machine, machine.Spec)) {
	m, spec := fresh(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s, err := m.Start(ctx, spec)
	if err == nil {
		_ = s.Close()
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("start after the end: %v", err)
	}
}

func testImpossibleStorage(t *testing.T, fresh func(t *testing.T) (machine.Machine, machine.Spec)) {
	m, spec := fresh(t)
	for _, storage := range []string{"", "porridge", "porridge:1G", "loop:minus"} {
		spec.Storage = storage
		s, err := m.Start(within(t), spec)
		if err == nil {
			_ = s.Close()
		}
		var e *result.Failure
		if !errors.As(err, &e) || e.Outcome != result.Refused || e.Reason == "" {
			t.Errorf("storage %q: %v, want a refusal", storage, err)
		}
	}
}
