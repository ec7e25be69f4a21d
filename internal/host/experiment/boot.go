package experiment

import (
	"context"
	"slices"

	"whichfs/internal/filesystem"
	"whichfs/internal/host/machine"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/wire"
)

// bootRoot is the kind of work that installs a root filesystem.
const bootRoot = "boot-root"

// boot boots from the filesystem that a trial of the reference has left, if the plan asks for it
// and the scenario installs a bootable root filesystem.
func (e *Experiment) boot(ctx context.Context, c filesystem.Candidate, t *result.Trial, v scenario.Variant, s scenario.Scenario, events machine.Events) (wire.Done, error) {
	done := wire.Done{Outcome: result.Done}
	laid := slices.ContainsFunc(s, func(step scenario.Step) bool { return step.Work == bootRoot })
	if e.Plan.Boots == nil || t.Variant != "" || !laid {
		return done, nil
	}
	b, ok := e.session.(machine.Booter)
	if !ok {
		t.Notes = append(t.Notes, result.Note{Phase: "boot", Level: result.Info, Text: "nothing was booted: only lab guests, and boards whose file says how, can be started from the storage"})
		return done, nil
	}
	booted, err := b.Boot(ctx, machine.Boot{Candidate: c, Variant: v, Repeats: e.Plan.Boots.Repeats, Kernels: e.Plan.Boots.Kernels}, events)
	if err == nil && booted.Outcome == result.Unsupported { // the boots are, not the trial before them
		t.Notes = append(t.Notes, result.Note{Phase: "boot", Level: result.Info, Text: "nothing was booted: " + booted.Reason})
		return done, nil
	}
	return booted, err
}
