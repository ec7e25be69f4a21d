package fake

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"whichfs/internal/filesystem"
	"whichfs/internal/host/machine"
	"whichfs/internal/result"
	"whichfs/internal/wire"
)

// ownKernel is booted where no kernel is named.
const ownKernel = "0.0"

// Boot implements machine.Booter. In phase "boot KERNEL" the root filesystem takes the script's
// time and the kernel twice that, and in phase "login KERNEL" the prompt takes it, and init half of it; the repetitions are the trials that the script counts. The fault
// "subject" is the filesystem's, every other one the machine's.
func (s session) Boot(ctx context.Context, b machine.Boot, events machine.Events) (wire.Done, error) {
	support, err := s.Support(ctx, []filesystem.Candidate{b.Candidate}) // it is not booted from a session that is over
	if err != nil {
		return wire.Done{}, err
	}
	// A pending answer may arrive before the context's end is noticed.
	if ctx.Err() != nil {
		return wire.Done{}, errors.Join(ctx.Err(), context.Cause(ctx))
	}
	switch judged := support.Candidates[0]; {
	case judged.Reason != "":
		return wire.Done{Outcome: judged.Outcome, Reason: judged.Reason, Hint: judged.Hint}, nil
	case b.Repeats < 1:
		return wire.Done{Outcome: result.Refused, Reason: fmt.Sprintf("%d boots of %q", b.Repeats, b.Candidate)}, nil
	case b.Candidate.Filesystem().ReadOnly:
		return wire.Done{Outcome: result.Unsupported, Reason: b.Candidate.Filesystem().Title + " is made as an image"}, nil
	}
	name, kernels := b.Candidate.String(), b.Kernels
	if len(kernels) == 0 {
		kernels = []string{ownKernel}
	}
	var phases []string
	for _, prefix := range []string{"boot ", "login "} {
		for _, k := range kernels {
			phases = append(phases, prefix+k)
		}
	}
	for _, phase := range phases {
		if events.Phase != nil {
			events.Phase(phase)
		}
		switch fault, struck := s.m.fault(At{Candidate: name, Number: s.m.number(name), Phase: phase}, false); {
		case struck && fault == Subject:
			return wire.Done{Outcome: result.SubjectFailed, Phase: phase, Reason: "the guest did not boot from it: the script says so"}, nil
		case struck:
			return wire.Done{}, result.Fail(result.LabFailed, "", "%s in phase %s: the script says so", fault, phase)
		}
		if events.Figures != nil {
			events.Figures(s.booted(b, phase))
		}
	}
	return wire.Done{Outcome: result.Done}, nil
}

// booted are the figures of one kernel.
func (s session) booted(b machine.Boot, phase string) wire.Figures {
	sum, least, most := 0.0, math.Inf(1), 0.0
	for n := range b.Repeats {
		wall := s.m.wall(At{Candidate: b.Candidate.String(), Number: n + 1, Phase: phase}, nil)
		sum, least, most = sum+math.Log(wall), min(least, wall), max(most, wall)
	}
	root := math.Exp(sum / float64(b.Repeats))
	f := wire.Figures{Phase: phase}
	once := ""
	if b.Repeats == 1 {
		once = "it booted once"
	}
	all := []result.Measurement{
		result.Figure(result.Wall, root), result.FigureOr(result.BootSpread, most/least-1, once), result.Figure(result.BootRepeats, float64(b.Repeats)),
	}
	if strings.HasPrefix(phase, "login ") {
		all = append(all, result.Figure(result.BootInit, root/2), result.Figure(result.BootLogin, root))
	} else {
		all = append(all, result.Figure(result.BootRoot, root), result.Figure(result.BootKernel, 2*root),
			result.Figure(result.ModuleSize, 700<<10), result.Figure(result.ModuleOwn, 500<<10))
	}
	for _, m := range all {
		m.Phase = phase
		f.Measurements = append(f.Measurements, m)
	}
	return f
}
