package app

import (
	"cmp"
	"time"

	"whichfs/internal/flash/models"
	"whichfs/internal/plan"
	"whichfs/internal/plan/media"
	"whichfs/internal/result"
	"whichfs/internal/result/store"
)

// Durations are how long the trials of a run took, or may take.
type Durations struct {
	Run    string                   // its ID; empty: there is none, and the trials are guessed
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

// What the work of a guest with the virtual clock takes on one processor core, from the quick trials of four
// studies on one machine. What the other clocks and a processor multiply it by is estimated; by wall clock it
// takes at least as long as the storage.
const (
	guessBytes        = 70e6                   // B/s
	guessOp           = 200 * time.Microsecond // of a file, a request, an operation
	guessTrial        = time.Second            // of the rest: mkfs, mounts, checks
	guessCharged      = 2                      // times, with a processor that is charged
	guessWall         = 3                      // times
	guessInstructions = 20                     // times
	guessWithin       = 2
)

// Guess is how long trials may take of which no run tells anything: by the amounts of work in the plan, and the
// model of its storage. There are none where that is not known, as on real storage.
func Guess(p plan.Plan) (d Durations) {
	on, err := media.Parse(p.Storage)
	if err != nil || p.Machine != "lab" || p.Untimed || on.Kind != media.KindSim {
		return Durations{}
	}
	model, err := models.Resolve(on.Path)
	if err != nil {
		return Durations{}
	}
	size := cmp.Or(on.Size, model.Size)
	d.Trials = map[string]time.Duration{}
	for _, slot := range plan.Round(p, 1) {
		v, _ := p.Variant(slot.Variant)
		a := p.Amount(v.Apply(p.Scenario(slot.Candidate)), size)
		host := guessTrial + seconds(float64(a.Read+a.Written)/guessBytes) + guessOp*time.Duration(a.Ops)
		switch {
		case p.Instructions():
			host *= guessInstructions
		case !p.Virtual():
			host = guessWall*host + seconds(float64(a.Rest))
			if model.Bus.Read > 0 && model.Bus.Write > 0 {
				host += seconds(float64(a.Read)/model.Bus.Read + float64(a.Written)/model.Bus.Write)
			}
		case p.Processor != nil:
			host *= guessCharged
		}
		d.Trials[slot.Named()] = host
	}
	return d
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// Range is what a guess of that length stands for.
func Range(guess time.Duration) (low, high time.Duration) {
	return guess / guessWithin, guess * guessWithin
}
