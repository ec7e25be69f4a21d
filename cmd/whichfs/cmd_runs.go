package main

import (
	"errors"
	"fmt"
	"text/tabwriter"

	"whichfs/internal/result/store"
)

type runsCmd struct {
	Delete string `complete:"run" help:"Delete this run with all its figures." placeholder:"RUN"`
}

func (c *runsCmd) Run(a *shell) error {
	if c.Delete != "" {
		return c.remove(a)
	}
	st, err := a.ReadStore()
	if errors.Is(err, store.ErrMissing) {
		return none(a)
	}
	if err != nil {
		return err
	}
	defer st.Close() //nolint:errcheck // read only
	runs, err := st.Runs()
	if err != nil {
		return err
	}
	if len(runs) == 0 {
		return none(a)
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "RUN\tSTUDY\tSCALE\tMACHINE\tSTORAGE\tTRIALS\tSTATE\tSTARTED")
	for _, r := range runs {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d/%d\t%s\t%s\n", r.Run.ID, r.Run.Study, r.Run.Scale, r.Run.Where(), r.Run.Storage,
			r.Done, r.Planned, st.StateOf(r.Run), r.Run.Started.Local().Format("2006-01-02 15:04"))
	}
	return w.Flush()
}

func none(a *shell) error {
	_, err := fmt.Fprintln(a.stdout, "no runs yet; whichfs run bootlin-2023 --quick makes one")
	return err
}

func (c *runsCmd) remove(a *shell) error {
	id, err := a.DeleteRun(c.Delete)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.stdout, "deleted", id)
	return err
}
