package app

import (
	"slices"
	"sync"

	"whichfs/internal/judge/history"
	"whichfs/internal/judge/verdict"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
	"whichfs/internal/result/store"
)

// Memory keeps the figures of runs that histories show, each until its run changes. The zero value is
// empty; it is safe for use by several goroutines.
type Memory struct {
	mu sync.Mutex
	of map[string]remembered
}

type remembered struct {
	mark store.Mark
	run  history.Run
}

// runs returns the figures of the runs that a query chooses, oldest first.
func (m *Memory) runs(st *store.Store, q store.Query) ([]history.Run, error) {
	marks, err := st.Marks(q)
	if err != nil {
		return nil, err
	}
	out := make([]history.Run, 0, len(marks))
	for _, mark := range marks {
		m.mu.Lock()
		known, ok := m.of[mark.ID]
		m.mu.Unlock()
		if !ok || known.mark != mark {
			if known.run, err = figuresOf(st, mark.ID); err != nil {
				return nil, err
			}
			known.mark = mark
			m.mu.Lock()
			if m.of == nil {
				m.of = map[string]remembered{}
			}
			m.of[mark.ID] = known
			m.mu.Unlock()
		}
		if len(known.run.Columns) > 0 {
			out = append(out, known.run)
		}
	}
	return out, nil
}

// figuresOf loads the columns of a run; none where its study is unknown to this version.
func figuresOf(st *store.Store, id string) (out history.Run, err error) {
	run, err := st.Run(id)
	if err != nil {
		return out, err
	}
	s, ok := study.ByName(run.Study)
	if !ok {
		return out, nil
	}
	trials, err := st.TrialsWith(id, metricsOf(s)...)
	if err != nil {
		return out, err
	}
	support, err := st.Support(id)
	if err != nil {
		return out, err
	}
	for _, c := range verdict.Samples(run, support, trials, s) {
		if !c.Extra && !c.Level && len(c.Of) > 0 {
			c.Absent = nil
			out.Columns = append(out.Columns, c)
		}
	}
	run.Plan = nil
	out.Run = run
	return out, nil
}

// metricsOf are the metrics that a study's columns are made of, and those by which trials are counted.
func metricsOf(s study.Study) []string {
	list := []string{result.Wall, result.Instructions, result.LoadWindow, result.LoadWaited}
	for _, c := range s.Columns {
		for _, t := range slices.Concat(c.Terms, c.Over) {
			if !slices.Contains(list, t.Metric) {
				list = append(list, t.Metric)
			}
		}
	}
	return list
}

// History is the history of the study of a query, or of the latest run's.
func (a *App) History(m *Memory, q store.Query, ask history.Question) (history.History, error) {
	st, err := a.ReadStore()
	if err != nil {
		return history.History{}, err
	}
	defer st.Close() //nolint:errcheck // read only
	if q.Study == "" {
		newest, err := st.Run("last")
		if err != nil {
			return history.History{}, err
		}
		q.Study = newest.Study
	}
	s, ok := study.ByName(q.Study)
	if !ok {
		return history.History{}, result.Refuse("whichfs list studies shows them", "there is no study %q", q.Study)
	}
	runs, err := m.runs(st, q)
	if err != nil {
		return history.History{}, err
	}
	if len(runs) == 0 {
		return history.History{}, result.Refuse("whichfs runs lists the runs", "no such run of study %s has figures", s.Name)
	}
	return history.Make(s, runs, ask)
}
