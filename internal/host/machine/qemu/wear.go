package qemu

import (
	"context"

	"whichfs/internal/flash"
	"whichfs/internal/host/machine"
	"whichfs/internal/result"
	"whichfs/internal/wire"
)

// wholeTrial is the phase of figures that cover a whole trial.
const wholeTrial = "trial"

// Trial implements machine.Session. For a device that wears it adds what happened inside during
// each phase, between the agent's messages of the phase's beginning and of its figures, and during
// the whole trial.
func (s *Session) Trial(ctx context.Context, t wire.Trial, events machine.Events) (wire.Done, error) {
	sim := s.guest.sim
	if sim == nil {
		return s.Client.Trial(ctx, t, events)
	}
	w := wear{stats: sim.server.Stats, model: sim.model}
	watched := events
	if sim.model.Kind == flash.KindFlash {
		watched = w.watch(events)
	}
	done, err := s.Client.Trial(ctx, t, watched)
	if err != nil {
		return done, err
	}
	if fault := sim.fault(); fault != nil {
		return wire.Done{}, &result.Failure{Outcome: result.LabFailed, Reason: "the simulated storage was lost during the trial", Err: fault, Console: s.Console()}
	}
	if sim.model.Kind == flash.KindFlash && events.Figures != nil {
		events.Figures(wire.Figures{Phase: wholeTrial, Measurements: w.whole()})
	}
	return done, nil
}

// PowerCut cuts the power of the simulated storage and returns what that lost. The guest loses its
// disk with it. ok is false if the storage is not simulated.
func (s *Session) PowerCut() (loss flash.Loss, ok bool) {
	if s.guest.sim == nil {
		return flash.Loss{}, false
	}
	return s.guest.sim.server.Cut(), true
}

// wear adds a device's counters to the figures of the phases.
type wear struct {
	stats func() flash.Stats
	model flash.Model

	atStart, atPhase flash.Stats
	phase            string // the current one; "" for none
}

func (w *wear) watch(events machine.Events) machine.Events {
	w.atStart = w.stats()
	watched := events
	watched.Phase = func(name string) {
		w.atPhase, w.phase = w.stats(), name
		if events.Phase != nil {
			events.Phase(name)
		}
	}
	if events.Figures == nil {
		return watched
	}
	watched.Figures = func(f wire.Figures) {
		// Figures without a beginning (a sentinel, a phase that did not take place) have no share
		// of the device's work, and steps that are only reported (the options of an intermediate
		// mount) have no figures.
		if f.Phase != "" && f.Phase == w.phase && len(f.Measurements) > 0 {
			f.Measurements = append(append([]result.Measurement(nil), f.Measurements...), between(f.Phase, w.atPhase, w.stats())...)
			w.phase = ""
		}
		events.Figures(f)
	}
	return watched
}

// between is the device's activity between two readings of its counters.
func between(phase string, before, after flash.Stats) []result.Measurement {
	m := func(metric string, value int64) result.Measurement {
		return result.Figure(metric, float64(value)).In(phase)
	}
	return []result.Measurement{
		m(result.FlashWritten, after.Written-before.Written),
		m(result.FlashProgrammed, after.Programmed-before.Programmed),
		m(result.FlashCopied, after.Copied-before.Copied),
		m(result.FlashErased, after.Erased-before.Erased),
		m(result.FlashMerges, after.Merges-before.Merges),
	}
}

// whole is the device's activity since the trial began, plus its properties.
func (w *wear) whole() []result.Measurement {
	now := w.stats()
	m := func(metric string, value float64, absent string) result.Measurement {
		return result.FigureOr(metric, value, absent).In(wholeTrial)
	}
	why := func(missing bool, reason string) string {
		if missing {
			return reason
		}
		return ""
	}
	spread, unworn := 0.0, why(now.MeanErases <= 0, "no block was erased")
	if unworn == "" {
		spread = float64(now.MaxErases) / now.MeanErases
	}
	return append(between(wholeTrial, w.atStart, now),
		m(result.FlashSpread, spread, unworn),
		m(result.FlashBlocks, float64(now.Blocks), why(now.Blocks <= 0, "the model does not specify it")),
		m(result.FlashBlock, float64(w.model.Media.Block), ""),
		m(result.FlashCycles, float64(w.model.Media.Cycles), why(w.model.Media.Cycles <= 0, "the model does not specify it")))
}
