package app

import (
	"time"

	"whichfs/internal/result"
	"whichfs/internal/result/store"
)

// Durations are how long the trials of a run took.
type Durations struct {
	Run    string                   // its ID; empty: there is none
	Trials map[string]time.Duration // of each candidate with its variant (Trial.Named): the mean
}

// Earlier returns the durations of the latest run like this one, with the same work on the same machine
// and storage by the same clock. A run that is resumed is like itself.
func Earlier(st *store.Store, run result.Run) (Durations, error) {
	all, err := st.Runs()
	if err != nil {
		return Durations{}, err
	}
	for _, s := range all {
		if s.Done == 0 || s.Run.Study != run.Study || s.Run.Scale != run.Scale || s.Run.Machine != run.Machine || s.Run.Storage != run.Storage {
			continue
		}
		r, err := st.Run(s.Run.ID)
		if err != nil {
			return Durations{}, err
		}
		if r.ClockName() != run.ClockName() || (r.Processor == "") != (run.Processor == "") {
			continue
		}
		trials, err := st.TrialsWith(r.ID)
		if err != nil {
			return Durations{}, err
		}
		d := Durations{Run: r.ID, Trials: map[string]time.Duration{}}
		n := map[string]time.Duration{}
		for _, t := range trials {
			if t.Outcome == result.Done {
				d.Trials[t.Named()] += t.Ended.Sub(t.Started)
				n[t.Named()]++
			}
		}
		for name := range d.Trials {
			d.Trials[name] /= n[name]
		}
		return d, nil
	}
	return Durations{}, nil
}
