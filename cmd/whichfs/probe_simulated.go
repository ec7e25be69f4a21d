package main

import (
	"fmt"
	"time"

	"whichfs/internal/flash"
	"whichfs/internal/flash/models"
	"whichfs/internal/flash/virtual"
	"whichfs/internal/plan/media"
	"whichfs/internal/probe"
	"whichfs/internal/result"
	"whichfs/internal/wire"
)

// simulate probes a model of storage on the model's own clock: no guest, no
// driver and no other work of this machine are in its figures.
func (c *probeCmd) simulate(a *app, spec media.Storage, ask wire.Probe) (probe.Report, error) {
	m, err := models.Resolve(spec.Path)
	if err != nil {
		return probe.Report{}, result.Refuse("whichfs list models", "%v", err)
	}
	if spec.Size > 0 {
		if m, err = models.Sized(m, spec.Size); err != nil {
			return probe.Report{}, result.Refuse("", "%v", err)
		}
	}
	device, err := flash.New(m)
	if err != nil {
		return probe.Report{}, result.Refuse("", "%v", err)
	}
	show := newProbeProgress(a)
	r, err := probe.Run(a.ctx, virtual.Open(device, m.Trim.Supported, virtual.Noise{}), probe.Options{
		Effort: ask.Effort, Limit: time.Duration(ask.Limit * float64(time.Second)), Seed: ask.Seed, Only: ask.Only,
		Progress: func(what string, share float64) { show.progress(wire.Progress{What: what, Share: share}) },
	})
	show.end()
	r.Identity, r.Clock, r.Machine, r.Wrote = fmt.Sprintf("model %s (%s)", m.Name, m.Title), "simulated", "model", true
	return r, err
}
