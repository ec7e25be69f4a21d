package experiment

import (
	"context"
	"slices"

	"whichfs/internal/plan"
	"whichfs/internal/result"
)

// Decision is the conclusion from the figures after a round about the rounds to come.
type Decision struct {
	// Done: the question is answered, and no further round is needed.
	Done bool
	// Dropped are the candidates that further rounds leave out, because they
	// can no longer win.
	Dropped []string
	// Says is one line about it for the observer; "" is nothing new.
	Says string
}

// carryRounds carries out all rounds, or as many as are needed.
func (e *Experiment) carryRounds(ctx context.Context, supported map[string]bool) error {
	trials, err := e.Store.Trials(e.Run.ID)
	if err != nil {
		return err
	}
	if e.Look == nil {
		return e.slots(ctx, plan.Trials(e.Plan), trials, supported, 0)
	}
	for round := 1; round <= e.Plan.Rounds; round++ {
		slots, done, err := e.undecided(round, trials)
		if err != nil || done {
			return err
		}
		if err := e.slots(ctx, slots, trials, supported, e.Plan.Rounds-round); err != nil {
			return err
		}
		if trials, err = e.Store.Trials(e.Run.ID); err != nil {
			return err
		}
	}
	return nil
}

// undecided evaluates the rounds before this one and returns what is still worth measuring in it;
// done means that the answer is known.
func (e *Experiment) undecided(round int, trials []result.Trial) (slots []plan.Slot, done bool, err error) {
	slots = plan.Round(e.Plan, round)
	if round == 1 {
		return slots, false, nil
	}
	before := slices.DeleteFunc(slices.Clone(trials), func(t result.Trial) bool { return t.Round >= round })
	d, err := e.Look(before)
	if err != nil {
		return nil, false, err
	}
	if d.Says != "" {
		e.note("%s", d.Says)
	}
	return slices.DeleteFunc(slots, func(s plan.Slot) bool { return slices.Contains(d.Dropped, s.Candidate.String()) }), d.Done, nil
}

// slots carries out those slots that are not among the done trials; up to later more rounds like
// them may follow.
func (e *Experiment) slots(ctx context.Context, slots []plan.Slot, done []result.Trial, supported map[string]bool, later int) error {
	var rest []plan.Slot
	for _, t := range plan.Remaining(slots, done) {
		if supported[t.Candidate.String()] && !(t.Again && e.Plan.KeepDisturbed) {
			rest = append(rest, t)
		}
	}
	if e.Lanes > 1 && (e.Plan.Repeats() || e.Plan.Untimed) && len(rest) > 1 {
		return e.inLanes(ctx, rest, later)
	}
	for i, t := range rest {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if e.Plan.Budget > 0 && e.Now().Sub(e.begun) >= e.Plan.Budget {
			return ErrBudget
		}
		// A guest lives for a round: what trials leave in a kernel (slabs, fragmented memory) then
		// affects every candidate alike, since the order is shuffled, and no round more than
		// another. Where figures repeat even that would show, so each trial has a guest
		// of its own; likewise where no time is measured, since a kernel that has seen faults is no
		// clean start.
		if !lasting(e.Machine) && (e.Plan.Repeats() || e.Plan.Untimed || t.Round != e.round && e.round != 0) {
			e.closeSession()
		}
		e.round = t.Round
		e.number++
		if err := e.trial(ctx, t, e.number, e.number+len(rest)-i-1+later*len(rest)); err != nil {
			return err
		}
	}
	return nil
}
