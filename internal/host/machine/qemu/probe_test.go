package qemu

import (
	"errors"
	"strings"
	"testing"

	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/machinetest"
	"whichfs/internal/result"
	"whichfs/internal/wire"
)

// A disk that disappears while it is probed: the probe reports it, with the findings so far.
func TestDiskVanishesUnderAProbe(t *testing.T) {
	t.Parallel()
	m := theLab(t, Options{Append: []string{"whichfs.fault=unplug@progress"}})
	s := begin(t, m, machine.Spec{Storage: "disk:64M"})
	r, err := s.(machine.Prober).Probe(t.Context(), wire.Probe{Effort: "quick", Only: []string{"rotation", "queue"}}, nil)
	var e *result.Failure
	if !errors.As(err, &e) || e.Outcome != result.LabFailed || !strings.Contains(e.Reason, "it vanished") || !strings.Contains(e.Hint, "repeat the probe") {
		t.Fatal(machinetest.Explain(err))
	}
	if r.Partial != e.Reason || r.Find("rotation").Known() {
		t.Errorf("partial %q, %+v", r.Partial, r.Findings)
	}
}
