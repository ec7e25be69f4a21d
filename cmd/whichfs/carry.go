package main

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"whichfs/internal/app"
	"whichfs/internal/result"
)

// carry carries out the runs of a job and reports.
func (a *shell) carry(j *app.Job, out outputs) error {
	shown := atAGlance
	if out.All {
		shown = inFull
	}
	if out.files().toStdout() {
		shown = nothing // it would mix with the figures
	}
	all := a.carryEach(j)
	if len(all) == 1 && all[0].err != nil {
		return all[0].err
	}
	end := app.Finished
	var failed error
	for _, one := range all {
		if one.err != nil {
			failed = one.err
		} else if one.end != app.Finished && end != app.Stopped {
			end = one.end
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

// carried is how a run ended.
type carried struct {
	end app.Ending
	err error
}

// carryEach carries out the runs of a job, one after the other, or those on several machines at the same time.
func (a *shell) carryEach(j *app.Job) []carried {
	all := make([]carried, len(j.Runs))
	if result.ByMachine(j.Runs) {
		var lines sync.Mutex
		var over sync.WaitGroup
		for i, run := range j.Runs {
			own := *a
			own.stderr = &labelled{to: a.stderr, label: run.Machine + ": ", turn: &lines}
			own.note("run " + run.ID)
			over.Go(func() { all[i] = own.carryNamed(j, i, "machine "+run.Machine) })
		}
		over.Wait()
		return all
	}
	for i, run := range j.Runs {
		on := run.Storage
		if result.ByProcessor(j.Runs) {
			on = run.Processor
		}
		if len(j.Runs) > 1 {
			a.note(fmt.Sprintf("── %s (%d of %d): run %s", on, i+1, len(j.Runs), run.ID))
		}
		if all[i] = a.carryNamed(j, i, on); all[i].err == nil && (all[i].end == app.Stopped || all[i].end == app.Left) {
			return all[:i+1]
		}
	}
	return all
}

// carryNamed carries out one run. Where it fails, another of the series may do better.
func (a *shell) carryNamed(j *app.Job, i int, on string) carried {
	end, err := a.carryOne(j, i)
	if err != nil && len(j.Runs) > 1 {
		a.note(fmt.Sprintf("run %s on %s ended early: %v", j.Runs[i].ID, on, err))
	}
	return carried{end, err}
}

// labelled puts a label before each line that is written at once.
type labelled struct {
	to    io.Writer
	label string
	turn  *sync.Mutex
}

func (l *labelled) Write(b []byte) (int, error) {
	l.turn.Lock()
	defer l.turn.Unlock()
	var text strings.Builder
	for line := range strings.Lines(string(b)) {
		text.WriteString(l.label + line)
	}
	if _, err := io.WriteString(l.to, text.String()); err != nil {
		return 0, err
	}
	return len(b), nil
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
