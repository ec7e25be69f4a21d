package main

import (
	"fmt"

	"whichfs/internal/machine"
	"whichfs/internal/plan"
	"whichfs/internal/result"
	"whichfs/internal/result/store"
)

type resumeCmd struct {
	RunID   string `arg:"" name:"run" optional:"" default:"last" help:"The run, or the beginning of its name; the last one if not given."`
	Rounds  int    `help:"Go on to this many rounds in all." placeholder:"N"`
	Destroy string `help:"As for run: it is asked for again, and of a medium in a reader by the name that stands for what it holds now." placeholder:"ID"`
	Risk    bool   `name:"risk-this-kernel" help:"As for run: it is asked for again."`
	Work    string `help:"Directory for loop files and lab disks." placeholder:"DIR" type:"existingdir"`

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
	runs, err := seriesOf(st, run)
	if err != nil {
		return err
	}
	release, err := a.holdRuns(runs)
	if err != nil {
		return err
	}
	defer release()
	var rest []result.Run
	var plans []plan.Plan
	for _, r := range runs {
		r, p, more, err := c.goOn(st, r.ID)
		if err != nil {
			return err
		}
		if more {
			rest, plans = append(rest, r), append(plans, p)
		}
	}
	if len(rest) == 0 {
		a.note(fmt.Sprintf("Run %s is finished; --rounds N would add to its %d rounds.", run.ID, run.Rounds))
		return a.present(st, run.ID, c.outputs, false)
	}
	m, err := machineNamed(plans[0].Machine, a.note)
	if err != nil {
		return err
	}
	if early, ok := m.(machine.Checker); ok {
		for _, p := range plans {
			if err := early.Check(specOf(p, c.Destroy, c.Work, c.Risk)); err != nil {
				return err
			}
		}
	}
	return a.carryAll(st, rest, plans, m, c.Destroy, c.Work, c.Risk, c.outputs)
}

// goOn reads a run as it is now that nobody else is at it, with its plan; more
// says whether anything of it is left to do.
func (c *resumeCmd) goOn(st *store.Store, id string) (run result.Run, p plan.Plan, more bool, err error) {
	if run, err = st.Run(id); err != nil {
		return run, p, false, err
	}
	if p, err = plan.Decode(run.Plan); err != nil {
		return run, p, false, fmt.Errorf("run %s: %w", run.ID, err)
	}
	switch {
	case c.Rounds > 0 && c.Rounds < p.Rounds:
		return run, p, false, result.Refuse("", "run %s has %d rounds already planned; --rounds can only add to them", run.ID, p.Rounds)
	case c.Rounds > 0:
		p.Rounds, run.Rounds = c.Rounds, c.Rounds
		if run.Plan, err = p.Encode(); err != nil {
			return run, p, false, err
		}
	case run.State == result.Finished:
		return run, p, false, nil
	}
	for _, d := range p.Data {
		if err := verifyData(d); err != nil {
			return run, p, false, err
		}
	}
	p.Budget = 0 // it was spent; whoever resumes wants the rest
	return run, p, true, nil
}
