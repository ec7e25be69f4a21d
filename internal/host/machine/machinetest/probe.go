package machinetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"whichfs/internal/host/machine"
	"whichfs/internal/probe"
	"whichfs/internal/result"
	"whichfs/internal/testing/parsed"
	"whichfs/internal/wire"
)

// Brief is a probe that takes a few seconds: one part that reads and one that writes, with room for
// both on a busy machine.
var Brief = wire.Probe{Effort: "quick", Limit: 120, Seed: 7, Only: []string{"queue", "flush"}}

// A session on read-only storage probes it as often as requested, refuses trials without being
// harmed, and returns the results so far when cancelled.
func testReading(t *testing.T, fresh func(t *testing.T) (machine.Machine, machine.Spec)) {
	s := openFor(t, fresh, func(spec *machine.Spec) { spec.ReadOnly = true })
	p, ok := s.(machine.Prober)
	if !ok {
		t.Fatal("the session cannot probe")
	}
	ended(t, s, wire.Trial{Candidate: parsed.Candidate("ext4"), Scenario: Scenario()}, result.Refused)
	r := probed(t, s, p)
	if r.Wrote {
		t.Error("it wrote")
	}
	ended(t, s, wire.Trial{Candidate: parsed.Candidate("ext4"), Scenario: Scenario()}, result.Refused)
	ctx, cancel := context.WithCancelCause(within(t))
	why := errors.New("enough")
	r, err := p.Probe(ctx, wire.Probe{Effort: "thorough"}, func(wire.Progress) { cancel(why) })
	switch {
	case err == nil && r.Partial == "":
		t.Log("it finished before it could be cancelled")
	case !errors.Is(err, context.Canceled) || !errors.Is(err, why) || r.Format == 1 && r.Partial == "":
		t.Errorf("cancelled probe: %v, partial %q", err, r.Partial)
	default:
		unusable(t, s)
	}
}

// probed performs a brief probe and checks its form; other tests check the figures.
func probed(t *testing.T, s machine.Session, p machine.Prober) probe.Report {
	t.Helper()
	var told []wire.Progress
	begun := time.Now()
	r, err := p.Probe(within(t), Brief, func(p wire.Progress) { told = append(told, p) })
	if err != nil {
		t.Fatalf("probe: %v", Explain(err))
	}
	if len(told) == 0 || told[0].What == "" {
		t.Errorf("progress %v", told)
	}
	if r.Format != 1 || r.Identity != s.Ready().Identity || r.Size != s.Ready().Size || r.Clock != "wall" || r.Partial != "" ||
		r.Kernel != s.Facts().Kernel || r.Started.Before(begun.Add(-24*time.Hour)) || r.Seconds < 0 {
		t.Errorf("%+v", r)
	}
	known := false
	for _, f := range r.Findings {
		known = known || f.Known()
	}
	if !known {
		t.Errorf("nothing was found: %+v", r.Findings)
	}
	return r
}
