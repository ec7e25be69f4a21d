package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
	"whichfs/internal/result/store"
	"whichfs/internal/sys/units"
)

// overheadLimit is a share of a run's active time.
const overheadLimit = 0.25

// overhead reads how much time the last quick runs in the store spent outside their work. It is the
// one figure that this benchmark does not measure itself: that would need a whole run.
func overhead(_ context.Context, c Config, out io.Writer) (err error) {
	path := c.Store
	if path == "" {
		if path, err = store.DefaultPath(); err != nil {
			return unavailable("%v", err)
		}
	}
	st, err := store.OpenReadOnly(path)
	if errors.Is(err, store.ErrMissing) {
		return unavailable("there is no store at %s; make run makes one", path)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	runs, err := st.Runs()
	if err != nil {
		return err
	}
	chosen := lastQuick(runs)
	if len(chosen) == 0 {
		return unavailable("the store %s has no quick run with a finished trial; make run makes one", path)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "run\tmachine\ttrials\tactive\toutside the work\tlimit\t")
	for _, r := range chosen {
		v, err := judged(st, r.Run.ID)
		if err != nil {
			return err
		}
		fmt.Fprintf(table, "%s (%s)\t%s\t%d of %d\t%s\t%.1f %%\tat most %.0f %%\t%s\n", v.Run.ID, v.Run.State, v.Run.Machine,
			v.Trials.Done, v.Trials.Planned, units.Value(v.Trials.Active, "s"), 100*v.Trials.Overhead, 100*overheadLimit,
			holds(v.Trials.Overhead <= overheadLimit))
	}
	return table.Flush()
}

// lastQuick finds, for each machine, the last quick run that is whole and completed; else the last
// that completed, else the last that did any work. Runs are ordered latest first.
func lastQuick(runs []store.Summary) []store.Summary {
	var chosen []store.Summary
	for _, r := range runs {
		if r.Run.Scale != "quick" || r.Run.Machine == "fake" || r.Done == 0 {
			continue
		}
		i := slices.IndexFunc(chosen, func(s store.Summary) bool { return s.Run.Machine == r.Run.Machine })
		switch {
		case i < 0:
			chosen = append(chosen, r)
		case telling(r) > telling(chosen[i]):
			chosen[i] = r
		}
	}
	return chosen
}

// telling ranks how well a run's share represents that of a quick run.
func telling(s store.Summary) int {
	if s.Run.State != result.Finished {
		return 0
	}
	if st, ok := study.ByName(s.Run.Study); ok {
		scale := st.Scales[s.Run.Scale]
		if s.Planned >= len(scale.Candidates)*scale.Rounds {
			return 2
		}
	}
	return 1
}

func judged(st *store.Store, id string) (verdict.Verdict, error) {
	run, err := st.Run(id)
	if err != nil {
		return verdict.Verdict{}, err
	}
	s, ok := study.ByName(run.Study)
	if !ok {
		return verdict.Verdict{}, unavailable("run %s is of study %s, which is unknown here", run.ID, run.Study)
	}
	trials, err := st.Trials(run.ID)
	if err != nil {
		return verdict.Verdict{}, err
	}
	support, err := st.Support(run.ID)
	if err != nil {
		return verdict.Verdict{}, err
	}
	return verdict.Compute(run, support, trials, s, verdict.Beside{})
}
