package main

import (
	"fmt"
	"text/tabwriter"

	"whichfs/internal/result"
)

type runsCmd struct {
	Delete string `help:"Delete this run with all its figures." placeholder:"RUN"`
}

func (c *runsCmd) Run(a *app) error {
	st, err := a.openStore()
	if err != nil {
		return err
	}
	defer st.Close() //nolint:errcheck // every write was synced
	if c.Delete != "" {
		r, err := st.Run(c.Delete)
		if err != nil {
			return err
		}
		if err := st.DeleteRun(r.ID); err != nil {
			return err
		}
		_, err = fmt.Fprintln(a.stdout, "deleted", r.ID)
		return err
	}
	runs, err := st.Runs()
	if err != nil {
		return err
	}
	if len(runs) == 0 {
		_, err := fmt.Fprintln(a.stdout, "no runs yet; whichfs run bootlin-2023 --quick makes one")
		return err
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "RUN\tSTUDY\tSCALE\tMACHINE\tSTORAGE\tTRIALS\tSTATE\tSTARTED")
	for _, r := range runs {
		state := string(r.Run.State)
		if r.Run.State == result.Running {
			state = "unfinished"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d/%d\t%s\t%s\n", r.Run.ID, r.Run.Study, r.Run.Scale, r.Run.Machine, r.Run.Storage,
			r.Done, r.Planned, state, r.Run.Started.Local().Format("2006-01-02 15:04"))
	}
	return w.Flush()
}
