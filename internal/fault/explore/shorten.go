package explore

import (
	"context"
	"errors"
	"slices"

	"whichfs/internal/fault/script"
	"whichfs/internal/fault/states"
	"whichfs/internal/result"
	"whichfs/internal/wire"
)

// shorter is a recording of a shorter script whose states show the same.
type shorter struct {
	rec   Recording
	group *group
}

// statesOfShorter is how many states of a shorter script are looked at.
const statesOfShorter = 100

// shorten leaves operations out of a finding's script, from its end and then
// singly, as long as a state of what is recorded then shows the same; nil where
// none can be. why says what was not tried.
func (e *explorer) shorten(ctx context.Context, g *group, r Recording) (found *shorter, why string, err error) {
	if r.Script.Program != "" {
		return nil, "the script is a program, of which nothing can be left out", nil
	}
	ops := r.Script.Ops
	// What had not begun is not needed.
	if began := g.job.request.began; began < len(ops) && began > 0 {
		ops = ops[:began]
	}
	recordings := 0
	try := func(fewer []script.Op) (bool, error) {
		if recordings++; recordings > mostRecordings {
			return false, errEnough
		}
		s := r.Script
		s.Ops = fewer
		one, err := e.showing(ctx, s, g)
		if one != nil {
			found = one
		}
		return one != nil, err
	}
	if len(ops) < len(r.Script.Ops) {
		if ok, e := try(ops); e != nil || !ok {
			ops, err = r.Script.Ops, e
		}
	}
	if err == nil {
		_, err = fewestOps(ops, try)
	}
	var f *result.Failure
	switch {
	case errors.Is(err, errEnough):
		return found, "operations were left out until " + err.Error(), nil
	case errors.As(err, &f) && f.Outcome == result.Unsupported:
		return found, "no operation was left out: " + f.Error(), nil
	}
	return found, "", err
}

// fewestOps leaves out operations as long as the rest shows the same.
func fewestOps(ops []script.Op, shows func([]script.Op) (bool, error)) ([]script.Op, error) {
	for len(ops) > 1 {
		ok, err := shows(ops[:len(ops)-1])
		if err != nil {
			return ops, err
		}
		if !ok {
			break
		}
		ops = ops[:len(ops)-1]
	}
	// That the last one is needed is known by now.
	for i := len(ops) - 2; i >= 0; i-- {
		fewer := slices.Delete(slices.Clone(ops), i, i+1)
		ok, err := shows(fewer)
		if err != nil {
			return ops, err
		}
		if ok {
			ops = fewer
		}
	}
	return ops, nil
}

// showing records a script and looks for a state that shows what the group is
// about; nil: there is none among those that were looked at, or the script does
// not run.
func (e *explorer) showing(ctx context.Context, s script.Script, g *group) (*shorter, error) {
	r, err := e.record(ctx, s)
	if err != nil {
		var not *notDone
		if errors.As(err, &not) && context.Cause(ctx) == nil {
			return nil, nil //nolint:nilerr // an operation needs one that was left out
		}
		return nil, err
	}
	p, err := e.newPool(ctx, 0, r)
	if err != nil {
		return nil, err
	}
	p.host = Host{}
	if told := e.host.Looking; told != nil {
		// What is looked at belongs to the finding.
		p.host.Looking = func(wire.Looking) error { return told(wire.Looking{State: g.job.number}) }
	}
	p.after, p.skip, p.every = 0, nil, 0
	p.options = states.Options{Seed: e.order.States.Seed, Most: statesOfShorter}
	p.until = g.key
	_, all, err := p.run(1) // the first one of several at a time would not always be the same
	if err != nil {
		return nil, err
	}
	if one := all[g.key]; one != nil {
		return &shorter{rec: r, group: one}, nil
	}
	return nil, nil
}
