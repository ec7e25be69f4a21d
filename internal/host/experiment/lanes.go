package experiment

import (
	"context"
	"errors"
	"slices"
	"sync"

	"whichfs/internal/filesystem"
	"whichfs/internal/plan"
	"whichfs/internal/result"
)

// inLanes carries out several slots in parallel, in several guests: where figures repeat, no guest is
// affected by other work of the host, and where no time is measured, it does not
// matter. Trials are stored in the order in which they end.
func (e *Experiment) inLanes(ctx context.Context, rest []plan.Slot, later int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var one sync.Mutex // of everything that lanes share
	total := e.number + len(rest) + later*len(rest)
	groups := groups(e.Plan, rest)
	take := func() []plan.Slot {
		one.Lock()
		defer one.Unlock()
		if len(groups) == 0 {
			return nil
		}
		next := groups[0]
		groups = groups[1:]
		return next
	}
	begin := func() (number int, err error) {
		one.Lock()
		defer one.Unlock()
		switch {
		case ctx.Err() != nil:
			return 0, context.Cause(ctx)
		case e.Plan.Budget > 0 && e.Now().Sub(e.begun) >= e.Plan.Budget:
			return 0, ErrBudget
		}
		e.number++
		return e.number, nil
	}
	e.closeSession() // it only served to find out what can run
	lanes := make([]*Experiment, min(e.Lanes, len(groups)))
	for i := range lanes {
		lanes[i] = e.lane(&one)
	}
	errs := make([]error, len(lanes))
	var under sync.WaitGroup
	for i, lane := range lanes {
		under.Add(1)
		go func() {
			defer under.Done()
			if errs[i] = lane.carry(ctx, take, begin, total); errs[i] != nil {
				cancel(errs[i])
			}
		}()
	}
	under.Wait()
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) { // the cause, not the lanes that it stopped
			return err
		}
	}
	return errors.Join(errs...)
}

// groups are trials that share a guest. Where figures repeat, anything that a trial
// leaves in a kernel affects the figures, so each has a guest of its own. The exceptions are the
// points of a curve and faults of the medium, which follow their candidate's reference trial in the
// order of the plan: a curve does not need a precision of a thousandth, and a constant influence
// repeats. The longest come first, so that lanes end together.
func groups(p plan.Plan, slots []plan.Slot) [][]plan.Slot {
	type key struct {
		round     int
		candidate filesystem.Candidate
	}
	shared := map[key]int{}
	var groups [][]plan.Slot
	for _, s := range slots {
		k, own := key{s.Round, s.Candidate}, s.Variant != "" && place(p, s.Variant) == 0
		if at, there := shared[k]; there && !own {
			groups[at] = append(groups[at], s)
			continue
		}
		if !own {
			shared[k] = len(groups)
		}
		groups = append(groups, []plan.Slot{s})
	}
	for _, g := range groups {
		slices.SortStableFunc(g, func(a, b plan.Slot) int { return place(p, a.Variant) - place(p, b.Variant) })
	}
	slices.SortStableFunc(groups, func(a, b []plan.Slot) int { return len(b) - len(a) })
	return groups
}

// place is the position of a curve's level or a fault of the medium in the plan, from 1; 0 for
// every other trial.
func place(p plan.Plan, variant string) int {
	n := 0
	for _, f := range p.Factors {
		if f.Axis == "" && !f.Medium {
			continue
		}
		for _, v := range f.Levels {
			if n++; v.Name == variant {
				return n
			}
		}
	}
	return 0
}

// lane is an experiment that shares plan, store and observer with this one, and
// has a guest of its own.
func (e *Experiment) lane(one *sync.Mutex) *Experiment {
	l := *e
	l.session = nil
	l.Store = orderly{e.Store, one}
	l.Observer = Observer{
		Trial: func(t result.Trial, number, total int) {
			one.Lock()
			defer one.Unlock()
			if e.Observer.Trial != nil {
				e.Observer.Trial(t, number, total)
			}
		},
		Ended: func(t result.Trial) {
			one.Lock()
			defer one.Unlock()
			if e.Observer.Ended != nil {
				e.Observer.Ended(t)
			}
		},
		Note: func(text string) {
			one.Lock()
			defer one.Unlock()
			e.note("%s", text)
		},
	} // interleaved phases and starts of several guests would only confuse
	return &l
}

func (e *Experiment) carry(ctx context.Context, take func() []plan.Slot, begin func() (int, error), total int) error {
	defer e.closeSession()
	for {
		group := take()
		if group == nil {
			return nil
		}
		e.closeSession()
		for _, slot := range group {
			number, err := begin()
			if err != nil {
				return err
			}
			if err := e.trial(ctx, slot, number, total); err != nil {
				return err
			}
		}
	}
}

// orderly serialises access to a store.
type orderly struct {
	Store
	one *sync.Mutex
}

func (o orderly) BeginTrial(run string, t result.Trial) (int64, error) {
	o.one.Lock()
	defer o.one.Unlock()
	return o.Store.BeginTrial(run, t)
}

func (o orderly) FinishTrial(t result.Trial) error {
	o.one.Lock()
	defer o.one.Unlock()
	return o.Store.FinishTrial(t)
}

func (o orderly) UpdateRun(r result.Run) error {
	o.one.Lock()
	defer o.one.Unlock()
	return o.Store.UpdateRun(r)
}
