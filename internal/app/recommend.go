package app

import (
	"errors"
	"fmt"
	"slices"

	"whichfs/internal/judge/recommend"
	"whichfs/internal/judge/verdict"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
	"whichfs/internal/result/store"
)

// Wish is what a user wants of a filesystem.
type Wish struct {
	Runs    []string // the sources of figures; none: the latest that is finished
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
	runs, newer, err := a.sources(w)
	if err != nil {
		return recommend.Answer{}, err
	}
	answer, err := recommend.Make(q, runs)
	answer.Warnings = append(answer.Warnings, newer...)
	return answer, err
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

// sources loads the runs; none if nothing was measured yet. newer warns of runs that do not count because they
// are not finished.
func (a *App) sources(w Wish) (out []verdict.Judged, newer []string, err error) {
	st, err := a.ReadStore()
	if errors.Is(err, store.ErrMissing) && len(w.Runs) == 0 {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	defer st.Close() //nolint:errcheck // read only
	runs, unfinished, err := w.chosen(st)
	if err != nil {
		return nil, nil, err
	}
	for _, r := range unfinished {
		text := fmt.Sprintf("Run %s is newer, but not finished, and does not count here: whichfs resume %s finishes it.", r.ID, r.ID)
		if st.Held(r.ID) {
			text = fmt.Sprintf("Run %s is newer, but still going, and does not count here: ask again when it ends.", r.ID)
		}
		newer = append(newer, text)
	}
	for _, run := range runs {
		one, err := a.judge(st, run)
		if err != nil {
			return nil, nil, err
		}
		out = append(out, one)
	}
	return out, newer, nil
}

// chosen are the named runs, or else the latest finished run of speed with the finished ones of its series, and
// the latest finished run of faults; if a storage was named, only runs of speed on it.
func (w Wish) chosen(st *store.Store) (chosen, newer []result.Run, err error) {
	names := w.Runs
	if len(names) == 0 {
		if names, newer, err = w.latest(st); err != nil {
			return nil, nil, err
		}
	}
	for _, name := range names {
		run, err := st.Run(name)
		if err != nil {
			return nil, nil, err
		}
		series := []result.Run{run}
		if len(w.Runs) == 0 || w.Storage != "" {
			if series, err = SeriesOf(st, run); err != nil {
				return nil, nil, err
			}
		}
		for _, r := range series {
			switch {
			case !w.on(r) && !ofFaults(r) || slices.ContainsFunc(chosen, func(have result.Run) bool { return have.ID == r.ID }):
			case len(w.Runs) == 0 && r.State != result.Finished:
				newer = append(newer, r)
			default:
				chosen = append(chosen, r)
			}
		}
	}
	if len(chosen) == 0 && len(names) > 0 {
		return nil, nil, result.Refuse("whichfs runs lists them", "none of these runs is on storage %s", w.Storage)
	}
	return chosen, newer, nil
}

// latest names the latest finished run of speed and that of faults. Those that are newer are not finished: the
// first trials of a run say little about the rest.
func (w Wish) latest(st *store.Store) (names []string, newer []result.Run, err error) {
	known, err := st.Values()
	if err != nil {
		return nil, nil, err
	}
	have, some := map[bool]bool{true: true, false: true}, false // of faults, of speed: nothing more to look for
	for _, name := range known.Studies {
		one := result.Run{Study: name}
		if !ofTools(one) { // facts hold their answers
			have[ofFaults(one)], some = false, true
		}
	}
	for before := ""; !have[true] || !have[false]; {
		page, _, err := st.Find(store.Query{Before: before, Limit: 100})
		if err != nil {
			return nil, nil, err
		}
		if len(page) == 0 {
			break
		}
		before = page[len(page)-1].Run.ID
		for _, one := range page {
			faults := ofFaults(one.Run)
			switch {
			case ofTools(one.Run) || one.Done == 0 || have[faults] || !faults && !w.on(one.Run):
			case one.Run.State != result.Finished:
				newer = append(newer, one.Run)
			default:
				have[faults] = true
				names = append(names, one.Run.ID)
			}
		}
	}
	switch {
	case len(names) > 0 || !some:
	case len(newer) > 0:
		id := newer[0].ID
		return nil, nil, result.Refuse("whichfs resume "+id+" finishes it, whichfs recommend "+id+" answers from what it has", "no run that has figures is finished; the latest is %s", id)
	case w.Storage != "":
		return nil, nil, result.Refuse("whichfs runs lists them", "no run on storage %s has figures", w.Storage)
	default:
		return nil, nil, result.Refuse("whichfs runs lists them", "no run has any figures yet")
	}
	return names, newer, nil
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
