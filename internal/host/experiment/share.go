package experiment

import (
	"context"
	"slices"

	"whichfs/internal/plan"
	"whichfs/internal/result"
)

// Several machines can carry out one run. Where figures repeat, they are the same on each, and so any
// machine can have any trial. The wall clock is another on each machine: all trials of a round are one
// machine's, so that candidates are compared within it.

// Shares are the parts of a plan's trials that different machines may carry out.
func Shares(p plan.Plan, slots []plan.Slot) [][]plan.Slot {
	if p.Repeats() || p.Untimed {
		return groups(p, slots)
	}
	var rounds [][]plan.Slot
	for i, s := range slots {
		if i == 0 || s.Round != slots[i-1].Round {
			rounds = append(rounds, nil)
		}
		last := len(rounds) - 1
		rounds[last] = append(rounds[last], s)
	}
	return rounds
}

// Join finds out which candidates can run on this machine, and requires the run's conditions of it.
func (e *Experiment) Join(ctx context.Context) (supported map[string]bool, err error) {
	e.start()
	defer e.closeSession()
	if supported, err = e.support(ctx); err != nil {
		return nil, err
	}
	return supported, e.guests(ctx)
}

// Do carries out one of the Shares, or the rest of it, after Join.
func (e *Experiment) Do(ctx context.Context, slots []plan.Slot) error {
	e.start()
	defer e.closeSession()
	for i, slot := range slots {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := e.trial(ctx, slot, i+1, len(slots)); err != nil {
			return err
		}
	}
	return nil
}

// own names conditions of this machine that are others on the first machine of a run, where they may
// differ: "guest memory [rack2]". Kernels may not.
func (e *Experiment) own(fresh []result.Condition) []result.Condition {
	if e.Worker == "" || e.Plan.Repeats() {
		return fresh
	}
	values := map[key]string{}
	for _, c := range e.Run.Conditions {
		values[key{c.Group, c.Name}] = c.Value
	}
	out := slices.Clone(fresh)
	for i, c := range out {
		value, there := values[key{c.Group, c.Name}]
		if c.Group == "machine" && c.Name != "kernel" && there && value != c.Value {
			out[i].Name = result.Named(c.Name, e.Worker)
		}
	}
	return out
}
