package machine

import (
	"fmt"

	"whichfs/internal/result"
	"whichfs/internal/sys/harmless"
	"whichfs/internal/wire"
)

// What an agent sends ends up in this process's memory, in the store, on terminals and in pages.
// The largest known honest trial (a reliability trial at full scale, with the findings of its crash
// states) has a few hundred figures and notes and sends a few MiB; a cut sends about ten thousand
// "safe" messages. An agent that sends many times that is no longer trusted.
const (
	mostText   = 8 << 10   // of a text, in bytes
	mostEvents = 1 << 18   // in answer to one request
	mostBytes  = 128 << 20 // of their bodies
	mostItems  = 1 << 16   // figures, notes, options and artifacts of a trial
	mostFacts  = 1 << 10   // conditions or notes of one answer
	// mostValue exceeds any size, count or time that a machine can measure.
	mostValue = 1e24

	// For an exploration, which sends its recordings and findings.
	mostScript = 16 << 20 // of events' bodies per script, in bytes, in addition to mostBytes
	mostFound  = 1 << 10  // findings
	mostStates = 8        // events per requested state, in addition to mostEvents
)

// allowance is how much may still arrive in answer to a request.
type allowance struct {
	events int
	bytes  int64
}

// allowanceOf is the initial allowance of a request: most, and more for an exploration.
func allowanceOf(body any, most allowance) allowance {
	a := most
	if order, ok := body.(wire.Explore); ok {
		a.events += mostStates * min(order.States.Most, mostEvents) * max(1, len(order.Scripts))
		a.bytes += mostScript * int64(len(order.Scripts))
	}
	return a
}

// take counts an event.
func (a *allowance) take(m wire.Message) error {
	a.events--
	a.bytes -= int64(len(m.Body))
	switch {
	case a.events < 0:
		return fmt.Errorf("%q after too many messages", m.Kind)
	case a.bytes < 0:
		return fmt.Errorf("%q after too many bytes of messages", m.Kind)
	}
	return nil
}

// cleaned returns a copy whose texts are safe to keep and show.
func cleaned[T any](v T) T { return harmless.Copy(v, mostText) }

// cleanFigures is cleaned for checked figures: each gets its phase, in the scenario's spelling, and
// artifacts are kept whole.
func cleanFigures(f wire.Figures) wire.Figures {
	out := cleaned(wire.Figures{Measurements: f.Measurements, Notes: f.Notes, Options: f.Options})
	out.Phase = f.Phase
	for i := range out.Measurements {
		out.Measurements[i].Phase = f.Phase
	}
	for _, a := range f.Artifacts {
		out.Artifacts = append(out.Artifacts, result.Artifact{Phase: harmless.Cut(a.Phase, mostText), Name: harmless.Cut(a.Name, mostText), Text: harmless.Text(a.Text)})
	}
	return out
}
