package main

import "fmt"

type cancelCmd struct {
	RunID string `complete:"run" arg:"" name:"run" help:"The run, or the start of its name."`
}

func (c *cancelCmd) Run(a *shell) error {
	id, err := a.App.Cancel(c.RunID)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "cancelled %s; whichfs resume %s continues\n", id, id)
	return err
}
