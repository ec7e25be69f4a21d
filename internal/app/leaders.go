package app

import (
	"cmp"
	"slices"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
	"whichfs/internal/result/store"
)

// Leaders are the latest finished runs under each of the conditions that a query chooses, the latest
// first, with their columns and orders (verdict.Rank). Runs of studies that this version does not know
// are left out.
func (a *App) Leaders(m *Memory, q store.Query) (list []verdict.Verdict, err error) {
	st, err := a.ReadStore()
	if err != nil {
		return nil, err
	}
	defer st.Close() //nolint:errcheck // read only
	marks, err := st.Latest(q)
	if err != nil {
		return nil, err
	}
	place := map[string]int{}
	of := map[string][]store.Mark{}
	for i, mark := range marks {
		place[mark.ID] = i
		of[mark.Study] = append(of[mark.Study], mark)
	}
	for name, marks := range of {
		s, known := study.ByName(name)
		if !known {
			continue
		}
		ranked, err := m.ranked.get(marks, func(missing []store.Mark) ([]one, error) { return rank(st, s, missing) })
		if err != nil {
			return nil, err
		}
		for _, r := range ranked {
			list = append(list, r.order)
		}
	}
	slices.SortFunc(list, func(a, b verdict.Verdict) int { return cmp.Compare(place[a.Run.ID], place[b.Run.ID]) })
	return list, nil
}

// rank ranks runs of a study.
func rank(st *store.Store, s study.Study, marks []store.Mark) (made []one, err error) {
	metrics := append(metricsOf(s), result.SentinelRead, result.SentinelWrite)
	if verdict.FaultsOnly(s) {
		metrics = nil // what faults leave is in metrics of many names
	}
	read, err := st.Figures(idsOf(marks), metrics...)
	for _, r := range read {
		v, err := verdict.Rank(r.Run, r.Support, r.Trials, s)
		if err != nil {
			return nil, err
		}
		made = append(made, one{order: v})
	}
	return made, err
}
