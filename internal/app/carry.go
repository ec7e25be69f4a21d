package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"whichfs/internal/host/experiment"
	"whichfs/internal/judge/verdict"
	"whichfs/internal/plan"
	"whichfs/internal/result"
	"whichfs/internal/result/store"
)

var _ experiment.Store = (*store.Store)(nil)

// Ending says how a run ended, if it did not fail.
type Ending int

const (
	Finished Ending = iota + 1
	Spent           // the budget ran out
	Stopped         // by the user
	Left            // to the fleet, by the user
)

// Carry carries out the rest of the job's run at an index. watch observes each trial; the run stops
// when ctx ends.
func (j *Job) Carry(ctx context.Context, at int, watch experiment.Observer) (Ending, error) {
	run, p, may := j.Runs[at], j.Plans[at], j.may
	if p.Fleet {
		return j.follow(ctx, run, p, watch)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(j.cancelled, stop)()
	var err error
	if may.Work, err = workDir(p.Machine, may.Work); err != nil {
		return 0, err
	}
	evidence, err := j.app.Evidence(run.ID)
	if err != nil {
		return 0, err
	}
	j.probeForClaims(ctx, run, p)
	run.State = result.Running
	e := &experiment.Experiment{
		Run: run, Plan: p, Machine: j.machines[p.Machine], Store: j.Store, Observer: watch, Known: probeCondition(j.Store, p.Storage),
		Spec: specOf(p, may, at), Look: look(run, p), Lanes: Lanes(p), Evidence: evidence,
	}
	switch err := e.Carry(ctx); {
	case errors.Is(err, experiment.ErrBudget):
		j.app.Note(fmt.Sprintf("The budget of %s is spent; whichfs resume %s continues.", p.Budget, run.ID))
		return Spent, nil
	case err != nil && ctx.Err() != nil:
		return Stopped, nil
	case err != nil:
		return 0, cutShort(j.Store, run, p, err)
	}
	return Finished, nil
}

// look decides after each round which questions need further rounds; nil if
// every round takes place anyway.
func look(run result.Run, p plan.Plan) func([]result.Trial) (experiment.Decision, error) {
	if p.Until != plan.UntilSettled {
		return nil
	}
	said := ""
	return func(trials []result.Trial) (experiment.Decision, error) {
		st, err := StudyOf(run)
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

// settlingText is one line on how far the questions of a run are settled.
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
		text += "; dropped from now on: " + strings.Join(slices.Sorted(maps.Keys(s.Dropped)), ", ")
	}
	return text
}

// cutShort reports what is left of a run that err ended. A run that never began is deleted: it has
// nothing to report or resume.
func cutShort(st *store.Store, run result.Run, planned plan.Plan, err error) error {
	trials, terr := st.Trials(run.ID)
	if terr != nil {
		return err // a failure of the store, which says what to do
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
	return result.Also(err, fmt.Sprintf("finished trials are stored (%d of %d): whichfs report %s shows it, whichfs resume %s continues",
		finished, len(plan.Trials(planned)), run.ID, run.ID))
}

// hold marks runs of the store as being carried out by this process. cancel, which may be nil, is called
// when somebody cancels one of them.
func hold(st *store.Store, runs []result.Run, cancel func()) (release func(), err error) {
	var held []func()
	release = func() {
		for _, let := range held {
			let()
		}
	}
	for _, r := range runs {
		let, err := st.Hold(r.ID, cancel)
		if err != nil {
			release()
			return nil, err
		}
		held = append(held, let)
	}
	return release, nil
}
