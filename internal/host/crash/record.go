package crash

import (
	"context"
	"errors"
	"fmt"

	"whichfs/internal/fault/finding"
	"whichfs/internal/host/machine"
	"whichfs/internal/target/explore"
	"whichfs/internal/wire"
)

// recordAll has all scripts recorded. A script whose recording crashes a guest is left out, and its
// tally says so.
func (r *run) recordAll(ctx context.Context) error {
	b := &budget{left: r.order.Restarts}
	defer func() { r.out.Deaths = append(r.out.Deaths, b.deaths...) }()
	scripts := r.order.Scripts
	r.out.Recordings = make([]explore.Recording, len(scripts))
	r.out.Tallies = make([]finding.Tally, len(scripts))
	for from := 0; from < len(scripts); {
		done, err := r.recordFrom(ctx, from)
		from += done
		var gone *machine.Gone
		if !errors.As(err, &gone) {
			if err != nil {
				return err
			}
			continue
		}
		if from == len(scripts) { // it died after the last one
			return b.died(r.record, "", 0, gone)
		}
		if err := b.died(r.record, scripts[from].Name, 0, gone); err != nil {
			return err
		}
		r.out.Tallies[from] = finding.Tally{Script: scripts[from].Name, Stopped: "the guest ended while it was recorded: " + gone.Error()}
		from++
	}
	return nil
}

// recordFrom records scripts from a given number on, and returns how many it did.
func (r *run) recordFrom(ctx context.Context, from int) (done int, err error) {
	e, err := r.record.explorer(ctx)
	if err != nil {
		return 0, err
	}
	order := r.order.Explore
	order.Scripts, order.RecordOnly, order.Send = r.order.Scripts[from:], true, true
	order.Check, order.Minimise = 0, false
	parts := map[string][]byte{}
	var bad error
	r.say("recording %s", order.Scripts[0].Name)
	out, err := e.Explore(ctx, order, nil, machine.ExploreEvents{Recorded: func(p wire.Recorded) {
		if p.Script > done {
			done = p.Script // those between could not be run
			clear(parts)
		}
		parts[p.Name] = append(parts[p.Name], p.Data...)
		if !p.Last || p.Name != "log" {
			return
		}
		one, err := recording(parts["log"], parts["base"])
		if err != nil {
			bad = errors.Join(bad, fmt.Errorf("script %s: recording: %w", order.Scripts[p.Script].Name, err))
		}
		one.Script = order.Scripts[p.Script]
		r.out.Recordings[from+p.Script], r.out.Tallies[from+p.Script] = one, explore.LogTally(one)
		done = p.Script + 1
		clear(parts)
		if done < len(order.Scripts) {
			r.say("recording %s", order.Scripts[done].Name)
		}
	}})
	if bad != nil {
		return done, bad
	}
	if err != nil {
		return done, err
	}
	for i, t := range out.Scripts {
		if len(r.out.Recordings[from+i].Log.Entries) == 0 {
			r.out.Tallies[from+i] = t
		}
	}
	return len(order.Scripts), nil
}

// say reports progress before any state is judged.
func (r *run) say(format string, args ...any) {
	if r.tell != nil {
		r.tell(wire.Progress{What: fmt.Sprintf(format, args...)})
	}
}
