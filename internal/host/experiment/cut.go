package experiment

import (
	"context"
	"fmt"
	"path/filepath"

	"whichfs/internal/filesystem"
	"whichfs/internal/host/machine"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/wire"
)

// cut cuts the power in mid-write, after a trial of the reference, if the plan asks for it. Each
// trial has different cuts; a loss of data by the filesystem is among their figures and is no
// failure of the trial.
func (e *Experiment) cut(ctx context.Context, candidate filesystem.Candidate, t *result.Trial, v scenario.Variant, session machine.Session, events machine.Events) (wire.Done, error) {
	done := wire.Done{Outcome: result.Done}
	if e.Plan.Cuts == 0 || t.Variant != "" {
		return done, nil
	}
	without := func(why string) (wire.Done, error) {
		t.Notes = append(t.Notes, result.Note{Phase: result.CutPhase, Level: result.Info, Text: "the power was not cut: " + why})
		return done, nil
	}
	c, ok := session.(machine.Cutter)
	if !ok {
		return without("only a lab guest can be killed without harm")
	}
	order := machine.Cut{Candidate: candidate, Variant: v, Repeats: e.Plan.Cuts, Seed: e.Plan.Seed + uint64(t.Round)}
	if e.Evidence != "" {
		order.Keep = filepath.Join(e.Evidence, fmt.Sprintf("round-%d", t.Round))
	}
	made, err := c.Cut(ctx, order, events)
	if err == nil && made.Outcome == result.Unsupported { // of the cuts, not of the trial before them
		return without(made.Reason)
	}
	return made, err
}
