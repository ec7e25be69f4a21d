package explore

import (
	"context"
	"errors"
	"slices"
	"strings"

	"whichfs/internal/fault/finding"
	"whichfs/internal/fault/script"
	"whichfs/internal/fault/states"
	"whichfs/internal/result"
	"whichfs/internal/wire"
)

// mostTries is how many states may be judged to make one finding smaller, and
// mostRecordings how many shorter scripts may be recorded for it.
const (
	mostTries      = 300
	mostRecordings = 12
)

// errEnough ends an attempt that takes too long.
var errEnough = errors.New("it took too many tries")

// minimise leaves out of a finding what is not needed to show the same: first operations of the
// script, then writes. Whole records what could not be tried.
func (e *explorer) minimise(ctx context.Context, b *bench, g *group, f *finding.Finding) error {
	var whole []string
	short, why, err := e.shorten(ctx, g, Recording{Script: f.Script, Size: f.Size, Base: f.Base, Log: f.Log})
	if err != nil {
		return err
	}
	if why != "" {
		whole = append(whole, why)
	}
	if short != nil {
		p, err := e.newPool(ctx, 0, short.rec)
		if err != nil {
			return err
		}
		b = e.newBench(p, f.Number)
		defer b.close()
		g = &group{key: g.key, promise: g.promise, job: short.group.job, seen: short.group.seen}
		f.Script, f.Base, f.Log = short.rec.Script, short.rec.Base, short.rec.Log
		f.Number = g.job.number
	}
	state, err := fewestWrites(func(point int) []int { return states.Volatile(f.Log, point) }, g.job.state, mostTries, func(s states.State) (bool, error) {
		got, err := b.try(s, g.job.request, false)
		return err == nil && g.shows(got), err
	})
	if errors.Is(err, errEnough) {
		whole, err = append(whole, "writes were left out until "+err.Error()), nil
	}
	if err != nil {
		return err
	}
	last, err := b.try(state, g.job.request, true)
	if err != nil {
		return err
	}
	if !g.shows(last) {
		whole = append(whole, "the smaller state does not always show the same")
		state = g.job.state
		if last, err = b.try(state, g.job.request, true); err != nil {
			return err
		}
	}
	f.State, f.Began, f.Acked = state, g.job.request.began, g.job.request.acked
	g.describe(f, last)
	f.Whole = strings.Join(whole, "; ")
	f.Minimal = f.Whole == ""
	return nil
}

// fewestWrites finds a state of the same point that shows the same with as few writes kept as
// possible, or with as few missing. With errEnough it returns the best so far.
func fewestWrites(volatile func(point int) []int, from states.State, most int, shows func(states.State) (bool, error)) (states.State, error) {
	tries := 0
	try := func(s states.State) (bool, error) {
		if tries++; tries > most {
			return false, errEnough
		}
		return shows(s)
	}
	best := from
	if from.Torn != nil {
		for _, s := range untorn(from) {
			ok, err := try(s)
			if err != nil {
				return best, err
			}
			if ok {
				best = s
				break
			}
		}
	}
	torn := -1
	if best.Torn != nil {
		torn = best.Torn.Entry
	}
	// A torn write that is not among those kept is durable (FUA).
	listed := slices.Contains(best.Kept, torn)
	with := func(kept []int) states.State {
		s := states.State{Point: best.Point, Kept: kept, Torn: best.Torn}
		if listed {
			// The state is about the torn write: it stays.
			s.Kept = slices.Sorted(slices.Values(append(slices.Clone(kept), torn)))
		}
		return s
	}
	free := slices.DeleteFunc(slices.Clone(best.Kept), func(i int) bool { return i == torn })
	kept, err := reduce(free, func(some []int) (bool, error) { return try(with(some)) })
	few := with(kept)
	if err != nil {
		return few, err
	}
	all := slices.DeleteFunc(slices.Clone(volatile(best.Point)), func(i int) bool { return i == torn })
	absent := without(all, free)
	missing, err := reduce(absent, func(some []int) (bool, error) { return try(with(without(all, some))) })
	if err == nil && len(missing) < len(kept) {
		return with(without(all, missing)), nil
	}
	return few, err
}

// untorn returns the same state without the torn write, and with it whole.
func untorn(s states.State) []states.State {
	whole := states.State{Point: s.Point, Kept: slices.Clone(s.Kept)}
	gone := states.State{Point: s.Point, Kept: slices.DeleteFunc(slices.Clone(s.Kept), func(i int) bool { return i == s.Torn.Entry })}
	if len(gone.Kept) == len(whole.Kept) { // a durable one, which came last
		gone.Point = s.Torn.Entry
	}
	return []states.State{gone, whole}
}

// without returns the elements of all that are not in some; both ascend.
func without(all, some []int) []int {
	out := []int{}
	for _, i := range all {
		if _, there := slices.BinarySearch(some, i); !there {
			out = append(out, i)
		}
	}
	return out
}

// reduce finds a part of items that still passes and from which no single item can be left out, by
// delta debugging (A. Zeller, R. Hildebrandt, Simplifying and isolating failure-inducing input,
// 2002). items passes. With an error it returns the best so far.
func reduce(items []int, passes func([]int) (bool, error)) ([]int, error) {
	items = slices.Clone(items)
	if len(items) == 0 {
		return items, nil
	}
	if ok, err := passes(nil); err != nil || ok {
		if ok {
			return nil, err
		}
		return items, err
	}
	for parts := 2; len(items) > 1; {
		smaller := false
		for at := 0; at < parts; at++ {
			low, high := len(items)*at/parts, len(items)*(at+1)/parts
			rest := append(slices.Clone(items[:low]), items[high:]...)
			ok, err := passes(rest)
			if err != nil {
				return items, err
			}
			if ok {
				items, parts, smaller = rest, max(parts-1, 2), true
				break
			}
		}
		if smaller {
			continue
		}
		if parts >= len(items) {
			break
		}
		parts = min(2*parts, len(items))
	}
	return items, nil
}

// shorter is a recording of a shorter script whose states show the same.
type shorter struct {
	rec   Recording
	group *group
}

// statesOfShorter is how many states of a shorter script are judged.
const statesOfShorter = 100

// shorten leaves operations out of a finding's script, first from its end and then one by one, as
// long as a state of the new recording shows the same; nil if none can be left out. why says what
// was not tried.
func (e *explorer) shorten(ctx context.Context, g *group, r Recording) (found *shorter, why string, err error) {
	if r.Script.Program != "" {
		return nil, "the script is a program, which cannot be shortened", nil
	}
	ops := r.Script.Ops
	// Operations that had not begun are not needed.
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
	// The last one is known to be needed.
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

// showing records a script and searches for a state that shows what the group is about; nil if none
// of the judged states does, or the script does not run.
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
		// Judged states count for the finding.
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
