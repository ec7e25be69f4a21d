package app

import (
	"context"
	"slices"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/report"
	"whichfs/internal/result"
	"whichfs/internal/result/store"
)

// Exported are the names of the runs that a query chooses, oldest first, or the named ones. It refuses
// none at all.
func (a *App) Exported(q store.Query, names []string) (ids []string, err error) {
	st, err := a.ReadStore()
	if err != nil {
		return nil, err
	}
	defer st.Close() //nolint:errcheck // read only
	for _, name := range names {
		run, err := st.Run(name)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(ids, run.ID) {
			ids = append(ids, run.ID)
		}
	}
	if len(names) == 0 {
		marks, err := st.Marks(q)
		if err != nil {
			return nil, err
		}
		ids = idsOf(marks)
	}
	if len(ids) == 0 {
		return nil, result.Refuse("whichfs runs lists them", "no run is like this")
	}
	return ids, nil
}

// Export writes runs with an exporter of a format, which the caller closes, until ctx ends. tell is called
// before each run.
func (a *App) Export(ctx context.Context, f report.Format, e report.Exporter, ids []string, tell func(done int)) error {
	st, err := a.ReadStore()
	if err != nil {
		return err
	}
	defer st.Close() //nolint:errcheck // read only
	for i, id := range ids {
		if err := ctx.Err(); err != nil {
			return err
		}
		tell(i)
		run, err := st.Run(id)
		if err != nil {
			return err
		}
		v := verdict.Verdict{Run: run}
		var trials []result.Trial
		if f.Judged {
			v, trials, err = Judge(st, run)
		} else {
			trials, err = st.Trials(id)
		}
		if err != nil {
			return err
		}
		if err := e.Add(v, trials); err != nil {
			return err
		}
	}
	return nil
}
