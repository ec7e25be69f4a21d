package main

import (
	"errors"
	"fmt"
	"text/tabwriter"

	"whichfs/internal/result"
	"whichfs/internal/result/store"
)

type runsCmd struct {
	Delete string `help:"Delete this run with all its figures." placeholder:"RUN"`
}

func (c *runsCmd) Run(a *app) error {
	path, err := a.storePath()
	if err != nil {
		return err
	}
	if c.Delete != "" {
		return c.remove(a, path)
	}
	st, err := a.readStore()
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
		state := string(r.Run.State)
		if r.Run.State == result.Running && !isHeld(path, r.Run.ID) {
			state = "killed" // nobody said otherwise, and nobody is at it
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d/%d\t%s\t%s\n", r.Run.ID, r.Run.Study, r.Run.Scale, r.Run.Machine, r.Run.Storage,
			r.Done, r.Planned, state, r.Run.Started.Local().Format("2006-01-02 15:04"))
	}
	return w.Flush()
}

func none(a *app) error {
	_, err := fmt.Fprintln(a.stdout, "no runs yet; whichfs run bootlin-2023 --quick makes one")
	return err
}

func (c *runsCmd) remove(a *app, path string) error {
	if err := exists(path); err != nil {
		return err
	}
	st, err := store.Open(path)
	if err != nil {
		return err
	}
	defer st.Close() //nolint:errcheck // every write was synced
	r, err := st.Run(c.Delete)
	if err != nil {
		return err
	}
	release, err := a.holdRuns([]result.Run{r})
	if err != nil {
		return err
	}
	defer release()
	if err := st.DeleteRun(r.ID); err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.stdout, "deleted", r.ID)
	return err
}

// exists keeps commands that need a run from making a store without any.
func exists(path string) error {
	st, err := store.OpenReadOnly(path)
	if errors.Is(err, store.ErrMissing) {
		return err
	}
	if err == nil {
		_ = st.Close()
	}
	return nil // whatever else is wrong, opening it for writing says or mends
}
