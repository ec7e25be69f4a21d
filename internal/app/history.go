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

// Memory keeps what histories and lists of leaders show of runs, each until its run changes. The zero
// value is empty; it is safe for use by several goroutines.
type Memory struct {
	figures, ranked kept
}

// kept are results by the names of runs.
type kept struct {
	mu sync.Mutex
	of map[string]one
}

type one struct {
	mark  store.Mark
	run   history.Run
	order verdict.Verdict
}

// atOnce is the number of runs that are read in one go.
const atOnce = 500

// get returns a result for each mark, in their order. Those that are missing are made by f from the
// figures of several runs at once.
func (k *kept) get(marks []store.Mark, f func(missing []store.Mark) ([]one, error)) ([]one, error) {
	out := make([]one, len(marks))
	var missing []store.Mark
	var at []int
	k.mu.Lock()
	for i, m := range marks {
		var known bool
		if out[i], known = k.of[m.ID]; !known || out[i].mark != m {
			missing, at = append(missing, m), append(at, i)
		}
	}
	k.mu.Unlock()
	for len(missing) > 0 {
		n := min(atOnce, len(missing))
		list, err := f(missing[:n])
		if err != nil {
			return nil, err
		}
		k.mu.Lock()
		if k.of == nil {
			k.of = map[string]one{}
		}
		for i, made := range list {
			made.mark = missing[i]
			out[at[i]], k.of[made.mark.ID] = made, made
		}
		k.mu.Unlock()
		missing, at = missing[n:], at[n:]
	}
	return out, nil
}

func idsOf(marks []store.Mark) (ids []string) {
	for _, m := range marks {
		ids = append(ids, m.ID)
	}
	return ids
}

// runs returns the figures of runs of a study; those without any are left out.
func (m *Memory) runs(st *store.Store, s study.Study, marks []store.Mark) (out []history.Run, err error) {
	list, err := m.figures.get(marks, func(missing []store.Mark) (made []one, err error) {
		read, err := st.Figures(idsOf(missing), metricsOf(s)...)
		for _, r := range read {
			made = append(made, one{run: figuresOf(r, s)})
		}
		return made, err
	})
	for _, r := range list {
		if len(r.run.Columns) > 0 {
			out = append(out, r.run)
		}
	}
	return out, err
}

// figuresOf are the columns of a run.
func figuresOf(r store.Figured, s study.Study) (out history.Run) {
	for _, c := range verdict.Samples(r.Run, r.Support, r.Trials, s) {
		if !c.Extra && !c.Level && len(c.Of) > 0 {
			c.Absent = nil
			out.Columns = append(out.Columns, c)
		}
	}
	r.Run.Plan = nil
	out.Run = r.Run
	return out
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
func (a *App) History(m *Memory, q store.Query, ask history.Question) (h history.History, err error) {
	err = a.withStudy(&q, func(st *store.Store, s study.Study) error {
		marks, err := st.Marks(q)
		if err != nil {
			return err
		}
		runs, err := m.runs(st, s, marks)
		if err != nil {
			return err
		}
		if len(runs) == 0 {
			return noFigures(s)
		}
		h, err = history.Make(s, runs, ask)
		return err
	})
	return h, err
}

// The most that RecentHistory reads.
const (
	mostSteps = 100 // runs, where the steps are kernels
	mostLines = 50  // groups
)

// RecentHistory is like History, but reads no more than a page shows: the latest runs of one group, and
// of the others only what they are. at is the group's place, from 0.
func (a *App) RecentHistory(m *Memory, q store.Query, ask history.Question, at int) (h history.History, err error) {
	err = a.withStudy(&q, func(st *store.Store, s study.Study) error {
		lines, err := st.Lines(q)
		if err != nil {
			return err
		}
		if len(lines) == 0 {
			return noFigures(s)
		}
		lines = lines[:min(len(lines), mostLines)]
		if at < 0 || at >= len(lines) {
			return result.Refuse("", "there are groups 1 to %d, and not %d", len(lines), at+1)
		}
		most := ask.Last
		if ask.By == history.ByKernel {
			most = max(most, mostSteps)
		}
		marks, err := st.Of(lines[at], q, most)
		if err != nil {
			return err
		}
		runs, err := m.runs(st, s, marks)
		if err != nil {
			return err
		}
		if len(runs) == 0 {
			return noFigures(s)
		}
		if h, err = history.Make(s, runs, ask); err != nil {
			return err
		}
		shown := h.Groups[0]
		shown.Older = lines[at].Runs - len(marks)
		h.Groups, err = heads(st, lines)
		if err == nil {
			h.Groups[at] = shown
		}
		return err
	})
	return h, err
}

// heads are groups without their steps.
func heads(st *store.Store, lines []store.Line) (out []history.Group, err error) {
	var ids []string
	for _, l := range lines {
		ids = append(ids, l.Latest)
	}
	latest, err := st.Described(ids)
	for i, r := range latest {
		g := history.Head(r)
		g.Older = lines[i].Runs
		out = append(out, g)
	}
	return out, err
}

// withStudy calls f with the study of a query, or else with that of the latest run, which the query
// gets.
func (a *App) withStudy(q *store.Query, f func(*store.Store, study.Study) error) error {
	st, err := a.ReadStore()
	if err != nil {
		return err
	}
	defer st.Close() //nolint:errcheck // read only
	if q.Study == "" {
		newest, err := st.Run("last")
		if err != nil {
			return err
		}
		q.Study = newest.Study
	}
	s, ok := study.ByName(q.Study)
	if !ok {
		return result.Refuse("whichfs list studies shows them", "there is no study %q", q.Study)
	}
	return f(st, s)
}

func noFigures(s study.Study) error {
	return result.Refuse("whichfs runs lists the runs", "no such run of study %s has figures", s.Name)
}
