package crash

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"whichfs/internal/fault"
	"whichfs/internal/fault/explore"
	"whichfs/internal/fault/finding"
	"whichfs/internal/machine"
	"whichfs/internal/wire"
)

// part is the exploration of one recording: what earlier guests found, and what
// the present one has told so far.
type part struct {
	total finding.Tally
	same  map[string]int64 // by explore.Key, of earlier guests
	after int64            // the last state that is in total
	skip  []int64          // states that guests died of

	now     wire.Tallied // of the present guest; State 0: nothing yet
	looking int64        // the state that it was about to mount
	found   map[string]finding.Finding
	bad     error
}

// explore has one recording's states looked at, by as many guests as that takes.
func (r *run) explore(ctx context.Context, index int, one explore.Recording) error {
	given, err := files(one)
	if err != nil {
		return err
	}
	p := &part{same: map[string]int64{}, found: map[string]finding.Finding{}}
	if err := r.guests(ctx, p, index, one, given); err != nil {
		return err
	}
	r.out.Tallies[index] = p.total
	list := make([]finding.Finding, 0, len(p.found))
	for key, f := range p.found {
		f.Same = p.same[key]
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b finding.Finding) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(explore.Key(a), explore.Key(b)))
	})
	for i := range list {
		if r.order.Minimise && list[i].Outcome != fault.Died && list[i].Outcome != fault.Hang {
			r.say(r.share(index, 1), "%s: leaving out what finding %d of %d does not need", one.Script.Name, i+1, len(list))
			if list[i], err = r.minimise(ctx, list[i]); err != nil {
				return err
			}
		}
	}
	r.out.Findings = append(r.out.Findings, list...)
	return nil
}

// guests lets one guest after the other look, until all was looked at or no more
// can be had.
func (r *run) guests(ctx context.Context, p *part, index int, one explore.Recording, given map[string][]byte) error {
	for {
		e, err := r.look.explorer(ctx)
		if err != nil {
			return err
		}
		order := r.order.Explore
		order.Given, order.Scripts, order.Size = "log", nil, one.Size
		if r.order.Given == "" || len(r.order.Scripts) > 0 {
			order.Scripts = append(order.Scripts, one.Script)
		}
		order.RecordOnly, order.Send, order.Minimise = false, false, false
		order.After, order.Skip = wire.Looking{State: p.after}, p.skip
		p.now, p.looking = wire.Tallied{}, 0
		out, err := e.Explore(ctx, order, given, r.events(p, index, one))
		var gone *machine.Gone
		switch {
		case p.bad != nil:
			return p.bad
		case err == nil:
			p.end(out.Scripts[0])
			return nil
		case !errors.As(err, &gone):
			return err
		}
		begun := p.looking
		if err := r.died(r.look, one.Script.Name, begun, gone); err != nil && (r.look.lasting() || begun == 0) {
			return err
		} else if err != nil {
			p.stop(one, err.Error())
		}
		if over := p.outlive(r, one, gone); over || p.total.Stopped != "" {
			return nil
		}
	}
}

// events take in what a guest tells.
func (r *run) events(p *part, index int, one explore.Recording) machine.ExploreEvents {
	return machine.ExploreEvents{
		Looking: func(l wire.Looking) {
			p.looking = l.State
			share := 0.0
			if most := r.order.States.Most; most > 0 {
				share = min(float64(l.State)/float64(most), 1)
			}
			r.say(r.share(index, share), "%s: state %d", one.Script.Name, l.State)
		},
		Tallied: func(t wire.Tallied) { p.now = t },
		Found: func(w wire.Found) {
			f, err := finding.Decode(bytes.NewReader(w.File))
			if err != nil {
				p.bad = errors.Join(p.bad, fmt.Errorf("the agent sent a finding that cannot be: %w", err))
				return
			}
			p.keep(f)
		},
	}
}

// share of the whole, where script index has come so far.
func (r *run) share(index int, of float64) float64 {
	return (float64(index) + of) / float64(len(r.out.Recordings))
}

// keep keeps the finding with the lowest number of those that show the same; of
// the same state the later word counts.
func (p *part) keep(f finding.Finding) {
	key := explore.Key(f)
	if had, ok := p.found[key]; !ok || f.Number <= had.Number {
		p.found[key] = f
	}
}

// add takes what a guest has told into the sum.
func (p *part) add(t finding.Tally) {
	sum := p.total
	sum.Add(t)
	sum.Script, sum.Entries, sum.Writes, sum.Flushes, sum.Possible = t.Script, t.Entries, t.Writes, t.Flushes, t.Possible
	sum.All, sum.Stopped = t.All, t.Stopped
	p.total = sum
	for key, n := range p.now.Same {
		p.same[key] += n
	}
}

// end takes in the final word of a guest.
func (p *part) end(t finding.Tally) { p.add(t) }

// stop ends an exploration early.
func (p *part) stop(one explore.Recording, why string) {
	if p.total.Script == "" {
		p.total = explore.LogTally(one)
	}
	p.total.Stopped, p.total.All = why, false
}

// outlive counts what a guest had told before it died, and blames the state that
// it was about to mount; over: there is nothing left to look at.
func (p *part) outlive(r *run, one explore.Recording, gone *machine.Gone) (over bool) {
	stopped := p.total.Stopped
	if p.now.State > 0 {
		all := p.now.Tally
		all.All = false
		p.add(all)
		p.after = p.now.State
	}
	if p.total.Script == "" {
		p.total = explore.LogTally(one)
	}
	p.total.Stopped = stopped
	switch {
	case p.looking == 0:
		p.stop(one, "the guest ended before it had looked at a state: "+gone.Error())
		return true
	case p.looking <= p.after:
		// All were looked at, and it died while one was looked at again.
		for key, f := range p.found {
			f.Whole = "the guest ended when states were looked at again: " + gone.Error()
			p.found[key] = f
		}
		return true
	}
	f, ok := explore.Unseen(one, r.order.States, p.looking)
	if !ok {
		p.stop(one, fmt.Sprintf("the guest ended at state %d, which does not exist: %v", p.looking, gone))
		return true
	}
	f.Format, f.Candidate, f.Kernel, f.Version = finding.Format, r.order.Candidate, r.look.facts.Kernel, r.look.facts.Version
	f.Outcome, f.Messages = outcomeOf(gone), lastWords(gone)
	f.Whole = "each try with less would cost another guest"
	key := explore.Key(f)
	p.keep(f)
	p.same[key]++
	p.total.States++
	p.total.Outcomes[f.Outcome.Key()]++
	p.skip = append(p.skip, p.looking)
	return false
}

func outcomeOf(gone *machine.Gone) fault.Outcome {
	if gone.Ended {
		return fault.Died
	}
	return fault.Hang
}

// lastWords are the end of a guest's console and how it ended.
func lastWords(gone *machine.Gone) []string {
	var e *machine.Error
	var out []string
	if errors.As(gone, &e) {
		out = slices.Clone(e.Console[max(0, len(e.Console)-60):])
	}
	return append(out, gone.Error())
}
