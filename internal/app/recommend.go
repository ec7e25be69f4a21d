package app

import (
	"errors"
	"slices"

	"whichfs/internal/judge/recommend"
	"whichfs/internal/judge/verdict"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
	"whichfs/internal/result/store"
)

// Wish is what a user wants of a filesystem.
type Wish struct {
	Runs    []string // the sources of figures; none: the latest
	Needs   []string // "power-loss-safe", "max-boot=0.5s"
	Weights []string // "write=3"
	Profile string   // needs and weights by a name
	// Storage: only runs on this storage.
	Storage string
}

// Recommend says which candidate to take.
func (a *App) Recommend(w Wish) (recommend.Answer, error) {
	q, err := w.question()
	if err != nil {
		return recommend.Answer{}, err
	}
	runs, err := a.sources(w)
	if err != nil {
		return recommend.Answer{}, err
	}
	return recommend.Make(q, runs)
}

// question parses the wish. Needs and weights given beside a profile are added to it; a weight
// overrides the profile's.
func (w Wish) question() (recommend.Question, error) {
	q := recommend.Question{Profile: w.Profile}
	if w.Profile != "" {
		p, ok := recommend.ProfileByName(w.Profile)
		if !ok {
			return q, result.Refuse("whichfs list profiles shows them", "unknown profile %q", w.Profile)
		}
		q.Needs, q.Weights = slices.Clone(p.Needs), slices.Clone(p.Weights)
	}
	for _, text := range w.Needs {
		n, err := recommend.ParseNeed(text)
		if err != nil {
			return q, err
		}
		if !slices.Contains(q.Needs, n) {
			q.Needs = append(q.Needs, n)
		}
	}
	var own []recommend.Weight
	for _, text := range w.Weights {
		one, err := recommend.ParseWeight(text)
		if err != nil {
			return q, err
		}
		q.Weights = slices.DeleteFunc(q.Weights, func(old recommend.Weight) bool { return old.Key == one.Key })
		own = append(own, one)
	}
	q.Weights = append(q.Weights, own...)
	return q, nil
}

// sources loads the runs; none if nothing was measured yet.
func (a *App) sources(w Wish) ([]verdict.Judged, error) {
	st, err := a.ReadStore()
	if errors.Is(err, store.ErrMissing) && len(w.Runs) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer st.Close() //nolint:errcheck // read only
	runs, err := w.chosen(st)
	if err != nil {
		return nil, err
	}
	var out []verdict.Judged
	for _, run := range runs {
		one, err := a.judge(st, run)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// chosen are the named runs, or else the latest run of speed with its series and the latest run of
// faults; if a storage was named, only runs of speed on it.
func (w Wish) chosen(st *store.Store) ([]result.Run, error) {
	names := w.Runs
	if len(names) == 0 {
		all, err := st.Runs()
		if err != nil {
			return nil, err
		}
		all = slices.DeleteFunc(all, func(one store.Summary) bool { return ofTools(one.Run) }) // facts hold their answers
		have := map[bool]bool{}
		for _, one := range all {
			faults := ofFaults(one.Run)
			if one.Done > 0 && !have[faults] && (faults || w.on(one.Run)) {
				have[faults] = true
				names = append(names, one.Run.ID)
			}
		}
		if len(names) == 0 && len(all) > 0 {
			if w.Storage != "" {
				return nil, result.Refuse("whichfs runs lists them", "no run on storage %s has figures", w.Storage)
			}
			return nil, result.Refuse("whichfs runs lists them", "no run has any figures yet")
		}
	}
	var out []result.Run
	for _, name := range names {
		run, err := st.Run(name)
		if err != nil {
			return nil, err
		}
		series := []result.Run{run}
		if len(w.Runs) == 0 || w.Storage != "" {
			if series, err = SeriesOf(st, run); err != nil {
				return nil, err
			}
		}
		for _, r := range series {
			if (w.on(r) || ofFaults(r)) && !slices.ContainsFunc(out, func(have result.Run) bool { return have.ID == r.ID }) {
				out = append(out, r)
			}
		}
	}
	if len(out) == 0 && len(names) > 0 {
		return nil, result.Refuse("whichfs runs lists them", "none of these runs is on storage %s", w.Storage)
	}
	return out, nil
}

// on reports whether a run is on the named storage, as the user wrote it or by the study's key.
func (w Wish) on(r result.Run) bool {
	if w.Storage == "" || r.Storage == w.Storage {
		return true
	}
	s, ok := study.ByName(r.Study)
	if !ok {
		return false
	}
	named, ok := s.Storage(r.Scale, r.Storage)
	return ok && named.Key == w.Storage
}
