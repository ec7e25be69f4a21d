package app

import (
	"context"
	"fmt"

	"whichfs/internal/plan"
	"whichfs/internal/plan/media"
	"whichfs/internal/result"
	"whichfs/internal/wire"
)

// probeForClaims probes the storage of a run if claims of its study are about bare storage and the
// store has no probe of it. A model is probed on its own clock, in a fraction of a second. A device is
// only read, which takes about a minute and is left out of quick runs. Without a probe these claims are
// not tested, so that a probe that fails does not prevent the run.
func (j *Job) probeForClaims(ctx context.Context, run result.Run, p plan.Plan) {
	st, err := StudyOf(run)
	if err != nil {
		return
	}
	on, _ := st.Storage(p.Scale, p.Storage)
	spec, err := media.Parse(p.Storage)
	if err != nil || !st.Probed(on.Key) {
		return
	}
	if _, _, err := ProbeOf(j.Store, p.Storage); err == nil {
		return
	}
	q := ProbeAsk{Storage: p.Storage, Seed: &p.Seed, Effort: "normal", Clock: "simulated",
		Announce: func(string, int64, bool) {}, Progress: func(wire.Progress) {}}
	switch {
	case spec.Kind == media.KindSim && p.Machine == "lab":
	case spec.Kind == media.KindDevice && p.OwnKernel() && p.Scale != "quick" && !p.Fleet: // a fleet's device is on the worker's machine
		q.Effort, q.Clock, q.Machine = "quick", result.ClockWall, p.Machine
		j.app.Note("probing " + p.Storage + ", which claims of the study are about: it is only read, for about a minute")
	default:
		return
	}
	r, err := j.app.Probe(ctx, q)
	if err == nil {
		err = j.Store.SaveProbe(NewID(r.Started), r)
	}
	if err != nil && ctx.Err() == nil {
		j.app.Note(fmt.Sprintf("the probe of %s failed: %v; claims about it are not tested", p.Storage, err))
	}
}
