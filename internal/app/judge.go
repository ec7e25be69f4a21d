package app

import (
	"encoding/json"
	"fmt"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/plan"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
	"whichfs/internal/result/store"
)

// StudyOf finds the study of a run.
func StudyOf(run result.Run) (study.Study, error) {
	s, ok := study.ByName(run.Study)
	if !ok {
		return s, result.Refuse("", "run %s is of study %q, which is unknown to this version", run.ID, run.Study)
	}
	return s, nil
}

// SeriesOf returns the runs of the series that a run belongs to, oldest first; for a single run,
// itself.
func SeriesOf(st *store.Store, run result.Run) ([]result.Run, error) {
	ids, err := st.Series(run)
	if err != nil {
		return nil, err
	}
	var runs []result.Run
	for _, id := range ids {
		r, err := st.Run(id)
		if err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	return runs, nil
}

// Judge loads a run and computes its verdict.
func Judge(st *store.Store, run result.Run) (verdict.Verdict, []result.Trial, error) {
	s, err := StudyOf(run)
	if err != nil {
		return verdict.Verdict{}, nil, err
	}
	trials, err := st.Trials(run.ID)
	if err != nil {
		return verdict.Verdict{}, nil, err
	}
	support, err := st.Support(run.ID)
	if err != nil {
		return verdict.Verdict{}, nil, err
	}
	beside := verdict.Beside{}
	if _, r, err := ProbeOf(st, run.Storage); err == nil {
		beside.Probe = &r
	}
	v, err := verdict.Compute(run, support, trials, s, beside)
	return v, trials, err
}

// Judged loads a run with its verdict and the underlying figures.
func Judged(st *store.Store, run result.Run) (verdict.Judged, []result.Trial, error) {
	v, trials, err := Judge(st, run)
	if err != nil {
		return verdict.Judged{}, nil, err
	}
	support, err := st.Support(run.ID)
	if err != nil {
		return verdict.Judged{}, nil, err
	}
	s, _ := study.ByName(run.Study) // Judge has found it
	out := verdict.Judged{Verdict: v, Study: s, Columns: verdict.Samples(run, support, trials, s), Phases: verdict.PhaseTimes(run, support, trials, s)}
	if len(run.Plan) == 0 {
		return out, trials, nil
	}
	var p plan.Plan
	if err := json.Unmarshal(run.Plan, &p); err != nil {
		return out, nil, fmt.Errorf("plan of run %s: %w", run.ID, err)
	}
	work, err := json.Marshal([]scenario.Scenario{p.ReadWrite, p.ReadOnly})
	out.Scenarios = string(work)
	return out, trials, err
}

// Judging judges a run of the store, like Judged, but may keep what it did before.
type Judging func(*store.Store, result.Run) (verdict.Judged, error)

// judge judges a run by Judging, if there is one.
func (a *App) judge(st *store.Store, run result.Run) (verdict.Judged, error) {
	if a.Judging != nil {
		return a.Judging(st, run)
	}
	out, _, err := Judged(st, run)
	return out, err
}

// ofFaults reports whether a run's study is about what survives faults, and not
// about speed.
func ofFaults(r result.Run) bool {
	s, ok := study.ByName(r.Study)
	return ok && verdict.FaultsOnly(s)
}

// ofTools reports whether a run's study is about what tools can do, and neither about speed nor
// about faults.
func ofTools(r result.Run) bool {
	s, ok := study.ByName(r.Study)
	return ok && s.Untimed && !verdict.FaultsOnly(s)
}
