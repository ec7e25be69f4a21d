package twin

import (
	"context"

	"whichfs/internal/flash"
	"whichfs/internal/flash/virtual"
	"whichfs/internal/probe"
)

// Virtual is a Prober: it probes a model in virtual time, read-only if the
// probe to compare with was.
func Virtual(ctx context.Context, m flash.Model, like probe.Report) (probe.Report, error) {
	device, err := flash.New(m)
	if err != nil {
		return probe.Report{}, err
	}
	var target probe.Target = virtual.Open(device, m.Trim.Supported, virtual.Noise{})
	if !like.Wrote {
		target = readOnly{target}
	}
	r, err := probe.Run(ctx, target, probe.Options{Effort: like.Effort, Seed: like.Seed})
	r.Storage, r.Identity, r.Clock, r.Wrote = "sim:"+m.Name, "sim-"+m.Name, "simulated", like.Wrote
	return r, err
}

// readOnly is a target that refuses writes.
type readOnly struct{ probe.Target }

// Writable implements probe.Target.
func (readOnly) Writable() bool { return false }
