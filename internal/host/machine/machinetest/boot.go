package machinetest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/filesystem"
	"whichfs/internal/host/machine"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/testing/parsed"
	"whichfs/internal/testing/wait"
	"whichfs/internal/wire"
)

// RootScenario leaves a root filesystem behind.
func RootScenario() scenario.Scenario {
	return scenario.Scenario{
		{Work: "discard"},
		{Work: "mkfs", Phase: "mkfs"},
		{Work: "mount", Phase: "mount"},
		{Work: "tree-copy", Phase: "write", Data: "tree", Dir: "copies"}, // in the way
		{Work: "boot-root", Phase: "boot-root", Data: "tree"},
		{Work: "check", Phase: "check"},
	}
}

// A separate guest boots from what a trial left behind; the session continues, and refuses what
// cannot be booted.
func testBoot(t *testing.T, s machine.Session, b machine.Booter) {
	if d, err := s.Trial(within(t), wire.Trial{Candidate: parsed.Candidate("ext4"), Scenario: RootScenario(), StepLimit: wait.Patience.Seconds()}, machine.Events{}); err != nil || d.Outcome != result.Done {
		t.Fatalf("%+v, %v", d, err)
	}
	const repeats = 2
	var phases []string
	var got []wire.Figures
	d, err := b.Boot(within(t), machine.Boot{Candidate: parsed.Candidate("ext4"), Repeats: repeats}, machine.Events{
		Phase:   func(p string) { phases = append(phases, p) },
		Figures: func(f wire.Figures) { got = append(got, f) },
	})
	if err != nil || d.Outcome != result.Done {
		t.Fatalf("%+v, %v", d, Explain(err))
	}
	if len(got) != 2 || !strings.HasPrefix(got[0].Phase, "boot ") || !strings.HasPrefix(got[1].Phase, "login ") ||
		!slices.Contains(phases, got[0].Phase) || !slices.Contains(phases, got[1].Phase) {
		t.Fatalf("phases %q, figures %+v", phases, got)
	}
	toPrompt := map[string]float64{}
	for _, m := range got[1].Measurements {
		toPrompt[m.Metric] = m.Value
	}
	if to, prompt := toPrompt[result.BootInit], toPrompt[result.BootLogin]; to <= 0 || prompt < to || toPrompt[result.Wall] != prompt || toPrompt[result.BootRepeats] != repeats {
		t.Errorf("to the prompt: %v", toPrompt)
	}
	values := map[string]float64{}
	for _, m := range got[0].Measurements {
		if m.Phase != got[0].Phase || m.Unit == "" {
			t.Errorf("%+v in phase %q", m, got[0].Phase)
		}
		if m.Absent == "" {
			values[m.Metric] = m.Value
		}
	}
	if k, ok := values[result.BootKernel]; ok && k <= 0 {
		t.Errorf("the kernel's start took %v", k)
	}
	for _, metric := range []string{result.Wall, result.BootRoot, result.BootRepeats, result.ModuleSize, result.ModuleOwn} {
		if values[metric] <= 0 {
			t.Errorf("%s is %v", metric, values[metric])
		}
	}
	if spread, ok := values[result.BootSpread]; !ok || spread < 0 || values[result.Wall] != values[result.BootRoot] ||
		values[result.BootRepeats] != repeats || values[result.ModuleOwn] > values[result.ModuleSize] {
		t.Errorf("figures %v", values)
	}
	for candidate, want := range map[string]result.Outcome{"porridge": result.Refused, "squashfs": result.Unsupported} {
		if d, err := b.Boot(within(t), machine.Boot{Candidate: filesystem.Kept(candidate), Repeats: 1}, machine.Events{}); err != nil || d.Outcome != want || d.Reason == "" {
			t.Errorf("%s: %+v, %v", candidate, d, err)
		}
	}
	if d, err := b.Boot(within(t), machine.Boot{Candidate: parsed.Candidate("ext4")}, machine.Events{}); err != nil || d.Outcome != result.Refused {
		t.Errorf("no boots: %+v, %v", d, err)
	}
	if _, err := s.Support(within(t), parsed.Candidates("ext4")); err != nil {
		t.Errorf("the session afterwards: %v", err)
	}
	ctx, cancel := context.WithCancelCause(within(t))
	why := errors.New("enough")
	cancel(why)
	if _, err := b.Boot(ctx, machine.Boot{Candidate: parsed.Candidate("ext4"), Repeats: 1}, machine.Events{}); !errors.Is(err, context.Canceled) || !errors.Is(err, why) {
		t.Errorf("cancelled boot: %v", err)
	}
}
