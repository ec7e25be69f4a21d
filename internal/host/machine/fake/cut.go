package fake

import (
	"context"
	"errors"
	"fmt"

	"whichfs/internal/host/machine"
	"whichfs/internal/result"
	"whichfs/internal/wire"
)

// Cut implements machine.Cutter. Every cut has ten promises and one file that is whole; if the
// script has fault Subject in phase "cut", each cut loses a file, which is a finding and not a
// failure. Other faults are the machine's.
func (s session) Cut(ctx context.Context, c machine.Cut, events machine.Events) (wire.Done, error) {
	if ctx.Err() != nil {
		return wire.Done{}, errors.Join(ctx.Err(), context.Cause(ctx))
	}
	switch {
	case c.Candidate.Err() != nil || c.Repeats < 1:
		return wire.Done{Outcome: result.Refused, Reason: fmt.Sprintf("%d cuts of %q", c.Repeats, c.Candidate)}, nil
	case c.Candidate.Forgets() != "":
		return wire.Done{Outcome: result.Unsupported, Reason: c.Candidate.Forgets()}, nil
	case c.Candidate.Imaged():
		return wire.Done{Outcome: result.Unsupported, Reason: c.Candidate.Filesystem().Title + " comes as an image"}, nil
	}
	if events.Phase != nil {
		events.Phase(result.CutPhase)
	}
	name, lost := c.Candidate.String(), 0.0
	fault, struck := s.m.fault(At{Candidate: name, Number: s.m.number(name), Phase: result.CutPhase}, false)
	if struck && fault != Subject {
		return wire.Done{}, result.Fail(result.LabFailed, "", "%s in phase %s: the script says so", fault, result.CutPhase)
	}
	if struck {
		lost = float64(c.Repeats)
	}
	n := float64(c.Repeats)
	f := wire.Figures{Phase: result.CutPhase}
	for metric, value := range map[string]float64{
		result.CutsDone: n, result.CutsMounted: n, result.CutsOps: 10 * n, result.CutsWithLoss: lost,
		result.FilesWhole: n, result.FilesMissing: lost,
	} {
		f.Measurements = append(f.Measurements, result.Measurement{Phase: result.CutPhase, Metric: metric, Value: value, Unit: "1"})
	}
	if lost > 0 {
		f.Notes = []result.Note{{Phase: result.CutPhase, Level: result.Warning, Text: "a file is missing; its contents would be in " + c.Keep}}
	}
	if events.Figures != nil {
		events.Figures(f)
	}
	return wire.Done{Outcome: result.Done}, nil
}
