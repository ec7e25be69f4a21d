package app

import (
	"whichfs/internal/judge/verdict"
	"whichfs/internal/plan/study"
	"whichfs/internal/result/store"
)

// Leaders are the verdicts of the latest finished runs under each of the conditions that a query
// chooses, the latest first. Runs of studies that this version does not know are left out.
func (a *App) Leaders(q store.Query) (list []verdict.Verdict, err error) {
	st, err := a.ReadStore()
	if err != nil {
		return nil, err
	}
	defer st.Close() //nolint:errcheck // read only
	ids, err := st.Latest(q)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		run, err := st.Run(id)
		if err != nil {
			return nil, err
		}
		if _, known := study.ByName(run.Study); !known {
			continue
		}
		one, err := a.judge(st, run)
		if err != nil {
			return nil, err
		}
		list = append(list, one.Verdict)
	}
	return list, nil
}
