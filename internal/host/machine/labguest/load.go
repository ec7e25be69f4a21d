package labguest

import (
	"slices"
	"time"

	"whichfs/internal/host/machine"
	"whichfs/internal/result"
	"whichfs/internal/sys/load"
	"whichfs/internal/wire"
)

// Loaded adds to the figures of every phase how long the threads of the guest's processes waited for
// processors of this host, between the agent's messages of the phase's beginning and of its figures.
// now reads the counters.
func Loaded(now func() load.Mark, events machine.Events) machine.Events {
	if events.Figures == nil {
		return events
	}
	phase, began := "", load.Mark{}
	watched := events
	watched.Phase = func(name string) {
		if events.Phase != nil {
			events.Phase(name)
		}
		phase, began = name, now()
	}
	watched.Figures = func(f wire.Figures) {
		// A phase that did not take place, and one that the host did not see begin, have none.
		if f.Phase != "" && f.Phase == phase && timed(f.Measurements) {
			f.Measurements = append(slices.Clone(f.Measurements), LoadFigures(load.Between(began, now(), load.Own{}), phase)...)
			phase = ""
		}
		events.Figures(f)
	}
	return watched
}

// Waited returns a function that says how long what w observes has waited for processors since its
// last call.
func Waited(w *load.Watch) func() time.Duration {
	last := w.Now()
	return func() time.Duration {
		now := w.Now()
		l := load.Between(last, now, load.Own{})
		last = now
		return l.Waited
	}
}

// timed reports whether there is a time among the figures of a phase.
func timed(figures []result.Measurement) bool {
	return slices.ContainsFunc(figures, func(m result.Measurement) bool { return m.Metric == result.Wall && m.Absent == "" })
}

// LoadFigures are the figures of a load during a phase.
func LoadFigures(l load.Load, phase string) []result.Measurement {
	out := result.LoadFigures(l.Window, l.Waited, l.Stolen, l.Pressure, l.Absent, l.NoPressure)
	for i := range out {
		out[i].Phase = phase
	}
	return out
}
