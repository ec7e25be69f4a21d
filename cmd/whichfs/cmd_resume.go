package main

import (
	"fmt"

	"whichfs/internal/plan"
	"whichfs/internal/result"
)

type resumeCmd struct {
	RunID   string `arg:"" name:"run" optional:"" default:"last" help:"The run, or the beginning of its name; the last one if not given."`
	Rounds  int    `help:"Go on to this many rounds in all." placeholder:"N"`
	Destroy string `help:"As for run: it is asked for again." placeholder:"ID"`
	Work    string `help:"Directory for loop files and lab disks." placeholder:"DIR" type:"path"`

	outputs `group:"Output"`
}

func (c *resumeCmd) Run(a *app) error {
	if err := c.outputs.check(); err != nil {
		return err
	}
	path, err := a.storePath()
	if err != nil {
		return err
	}
	if err := exists(path); err != nil {
		return err
	}
	st, err := a.openStore()
	if err != nil {
		return err
	}
	defer st.Close() //nolint:errcheck // every write was synced
	run, err := st.Run(c.RunID)
	if err != nil {
		return err
	}
	release, err := a.holdRun(run.ID)
	if err != nil {
		return err
	}
	defer release()
	if run, err = st.Run(run.ID); err != nil { // as it is now that nobody else is at it
		return err
	}
	p, err := plan.Decode(run.Plan)
	if err != nil {
		return fmt.Errorf("run %s: %w", run.ID, err)
	}
	if c.Rounds > 0 {
		if c.Rounds < p.Rounds {
			return refuse("", "run %s has %d rounds already planned; --rounds can only add to them", run.ID, p.Rounds)
		}
		p.Rounds, run.Rounds = c.Rounds, c.Rounds
		if run.Plan, err = p.Encode(); err != nil {
			return err
		}
	} else if run.State == result.Finished {
		a.note(fmt.Sprintf("Run %s is finished; --rounds N would add to its %d rounds.", run.ID, run.Rounds))
		return a.present(st, run.ID, c.outputs, false)
	}
	for _, d := range p.Data {
		if err := verifyData(d); err != nil {
			return err
		}
	}
	m, err := machineNamed(p.Machine, a.note)
	if err != nil {
		return err
	}
	p.Budget = 0 // it was spent; whoever resumes wants the rest
	run.State = result.Running
	return a.carry(st, run, p, m, c.Destroy, c.Work, c.outputs)
}
