package main

import (
	"fmt"

	"whichfs/internal/app"
	"whichfs/internal/result"
)

// carry carries out the runs of a job one after another and reports.
func (a *shell) carry(j *app.Job, out outputs) error {
	shown := atAGlance
	if out.All {
		shown = inFull
	}
	if out.files().toStdout() {
		shown = nothing // it would mix with the figures
	}
	end := app.Finished
	var failed error
	for i, run := range j.Runs {
		on := run.Storage
		if result.ByProcessor(j.Runs) {
			on = run.Processor
		}
		if len(j.Runs) > 1 {
			a.note(fmt.Sprintf("── %s (%d of %d): run %s", on, i+1, len(j.Runs), run.ID))
		}
		one, err := a.carryOne(j, i)
		switch {
		case err != nil && len(j.Runs) == 1:
			return err
		case err != nil: // the other storage may do better
			failed = err
			a.note(fmt.Sprintf("run %s on %s ended early: %v", run.ID, on, err))
		case one != app.Finished:
			end = one
		}
		if end == app.Stopped || end == app.Left {
			break
		}
	}
	if end == app.Left {
		return &problem{code: exitInterrupted, Failure: result.Failure{Reason: "the fleet goes on with run " + j.Runs[0].ID,
			Hint: "whichfs resume " + j.Runs[0].ID + " follows it, whichfs cancel " + j.Runs[0].ID + " ends it"}}
	}
	code, err := a.reportSeries(j.Store, j.Runs, out, shown)
	switch {
	case end == app.Stopped:
		return &problem{code: exitInterrupted, Failure: result.Failure{Reason: "interrupted; every finished trial is stored",
			Hint: "whichfs resume " + j.Runs[0].ID + " continues where it stopped"}}
	case failed != nil:
		return failed
	case err != nil:
		return err
	case code != exitOK && end != app.Spent:
		return &problem{code: code}
	}
	return nil
}

// carryOne carries out one run and shows its progress.
func (a *shell) carryOne(j *app.Job, at int) (app.Ending, error) {
	before, err := app.Earlier(j.Store, j.Runs[at])
	if err != nil {
		return app.Stopped, err
	}
	if before.Run == "" {
		before = app.Guess(j.Plans[at])
	}
	show := newProgress(a, j.Runs[at], j.Plans[at], before)
	ctx, cancel := show.start(a.ctx)
	end, err := j.Carry(ctx, at, show.observer())
	cancel()
	show.stop()
	return end, err
}
