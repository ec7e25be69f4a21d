package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"

	"whichfs/internal/host/lab"
	"whichfs/internal/judge/verdict"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
	"whichfs/internal/result/store"
	"whichfs/internal/sys/command"
)

// Simulated cards are compared with the published figures of the cards that they model.

// twinStudy is the study with the figures. A table's order should agree with the published one, by
// Kendall's tau-b, and figures that the card determines should be within a factor of the published
// ones.
const (
	twinStudy  = "pandora-2012"
	twinTau    = 0.8
	twinFactor = 1.5
)

// twins reads the last complete series of the study in the store; without one it makes a short
// series, of one round and without factors, in its own store.
func twins(ctx context.Context, c Config, out io.Writer) (err error) {
	path := c.Store
	if path == "" {
		if path, err = store.DefaultPath(); err != nil {
			return unavailable("%v", err)
		}
	}
	v, found, err := lastSeries(path, twinStudy)
	if err != nil {
		return err
	}
	if !found {
		dir, release, err := workspace("")
		if err != nil {
			return err
		}
		defer release() //nolint:errcheck // the next one sweeps
		path = filepath.Join(dir, "results.db")
		failed := shortSeries(ctx, c, path)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		// One round settles nothing, as the program's exit status says.
		if v, found, err = lastSeries(path, twinStudy); err != nil || !found {
			return errors.Join(failed, err)
		}
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "card\ttest\ttau-b\tratio in the median\twithin ×1.5\tdecided by\t")
	for _, t := range v.Numbers.Tables {
		tau, by := "–", "processor too"
		if t.Tau.Has {
			tau = fmt.Sprintf("%.2f", t.Tau.Value)
		}
		if t.Card {
			by = "card"
		}
		ratio := "–"
		if t.Median.N > 0 {
			ratio = fmt.Sprintf("%.2f", t.Median.Value)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d of %d\t%s\t\n", t.Storage, t.Name, tau, ratio, t.Within, t.Median.N, by)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	l := v.Numbers.Card
	fmt.Fprintf(out, "series %s, %s; what the card decides: median tau-b %.2f over %d tables (at least %g: %s), median ratio %.2f (within ×%g: %s), %d of %d figures within ×%g\n",
		v.Name, v.Scale, l.Tau, l.Tables, twinTau, holds(l.Tau >= twinTau),
		l.Ratio, twinFactor, holds(l.Ratio <= twinFactor && l.Ratio >= 1/twinFactor), l.Within, l.Cells, verdict.Near)
	return nil
}

// lastSeries joins the verdicts of the last series of a study in which all runs completed.
func lastSeries(path, name string) (v verdict.SeriesVerdict, found bool, err error) {
	st, err := store.OpenReadOnly(path)
	if errors.Is(err, store.ErrMissing) {
		return v, false, nil
	}
	if err != nil {
		return v, false, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	runs, err := st.Runs()
	if err != nil {
		return v, false, err
	}
	s, ok := study.ByName(name)
	if !ok {
		return v, false, fmt.Errorf("there is no study %s", name)
	}
	series := wholeSeries(runs, name, len(s.Storages))
	if len(series) == 0 {
		return v, false, nil
	}
	var all []verdict.Verdict
	for _, id := range series {
		one, err := judged(st, id)
		if err != nil {
			return v, false, err
		}
		all = append(all, one)
	}
	return verdict.Series(all[0].Run.Series, all, s), true, nil
}

// wholeSeries returns the runs of the last series of a study with as many finished lab runs as the
// study has storages. Runs are ordered latest first.
func wholeSeries(runs []store.Summary, name string, storages int) []string {
	finished := map[string][]string{}
	for _, r := range runs {
		if r.Run.Study != name || r.Run.Series == "" || r.Run.Machine != "lab" || r.Run.State != result.Finished {
			continue
		}
		of := append([]string{r.Run.ID}, finished[r.Run.Series]...)
		if finished[r.Run.Series] = of; len(of) == storages {
			return of
		}
	}
	return nil
}

// shortSeries runs a series of one round, without factors, into the store at path.
func shortSeries(ctx context.Context, c Config, path string) error {
	if err := lab.Missing(lab.Native()); err != nil {
		return unavailable("%v", err)
	}
	program := filepath.Join(c.Bin, "whichfs")
	if _, err := os.Stat(program); err != nil {
		return unavailable("%s is not there; make build makes it", program)
	}
	_, err := command.Run(ctx, command.Options{}, program, "run", twinStudy, "--rounds", "1", "--no-factors", "--store", path)
	return err
}
