package main

import (
	"errors"
	"fmt"

	"whichfs/internal/experiment"
	"whichfs/internal/machine"
	"whichfs/internal/plan"
	"whichfs/internal/result"
	"whichfs/internal/result/store"
)

var _ experiment.Store = (*store.Store)(nil)

// carry runs what remains of a run, shows it as it goes, and reports.
func (a *app) carry(st *store.Store, run result.Run, p plan.Plan, m machine.Machine, destroy, work string, out outputs) error {
	work, err := workDir(work)
	if err != nil {
		return err
	}
	show := newProgress(a, run)
	e := &experiment.Experiment{
		Run: run, Plan: p, Machine: m, Store: st, Observer: show.observer(), Known: probeCondition(st, p.Storage),
		Spec: machine.Spec{Storage: p.Storage, Destroy: destroy, Data: p.Data, Work: work, Instructions: p.Counts()},
	}
	ctx, cancel := show.start(a.ctx)
	err = e.Carry(ctx)
	cancel()
	show.stop()
	shown := inFull
	if out.toStdout() {
		shown = nothing // it would be mixed with the figures
	}
	stopped := a.ctx.Err() != nil || errors.Is(err, errInterrupted)
	switch {
	case errors.Is(err, experiment.ErrBudget):
		a.note(fmt.Sprintf("The budget of %s is spent; whichfs resume %s goes on.", p.Budget, run.ID))
	case stopped:
	case err != nil:
		return cutShort(st, run, err)
	}
	code, rerr := a.reportRun(st, run.ID, out, shown)
	if stopped {
		return &problem{code: exitInterrupted, text: "interrupted; every finished trial is stored",
			hint: "whichfs resume " + run.ID + " goes on where it stopped"}
	}
	if rerr != nil {
		return rerr
	}
	if code != exitOK && !errors.Is(err, experiment.ErrBudget) {
		return &problem{code: code}
	}
	return nil
}

// cutShort says what is left of a run that err ended. A run that never began
// is not kept: there is nothing in it to report or to resume.
func cutShort(st *store.Store, run result.Run, err error) error {
	trials, terr := st.Trials(run.ID)
	if terr != nil {
		return err // the store's own trouble, and it says what to do
	}
	finished := 0
	for _, t := range trials {
		if t.Outcome.Valid() && t.Outcome != result.LabFailed {
			finished++
		}
	}
	if len(trials) == 0 {
		_ = st.DeleteRun(run.ID)
		return err
	}
	p := *explain(err)
	p.more = fmt.Sprintf("what was finished is stored (%d of %d trials): whichfs report %s shows it, whichfs resume %s goes on",
		finished, run.Rounds*len(run.Candidates), run.ID, run.ID)
	return &p
}

func (a *app) storePath() (string, error) {
	if a.cli.Store != "" {
		return a.cli.Store, nil
	}
	return store.DefaultPath()
}

// holdRun marks a run of the store as ours to carry out.
func (a *app) holdRun(id string) (release func(), err error) {
	path, err := a.storePath()
	if err != nil {
		return nil, err
	}
	return holdRun(path, id)
}

func (a *app) openStore() (*store.Store, error) {
	path, err := a.storePath()
	if err != nil {
		return nil, err
	}
	return store.Open(path)
}
