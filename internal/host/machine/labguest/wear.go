package labguest

import (
	"context"

	"whichfs/internal/flash"
	"whichfs/internal/host/machine"
	"whichfs/internal/result"
	"whichfs/internal/wire"
)

// WholeTrial is the phase of figures that cover a whole trial.
const WholeTrial = "trial"

// Trial runs a trial and adds, for a device that wears, what happened inside during each phase,
// between the agent's messages of the phase's beginning and of its figures, and during the whole
// trial. stats returns the device's counters: it is called once before the trial, once for every
// message of those two kinds, and once after the last one.
func Trial(ctx context.Context, m flash.Model, stats func() flash.Stats, run func(context.Context, machine.Events) (wire.Done, error), events machine.Events) (wire.Done, error) {
	if m.Kind != flash.KindFlash {
		return run(ctx, events)
	}
	w := wear{stats: stats, model: m}
	done, err := run(ctx, w.watch(events))
	if err == nil && events.Figures != nil {
		events.Figures(wire.Figures{Phase: WholeTrial, Measurements: w.whole()})
	}
	return done, err
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
		events.Figures = func(wire.Figures) {}
	}
	watched.Figures = func(f wire.Figures) {
		now := w.stats()
		// Figures without a beginning (a sentinel, a phase that did not take place) have no share
		// of the device's work, and steps that are only reported (the options of an intermediate
		// mount) have no figures.
		if f.Phase != "" && f.Phase == w.phase && len(f.Measurements) > 0 {
			f.Measurements = append(append([]result.Measurement(nil), f.Measurements...), between(f.Phase, w.atPhase, now)...)
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
		return result.FigureOr(metric, value, absent).In(WholeTrial)
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
	return append(between(WholeTrial, w.atStart, now),
		m(result.FlashSpread, spread, unworn),
		m(result.FlashBlocks, float64(now.Blocks), why(now.Blocks <= 0, "the model does not specify it")),
		m(result.FlashBlock, float64(w.model.Media.Block), ""),
		m(result.FlashCycles, float64(w.model.Media.Cycles), why(w.model.Media.Cycles <= 0, "the model does not specify it")))
}
