package agent

import (
	"errors"
	"strings"
	"testing"

	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/testing/parsed"
	"whichfs/internal/wire"
)

// On a kernel that is not a guest's, an agent breaks no filesystem without the user's consent,
// whoever asks, not even as the last of many steps.
func TestNoDamageOnASharedKernel(t *testing.T) {
	damaging := 0
	for _, kind := range scenario.Kinds {
		if !kind.Damages {
			continue
		}
		damaging++
		a := &Agent{work: t.TempDir()}
		d := a.trial(t.Context(), 1, wire.Trial{Candidate: parsed.Candidate("ext4"), Scenario: scenario.Scenario{{Work: "discard"}, {Work: kind.Name}}})
		if d.Outcome != result.Refused || !strings.Contains(d.Hint, "--risk-this-kernel") || a.used {
			t.Errorf("%s: %+v", kind.Name, d)
		}
	}
	if damaging < 4 {
		t.Errorf("%d kinds of work break filesystems", damaging)
	}
	a := &Agent{work: t.TempDir()}
	_, err := a.explore(t.Context(), 1, wire.Explore{Candidate: parsed.Candidate("ext4"), Given: "log"})
	var f *result.Failure
	if !errors.As(err, &f) || f.Outcome != result.Refused || !strings.Contains(f.Hint, "--risk-this-kernel") {
		t.Errorf("explore: %v", err)
	}
}
