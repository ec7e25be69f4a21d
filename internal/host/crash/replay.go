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

// minimise has the findings reduced to what they need. After an error, or too many deaths, the
// others stay as they are, and their Whole says so.
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
		l.say(1, "%s: minimising finding %d of %d", f.Script.Name, i+1, len(list))
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

// smaller has one finding minimised. A finding that crashes a guest stays as it is; an error means
// that there can be no further guest.
func (l *looker) smaller(ctx context.Context, f finding.Finding) (finding.Finding, error) {
	order := l.run.order.Explore
	order.Minimise = true
	small, err := again(ctx, l.keeper, order, f)
	var gone *machine.Gone
	switch {
	case errors.As(err, &gone):
		f.Whole = "the guest ended while it was being minimised: " + gone.Error()
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

// again has the one state of a finding judged.
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
		return f, errors.New("the agent judged the finding without reporting a result")
	}
	return *now, nil
}

// Replay judges the state of a finding again: the same finding comes back with the present result,
// which may be that all is well. A guest that crashes is an outcome and not an error. patience is
// in seconds; 0: the agent's default.
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
