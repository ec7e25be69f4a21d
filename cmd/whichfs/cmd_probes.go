package main

import (
	"errors"
	"fmt"
	"text/tabwriter"

	"whichfs/internal/result"
	"whichfs/internal/result/store"
)

type probesCmd struct {
	ID     string `complete:"probe" arg:"" name:"probe" optional:"" help:"Show this probe again: its name, the start of its name, or last."`
	Delete string `complete:"probe" help:"Delete this probe." placeholder:"PROBE"`

	pages `group:"Output"`
}

func (c *probesCmd) Run(a *shell) error {
	if c.ID == "" && c.files().any() {
		return result.Refuse("for instance whichfs probes last --json -", "--html and --json need the name of a probe")
	}
	if c.Delete != "" {
		return c.remove(a)
	}
	if err := c.files().check(); err != nil {
		return err
	}
	st, err := a.ReadStore()
	if errors.Is(err, store.ErrMissing) && c.ID == "" {
		return noProbes(a)
	}
	if err != nil {
		return err
	}
	defer st.Close() //nolint:errcheck // read only
	if c.ID != "" {
		id, r, err := st.Probe(c.ID)
		if err != nil {
			return err
		}
		return a.showProbe(r, id, c.pages)
	}
	list, err := st.Probes()
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return noProbes(a)
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PROBE\tSTORAGE\tIDENTITY\tMACHINE\tWROTE\tSTARTED")
	for _, p := range list {
		wrote := "no"
		if p.Wrote {
			wrote = "yes"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", p.ID, p.Storage, p.Identity, p.Machine, wrote, p.Started.Local().Format("2006-01-02 15:04"))
	}
	return w.Flush()
}

func noProbes(a *shell) error {
	_, err := fmt.Fprintln(a.stdout, "no probes yet; whichfs probe /dev/NAME makes one and only reads")
	return err
}

func (c *probesCmd) remove(a *shell) error {
	id, err := a.DeleteProbe(c.Delete)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.stdout, "deleted", id)
	return err
}
