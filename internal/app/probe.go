package app

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"whichfs/internal/flash"
	"whichfs/internal/flash/models"
	"whichfs/internal/flash/virtual"
	"whichfs/internal/host/machine"
	"whichfs/internal/plan"
	"whichfs/internal/plan/media"
	"whichfs/internal/probe"
	"whichfs/internal/report"
	"whichfs/internal/result"
	"whichfs/internal/result/store"
	"whichfs/internal/wire"
)

// ProbeAsk is what a user asks of a probe.
type ProbeAsk struct {
	Permission
	Storage string
	InUse   bool   // read a device that is in use
	Machine string // empty: as the storage needs
	Clock   string // "wall", "simulated"
	Effort  string // "quick", "normal", "thorough"
	Limit   time.Duration
	Only    []string // parts
	Seed    *uint64
	// Announce is called when the storage is ready, before it is probed.
	Announce func(identity string, size int64, readOnly bool)
	Progress func(wire.Progress)
}

// Probe probes storage. On an error it also returns the results so far.
func (a *App) Probe(ctx context.Context, q ProbeAsk) (probe.Report, error) {
	spec, err := q.Check()
	if err != nil {
		return probe.Report{}, err
	}
	ask := wire.Probe{Effort: q.Effort, Limit: q.Limit.Seconds(), Only: q.Only, Seed: plan.NewSeed()}
	if q.Seed != nil {
		ask.Seed = *q.Seed
	}
	var r probe.Report
	if q.Clock == "simulated" {
		r, err = simulate(ctx, q, spec, ask)
	} else {
		r, err = a.measure(ctx, q, spec, ask)
	}
	r.Storage, r.Version = q.Storage, a.Version
	return r, err
}

// Check rejects impossible requests before anything is started.
func (q ProbeAsk) Check() (media.Storage, error) {
	spec, err := media.Parse(q.Storage)
	if err != nil {
		return spec, result.Refuse("whichfs list storage shows devices", "%v", err)
	}
	device := spec.Kind == media.KindDevice
	switch {
	case q.Limit < 0:
		return spec, result.Refuse("", "--limit cannot be negative")
	case spec.Raw():
		return spec, result.Refuse("name a block device, a card or a disk of the lab", "a probe finds out what a block device hides, but %s is raw flash, "+
			"whose pages, erase blocks and error correction the kernel shows: whichfs run includes them in its report", q.Storage)
	case q.InUse && !device:
		return spec, result.Refuse("leave --in-use out", "--in-use is for devices, and %s has no other users", q.Storage)
	case q.InUse && len(q.Destroy) > 0:
		return spec, result.Refuse("unmount the device, or leave --destroy out", "--in-use only reads and --destroy writes, but a device in use is never written to")
	case q.Clock == "simulated" && spec.Kind != media.KindSim:
		return spec, result.Refuse("for instance sim:sd-basic", "--clock simulated is for simulated storage, and %s is not simulated", q.Storage)
	}
	var known []string
	for _, part := range probe.Parts {
		known = append(known, part.Name)
	}
	for _, part := range q.Only {
		if !slices.Contains(known, part) {
			return spec, result.Refuse("", "--only: unknown part %q; the parts are %s", part, strings.Join(known, ", "))
		}
	}
	return spec, nil
}

