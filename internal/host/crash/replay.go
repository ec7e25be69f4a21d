package crash

import (
	"bytes"
	"context"
	"errors"

	"whichfs/internal/fault"
	"whichfs/internal/fault/finding"
	"whichfs/internal/filesystem"
	"whichfs/internal/host/machine"
	"whichfs/internal/target/explore"
	"whichfs/internal/wire"
)

// minimise has what the findings do not need left out of them. After an error, or
// more deaths than are outlived, the others stay as they are and say so.
func (l *looker) minimise(ctx context.Context, list []finding.Finding) error {
	whole := ""
	var ended error
	for i, f := range list {
		switch {
		case f.Outcome == fault.Died || f.Outcome == fault.Hang:
			continue
		case whole != "":
			list[i].Whole = whole
			continue
		}
		l.say(1, "%s: leaving out what finding %d of %d does not need", f.Script.Name, i+1, len(list))
		var err error
		var gone *machine.Gone
		if list[i], err = l.smaller(ctx, f); err == nil {
			continue
		}
		whole = "the exploration ended before: " + err.Error()
		if list[i].Whole == "" {
			list[i].Whole = whole
		}
		if !errors.As(err, &gone) || l.keeper.lasting() {
			ended = err
		}
	}
	return ended
}

// smaller has what a finding does not need left out of it. One that a guest dies
// of stays as it is; an error is that there can be no further guest.
func (l *looker) smaller(ctx context.Context, f finding.Finding) (finding.Finding, error) {
	order := l.run.order.Explore
	order.Minimise = true
	small, err := again(ctx, l.keeper, order, f)
	var gone *machine.Gone
	switch {
	case errors.As(err, &gone):
		f.Whole = "the guest ended while it was being made smaller: " + gone.Error()
		return f, l.budget.died(l.keeper, f.Script.Name, f.Number, gone)
	case err != nil:
		return f, err
	case explore.Key(small) != explore.Key(f):
		f.Whole = "when judged again, the state had another outcome (" + explore.Key(small) + ")"
		return f, nil
	}
	small.Same, small.Seed = f.Same, f.Seed
	return small, nil
}

// again has the one state of a finding looked at.
func again(ctx context.Context, k *keeper, order wire.Explore, f finding.Finding) (finding.Finding, error) {
	e, err := k.explorer(ctx)
	if err != nil {
		return f, err
	}
	var file bytes.Buffer
	if err := f.Encode(&file); err != nil {
		return f, err
	}
	order.Given, order.Scripts, order.Size = "finding", nil, f.Size
	order.RecordOnly, order.Send, order.After, order.Skip = false, false, wire.Looking{}, nil
	var now *finding.Finding
	var bad error
	_, err = e.Explore(ctx, order, map[string][]byte{"finding": file.Bytes()}, machine.ExploreEvents{Found: func(w wire.Found) {
		one, err := finding.Decode(bytes.NewReader(w.File))
		if err != nil {
			bad = err
			return
		}
		now = &one
	}})
	switch {
	case err != nil:
		return f, err
	case bad != nil:
		return f, bad
	case now == nil:
		return f, errors.New("the agent looked at the finding and did not say what it saw")
	}
	return *now, nil
}

// Replay looks at the state of a finding again: the same finding comes back with
// what is seen now, which may be that all is well. A guest that dies of it is an
// outcome and no error. patience is in seconds; 0: the agent's own.
func Replay(ctx context.Context, m machine.Machine, spec machine.Spec, f finding.Finding, patience float64) (finding.Finding, wire.Facts, error) {
	k := &keeper{place: Place{m, spec}}
	now, err := again(ctx, k, wire.Explore{Candidate: filesystem.Kept(f.Candidate), Patience: patience}, f)
	var gone *machine.Gone
	if errors.As(err, &gone) && !k.lasting() {
		now, err = f, nil
		now.Kernel, now.Version = k.facts.Kernel, k.facts.Version
		now.Outcome, now.Messages = outcomeOf(gone), lastWords(gone)
		now.Breaches, now.Check = nil, ""
		_ = k.close() // it is dead
	}
	return now, k.facts, errors.Join(err, k.close())
}
