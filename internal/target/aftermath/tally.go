package aftermath

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"whichfs/internal/fault"
	"whichfs/internal/fault/finding"
	"whichfs/internal/result"
)

// Count adds a diagnosis to a tally of states.
func Count(t *finding.Tally, s *Diagnosis) {
	t.States++
	t.Outcomes[s.Outcome.Key()]++
	t.Promises += int64(s.Promises)
	t.Broken += int64(s.Broken())
	if s.Checked {
		t.Checked++
	}
	if s.Dirty {
		t.Dirty++
	}
	for i, took := range s.Stages {
		if took > 0 {
			t.Seconds[StageNames[i]] += took.Seconds()
		}
	}
}

// mostNoted is how many iterations with losses get a note each.
const mostNoted = 5

// Tally counts the outcomes for a filesystem in the iterations of a step, each with a different
// fault.
type Tally struct {
	Seed   uint64        // of the random draws
	states finding.Tally // one for each iteration

	after                         map[string]int64 // by outcome, after a repair
	mounted, replayed, complained int64
	stopped                       int64           // read-only
	mounts                        []time.Duration // their times

	notes   []result.Note
	unnoted int
	once    map[string]bool // notes about the whole step
}

// NewTally makes the tally of iterations that are drawn with a seed.
func NewTally(seed uint64) *Tally {
	return &Tally{Seed: seed, states: finding.Tally{Outcomes: map[string]int64{}, Seconds: map[string]float64{}}, after: map[string]int64{}, once: map[string]bool{}}
}

// Iterations is the number of iterations counted.
func (t *Tally) Iterations() int64 { return t.states.States }

// Count adds the diagnosis of an iteration.
func (t *Tally) Count(number int, s Diagnosis) {
	Count(&t.states, &s)
	if s.After != 0 {
		t.after[s.After.Key()]++
	}
	if s.Mounted {
		t.mounted++
		t.mounts = append(t.mounts, s.Took)
	}
	if len(s.Said.Replay) > 0 {
		t.replayed++
	}
	if len(s.Said.Errors) > 0 {
		t.complained++
	}
	if s.ReadOnly != "" || s.Stopped {
		t.stopped++
	}
	if s.Unchecked != "" {
		t.Note("no check: " + s.Unchecked)
	}
	if s.Unrepaired != "" {
		t.Note("no repair: " + s.Unrepaired)
	}
	if !s.damaged() && !s.Dirty {
		return
	}
	if len(t.notes) == mostNoted {
		t.unnoted++
		return
	}
	t.notes = append(t.notes, result.Note{Level: result.Info, Text: fmt.Sprintf("iteration %d (seed %d), %s: %s", number, t.Seed, s.Outcome.Key(), s.Words())})
}

// Note records a note about the whole step, once.
func (t *Tally) Note(text string) { t.once[text] = true }

// Measurements are the figures of the step.
func (t *Tally) Measurements() []result.Measurement {
	out := Measurements(t.states)
	out = append(out, byOutcome(fault.AfterPrefix, t.after)...)
	out = append(out, count(fault.Mounted, t.mounted), count(fault.Replayed, t.replayed), count(fault.Complained, t.complained), count(fault.Stopped, t.stopped))
	return append(out, t.mountTimes()...)
}

// mountTimes are those of the successful mounts after the fault, before any repair.
func (t *Tally) mountTimes() (out []result.Measurement) {
	total := time.Duration(0)
	for _, took := range t.mounts {
		total += took
	}
	slices.Sort(t.mounts)
	why := "it could not be mounted after any fault"
	mean, median, longest := 0.0, 0.0, 0.0
	if n := len(t.mounts); n > 0 {
		why = ""
		mean, longest = total.Seconds()/float64(n), t.mounts[n-1].Seconds()
		median = (t.mounts[(n-1)/2] + t.mounts[n/2]).Seconds() / 2
	}
	for _, m := range []struct {
		metric string
		value  float64
	}{{fault.MountMean, mean}, {fault.MountMedian, median}, {fault.MountLongest, longest}} {
		out = append(out, result.Measurement{Metric: m.metric, Unit: "s", Value: m.value, Absent: why})
	}
	return out
}

// Notes are about the first iterations with losses, and about the whole step.
func (t *Tally) Notes() []result.Note {
	notes := t.notes
	if t.unnoted > 0 {
		notes = append(notes, result.Note{Level: result.Info, Text: fmt.Sprintf("and %d more iterations like these", t.unnoted)})
	}
	for _, text := range slices.Sorted(maps.Keys(t.once)) {
		notes = append(notes, result.Note{Level: result.Info, Text: text})
	}
	return notes
}

// Measurements are the figures of faults in a tally.
func Measurements(t finding.Tally) []result.Measurement {
	out := append([]result.Measurement{count(fault.Tried, t.States)}, byOutcome(fault.OutcomePrefix, t.Outcomes)...)
	return append(out, count(fault.Promises, t.Promises), count(fault.Broken, t.Broken), count(fault.CheckDirty, t.Dirty), count(fault.CheckClean, t.Checked-t.Dirty))
}

// StateMeasurements are those of crash states.
func StateMeasurements(t finding.Tally) []result.Measurement {
	return append(Measurements(t), count(fault.States, t.States), count(fault.Equal, t.Equal))
}

func count(metric string, n int64) result.Measurement {
	return result.Figure(metric, float64(n))
}

// byOutcome returns counts of the outcomes that occurred.
func byOutcome(prefix string, counts map[string]int64) (out []result.Measurement) {
	for _, o := range fault.Outcomes {
		if n := counts[o.Key()]; n > 0 {
			out = append(out, count(prefix+o.Key(), n))
		}
	}
	return out
}
