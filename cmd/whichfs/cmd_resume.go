package main

import (
	"fmt"

	"whichfs/internal/app"
)

type resumeCmd struct {
	RunID   string   `complete:"run" arg:"" name:"run" optional:"" default:"last" help:"The run, or the start of its name."`
	Rounds  int      `help:"Continue to a total of N rounds." placeholder:"N"`
	Destroy []string `sep:"none" help:"As for run; must be given again. For a medium in a reader, the ID changes with its contents." placeholder:"ID"`
	Risk    bool     `name:"risk-this-kernel" help:"As for run; must be given again."`
	workFlag
	agentFlag

	outputs `group:"Output"`
}

func (c *resumeCmd) Run(a *shell) error {
	if err := c.outputs.check(); err != nil {
		return err
	}
	a.AgentPath = c.AgentPath
	job, run, err := a.Resume(c.RunID, c.Rounds, app.Permission{Destroy: c.Destroy, Risk: c.Risk, Work: c.Work})
	if err != nil {
		return err
	}
	defer job.Close()
	if len(job.Runs) == 0 {
		a.note(fmt.Sprintf("Run %s is finished; --rounds N adds to its %d rounds.", run.ID, run.Rounds))
		return a.present(job.Store, run.ID, c.outputs, false)
	}
	return a.carry(job, c.outputs)
}
