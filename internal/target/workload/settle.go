package workload

import (
	"context"
	"time"

	"whichfs/internal/plan/scenario"
)

// Settle syncs everything and then leaves the filesystem alone for Count seconds, so that its
// background work is done.
var Settle = Kind{Name: "settle", Setup: func(ctx context.Context, env *Env, step scenario.Step) (Job, error) {
	t, err := newTarget(env, scenario.Step{Work: step.Work, Count: step.Count})
	if err != nil {
		return Job{}, err
	}
	return Job{Run: func(*Tally) error {
		if err := t.open(); err != nil {
			return err
		}
		err := t.sync()
		t.close()
		if err != nil {
			return err
		}
		select {
		case <-time.After(time.Duration(copies(step)) * time.Second):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}}, nil
}}
