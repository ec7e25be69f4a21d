package main

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	"whichfs/internal/experiment"
	"whichfs/internal/machine"
	"whichfs/internal/plan"
	"whichfs/internal/result"
	"whichfs/internal/result/store"
	"whichfs/internal/verdict"
)

var _ experiment.Store = (*store.Store)(nil)

// specOf is what a plan's sessions need.
func specOf(p plan.Plan, destroy, work string, risk bool) machine.Spec {
	return machine.Spec{Storage: p.Storage, Destroy: destroy, Damages: p.ReadWrite.Damages() || p.ReadOnly.Damages(), RiskKernel: risk, Data: p.Data, Work: work, Memory: p.Memory, Arch: p.Arch, Instructions: p.Instructions(), Untimed: p.Untimed, Modules: p.Modules}
}

// ending is how the carrying out of a run ended, where it did not fail.
type ending int

const (
	finished ending = iota + 1
	spent           // the budget is
	stopped         // by the user
)

// carry runs what remains of a run and shows it as it goes.
func (a *app) carry(st *store.Store, run result.Run, p plan.Plan, m machine.Machine, destroy, work string, risk bool) (ending, error) {
	work, err := workDir(work)
	if err != nil {
		return 0, err
	}
	evidence, err := a.evidence(run.ID)
	if err != nil {
		return 0, err
	}
	run.State = result.Running
	show := newProgress(a, run, p)
	e := &experiment.Experiment{
		Run: run, Plan: p, Machine: m, Store: st, Observer: show.observer(), Known: probeCondition(st, p.Storage),
		Spec: specOf(p, destroy, work, risk), Look: look(run, p), Lanes: lanes(p),
		Evidence: evidence,
	}
	ctx, cancel := show.start(a.ctx)
	err = e.Carry(ctx)
	cancel()
	show.stop()
	switch {
	case errors.Is(err, experiment.ErrBudget):
		a.note(fmt.Sprintf("The budget of %s is spent; whichfs resume %s goes on.", p.Budget, run.ID))
		return spent, nil
	case a.ctx.Err() != nil || errors.Is(err, errInterrupted):
		return stopped, nil
	case err != nil:
		return 0, cutShort(st, run, p, err)
	}
	return finished, nil
}

// lanes is how many guests may work at the same time: two, where that shows in
// no figure and this host has the processors.
func lanes(p plan.Plan) int {
	if (p.Instructions() || p.Untimed) && p.Machine == "lab" {
		return min(2, runtime.NumCPU())
	}
	return 1
}

// carryAll carries out one run, or the runs of a series one after the other,
// and reports. The runs and their plans belong together by their place.
func (a *app) carryAll(st *store.Store, runs []result.Run, plans []plan.Plan, m machine.Machine, destroy, work string, risk bool, out outputs) error {
	shown := inFull
	if out.toStdout() {
		shown = nothing // it would be mixed with the figures
	}
	end := finished
	var failed error
	for i, run := range runs {
		if len(runs) > 1 {
			a.note(fmt.Sprintf("── %s (%d of %d): run %s", run.Storage, i+1, len(runs), run.ID))
		}
		one, err := a.carry(st, run, plans[i], m, destroy, work, risk)
		switch {
		case err != nil && len(runs) == 1:
			return err
		case err != nil: // other storage may be better off
			failed = err
			a.note(fmt.Sprintf("run %s on %s ended early: %v", run.ID, run.Storage, err))
		case one != finished:
			end = one
		}
		if end == stopped {
			break
		}
	}
	code, err := a.reportSeries(st, runs, out, shown)
	switch {
	case end == stopped:
		return &problem{code: exitInterrupted, Failure: result.Failure{Reason: "interrupted; every finished trial is stored",
			Hint: "whichfs resume " + runs[0].ID + " goes on where it stopped"}}
	case failed != nil:
		return failed
	case err != nil:
		return err
	case code != exitOK && end != spent:
		return &problem{code: code}
	}
	return nil
}

// look is how a run decides after each round what further rounds are for; nil
// where it has all of them anyway.
func look(run result.Run, p plan.Plan) func([]result.Trial) (experiment.Decision, error) {
	if p.Until != plan.UntilSettled {
		return nil
	}
	said := ""
	return func(trials []result.Trial) (experiment.Decision, error) {
		st, err := studyOf(run)
		if err != nil {
			return experiment.Decision{}, err
		}
		s := verdict.Settle(run, trials, st, p.Questions, p.Rounds)
		d := experiment.Decision{Done: s.Done, Dropped: slices.Sorted(maps.Keys(s.Dropped))}
		if text := settlingText(s); text != said {
			d.Says, said = text, text
		}
		return d, nil
	}
}

// settlingText is one line about how far the questions of a run are answered.
func settlingText(s verdict.Settling) string {
	var open []string
	for _, q := range s.Questions {
		if !q.Settled {
			open = append(open, q.Name)
		}
	}
	if len(open) == 0 {
		return fmt.Sprintf("after round %d: settled", s.Look)
	}
	text := fmt.Sprintf("after round %d: not settled yet: %s", s.Look, strings.Join(open, ", "))
	if len(s.Dropped) > 0 {
		text += "; left out from now on: " + strings.Join(slices.Sorted(maps.Keys(s.Dropped)), ", ")
	}
	return text
}

// cutShort says what is left of a run that err ended. A run that never began
// is not kept: there is nothing in it to report or to resume.
func cutShort(st *store.Store, run result.Run, planned plan.Plan, err error) error {
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
		finished, len(plan.Trials(planned)), run.ID, run.ID)
	return &p
}

func (a *app) storePath() (string, error) {
	if a.cli.Store != "" {
		return a.cli.Store, nil
	}
	return store.DefaultPath()
}

// holdRuns marks runs of the store as ours to carry out.
func (a *app) holdRuns(runs []result.Run) (release func(), err error) {
	path, err := a.storePath()
	if err != nil {
		return nil, err
	}
	var held []func()
	release = func() {
		for _, let := range held {
			let()
		}
	}
	for _, r := range runs {
		let, err := holdRun(path, r.ID)
		if err != nil {
			release()
			return nil, err
		}
		held = append(held, let)
	}
	return release, nil
}

func (a *app) openStore() (*store.Store, error) {
	path, err := a.storePath()
	if err != nil {
		return nil, err
	}
	return store.Open(path)
}
