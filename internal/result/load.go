package result

import (
	"fmt"
	"time"

	"whichfs/internal/sys/units"
)

// Shares of a phase's time for which its processors waited for other work of their machine.
const (
	// Marked is the share above which a figure is marked, and counts with less confidence.
	Marked = 0.05
	// TooBusy is the share above which the trial is taken again.
	TooBusy = 0.20
	// brief is the length in seconds of a phase, and of its wait, for which alone no trial is taken
	// again, and instant that of a phase which is not marked: on any machine another process has a
	// processor for some milliseconds now and then.
	brief   = 0.010
	instant = 0.001
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
	Phase string
	// Wall is the phase's time, Window that over which it was observed.
	Wall, Window, Waited float64 // s
}

// String says it: "phase write waited 38 % of its time for a processor".
func (w Wait) String() string {
	return fmt.Sprintf("phase %s waited %s of its time for a processor", w.Phase, units.Share(w.Share()))
}

// Share of the time, 0 to 1.
func (w Wait) Share() float64 {
	if w.Window <= 0 {
		return 0
	}
	return min(1, w.Waited/w.Window)
}

// Marks reports whether the phase's figures are marked.
func (w Wait) Marks() bool { return w.Share() > Marked && w.Wall > instant }

// Disturbs reports whether the phase has to be measured again.
func (w Wait) Disturbs() bool { return w.Share() > TooBusy && w.Wall > brief && w.Waited > brief }

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
		i, ok := at[m.Phase]
		switch {
		case !ok || m.Absent != "":
		case m.Metric == LoadWaited:
			out[i].Waited = m.Value
		case m.Metric == Wall:
			out[i].Wall = m.Value
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

// Counted returns the trials that count, in their order: of every candidate and variant in a round
// the attempt that was completed, and of two that were, the one that was disturbed less.
func Counted(trials []Trial) []Trial {
	best := map[trialOf]int{}
	for i, t := range trials {
		at := trialOf{t.Round, t.Named()}
		if j, ok := best[at]; t.Outcome == Done && (!ok || t.Disturbance() <= trials[j].Disturbance()) {
			best[at] = i
		}
	}
	var out []Trial
	for i, t := range trials {
		if j, ok := best[trialOf{t.Round, t.Named()}]; ok && i == j {
			out = append(out, t)
		}
	}
	return out
}

// LoadTally sums up the load of a run. The zero value is one without trials.
type LoadTally struct {
	Waited, Window float64 // s, of all phases
	Trials         int     // that were observed
	Again          int     // of them taken again

	seen map[trialOf]int // attempts
}

// trialOf is a candidate's trial in a round, whatever the attempt.
type trialOf struct {
	round int
	named string
}

// Add adds a trial that ended.
func (l *LoadTally) Add(t Trial) {
	waits := t.Waits()
	if t.Outcome != Done || len(waits) == 0 {
		return
	}
	for _, w := range waits {
		l.Waited, l.Window = l.Waited+w.Waited, l.Window+w.Window
	}
	if l.seen == nil {
		l.seen = map[trialOf]int{}
	}
	at := trialOf{t.Round, t.Named()}
	l.seen[at]++
	switch l.seen[at] {
	case 1:
		l.Trials++
	case 2:
		l.Again++
	}
}

// Share of the time for which the phases waited, 0 to 1.
func (l LoadTally) Share() float64 { return Wait{Window: l.Window, Waited: l.Waited}.Share() }

// Busy reports whether the load is worth a word.
func (l LoadTally) Busy() bool { return l.Share() > Marked || l.Again > 0 }

// String says it: "this machine was busy 38 % of the time; 11 of 30 trials were taken again".
func (l LoadTally) String() string {
	text := fmt.Sprintf("this machine was busy %s of the time", units.Share(l.Share()))
	if l.Again > 0 {
		were := "were"
		if l.Again == 1 {
			were = "was"
		}
		text += fmt.Sprintf("; %d of %s %s taken again", l.Again, units.Count(l.Trials, "trial"), were)
	}
	return text
}
