package result

import "time"

// Shares of a phase's time for which its processors waited for other work of their machine.
const (
	// Marked is the share above which a figure is marked, and counts with less confidence.
	Marked = 0.05
	// TooBusy is the share above which the trial is taken again.
	TooBusy = 0.20
	// Unavoidable is a wait in seconds that is left alone: another process has a processor for as
	// long as a turn lasts, on every machine.
	Unavoidable = 0.010
)

// LoadFigures are the figures of a machine's load during a phase: the time over which it was
// observed, and how long therein the phase waited for other work, a hypervisor had processors, and
// any process waited. absent says why the wait is unknown, noPressure why the last is.
func LoadFigures(window, waited, stolen, pressure time.Duration, absent, noPressure string) []Measurement {
	return []Measurement{
		Figure(LoadWindow, window.Seconds()),
		FigureOr(LoadWaited, waited.Seconds(), absent),
		FigureOr(LoadStolen, stolen.Seconds(), absent),
		FigureOr(LoadPressure, pressure.Seconds(), noPressure),
	}
}

// Wait is how long a phase waited for other work of its machine.
type Wait struct {
	Phase          string
	Window, Waited float64 // s
}

// Share of the time, 0 to 1.
func (w Wait) Share() float64 {
	if w.Window <= 0 {
		return 0
	}
	return min(1, w.Waited/w.Window)
}

// Marks reports whether the phase's figures are marked.
func (w Wait) Marks() bool { return w.Share() > Marked && w.Waited > Unavoidable }

// Disturbs reports whether the phase has to be measured again.
func (w Wait) Disturbs() bool { return w.Share() > TooBusy && w.Waited > Unavoidable }

// Waits are those of a trial's phases, in their order; none where nothing was observed, as in runs
// from before there were such figures, and where load does not change figures.
func (t Trial) Waits() []Wait {
	var out []Wait
	at := map[string]int{}
	for _, m := range t.Measurements {
		if m.Metric == LoadWindow && m.Absent == "" {
			at[m.Phase] = len(out)
			out = append(out, Wait{Phase: m.Phase, Window: m.Value})
		}
	}
	for _, m := range t.Measurements {
		if i, ok := at[m.Phase]; ok && m.Metric == LoadWaited && m.Absent == "" {
			out[i].Waited = m.Value
		}
	}
	return out
}

// Disturbed returns the phase that waited for the largest share of its time, if that has to be
// measured again.
func (t Trial) Disturbed() (worst Wait, disturbed bool) {
	for _, w := range t.Waits() {
		if w.Disturbs() && w.Share() > worst.Share() {
			worst, disturbed = w, true
		}
	}
	return worst, disturbed
}

// Disturbance is how much a trial was disturbed, to choose among several of the same: the sum of its
// phases' shares.
func (t Trial) Disturbance() float64 {
	sum := 0.0
	for _, w := range t.Waits() {
		if w.Marks() {
			sum += w.Share()
		}
	}
	return sum
}