// measure probes the storage on a machine. If the probe ended early, it returns the report along
// with the error.
func (a *App) measure(ctx context.Context, q ProbeAsk, spec media.Storage, ask wire.Probe) (probe.Report, error) {
	if q.Machine == "" {
		q.Machine = "local"
		if spec.Lab() {
			q.Machine = "lab"
		}
	}
	m, err := a.machine(q.Machine, result.ClockWall)
	if err != nil {
		return probe.Report{}, err
	}
	work, err := workDir(q.Machine, q.Work)
	if err != nil {
		return probe.Report{}, err
	}
	needs := machine.Spec{Storage: q.Storage, Destroy: q.id(q.Machine, 0), Work: work, InUse: q.InUse,
		ReadOnly: spec.Kind == media.KindDevice && len(q.Destroy) == 0}
	if early, ok := m.(machine.Checker); ok {
		if err := early.Check(needs); err != nil {
			return probe.Report{}, err
		}
	}
	defer a.giveBack(m)
	s, err := m.Start(ctx, needs)
	if err != nil {
		return probe.Report{}, err
	}
	defer s.Close() //nolint:errcheck // the results have arrived
	p, ok := s.(machine.Prober)
	if !ok {
		return probe.Report{}, result.Refuse("", "machine %s cannot probe", q.Machine)
	}
	for _, n := range s.Ready().Notes {
		a.Note(n.Text)
	}
	ready := s.Ready()
	if m.Name() == "lab" { // every disk of the lab has the same serial number
		ready.Identity = "made for this probe in the lab"
	}
	q.Announce(ready.Identity, ready.Size, needs.ReadOnly)
	r, err := p.Probe(ctx, ask, q.Progress)
	r.Machine, r.Identity = m.Name(), ready.Identity
	if e, ok := s.(machine.Emulator); ok {
		r.Emulated = e.Emulated()
	}
	return r, err
}

// AtMost is the maximum duration of the probe.
func (q ProbeAsk) AtMost() time.Duration {
	if q.Limit > 0 {
		return min(q.Limit, probe.Budget(q.Effort))
	}
	return probe.Budget(q.Effort)
}

// probeCondition adds what the store knows about a run's storage to its report. It never prevents a
// run.
func probeCondition(st *store.Store, named string) func(identity string) []result.Condition {
	spec, err := media.Parse(named)
	if err != nil {
		return nil
	}
	if !spec.Lab() {
		named = "" // a device is identified by itself, not by its path
	}
	return func(identity string) []result.Condition {
		if named != "" {
			identity = "" // every disk of the lab has the same identity
		}
		_, r, err := st.LatestProbe(identity, named)
		if err != nil {
			return nil
		}
		return []result.Condition{{Group: "storage", Name: "probe", Value: inBrief(r)}}
	}
}

// inBrief is a one-line summary of a report: "segment 4 MiB, page 16 KiB, 5 open; probed
// 2026-11-21".
func inBrief(r probe.Report) string {
	var parts []string
	for _, one := range []struct{ key, form string }{
		{probe.SegmentSize, "segment %s"}, {probe.PageSize, "page %s"}, {probe.OpenLinear, "%s open"}, {probe.FATArea, "FAT area %s"},
		{probe.Rotation, "%s"},
	} {
		f := r.Find(one.key)
		if !f.Known() || one.key == probe.FATArea && f.Value == 0 {
			continue
		}
		parts = append(parts, fmt.Sprintf(one.form, report.FindingValue(f)))
	}
	if len(parts) == 0 {
		parts = []string{"its inside could not be determined"}
	}
	return strings.Join(parts, ", ") + "; probed " + r.Started.UTC().Format("2006-01-02")
}

// simulate probes a model of storage on the model's own clock: no guest, driver or other load of
// this machine affects its figures.
func simulate(ctx context.Context, q ProbeAsk, spec media.Storage, ask wire.Probe) (probe.Report, error) {
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
	r, err := probe.Run(ctx, virtual.Open(device, m.Trim.Supported, virtual.Noise{}), probe.Options{
		Effort: ask.Effort, Limit: time.Duration(ask.Limit * float64(time.Second)), Seed: ask.Seed, Only: ask.Only,
		Progress: func(what string, share float64) { q.Progress(wire.Progress{What: what, Share: share}) },
	})
	r.Identity, r.Clock, r.Machine, r.Wrote = fmt.Sprintf("model %s (%s)", m.Name, m.Title), "simulated", "model", true
	return r, err
}
