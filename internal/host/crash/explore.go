package crash

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"whichfs/internal/fault"
	"whichfs/internal/fault/finding"
	"whichfs/internal/host/machine"
	"whichfs/internal/result"
	"whichfs/internal/target/explore"
	"whichfs/internal/wire"
)

// part is the exploration of one recording: the findings of earlier guests, and those of the
// present one so far.
type part struct {
	total finding.Tally
	same  map[string]int64 // by explore.Key, of earlier guests
	after int64            // the last state that is in total
	skip  []int64          // states that crashed guests

	now     wire.Tallied // of the present guest; State 0: nothing yet
	looking int64        // the state that it was about to mount
	found   map[string]finding.Finding
	bad     error
}

// looker has one recording judged.
type looker struct {
	run    *run // not changed while there are lookers
	keeper *keeper
	one    explore.Recording
	budget *budget
	// say reports the progress of judging, from 0 to 1.
	say func(share float64, format string, args ...any)
	// looked records when a guest began to judge and when it ended.
	looked func(from, to time.Time)
}

// explore has the recording's states judged, by as many guests as that takes. whole: all were; then
// an error means that findings could not be minimised.
func (l *looker) explore(ctx context.Context) (t finding.Tally, list []finding.Finding, whole bool, err error) {
	given, err := files(l.one)
	if err != nil {
		return t, nil, false, err
	}
	p := &part{same: map[string]int64{}, found: map[string]finding.Finding{}}
	if err := l.guests(ctx, p, given); err != nil {
		return t, nil, false, err
	}
	for key, f := range p.found {
		f.Same = p.same[key]
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b finding.Finding) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(explore.Key(a), explore.Key(b)))
	})
	if l.run.order.Minimise {
		err = l.minimise(ctx, list)
	}
	return p.total, list, true, err
}

// guests lets one guest after the other judge, until all states were judged or no further guest is
// available.
func (l *looker) guests(ctx context.Context, p *part, given map[string][]byte) error {
	for {
		e, err := l.keeper.explorer(ctx)
		if err != nil {
			return err
		}
		order := l.run.order.Explore
		order.Given, order.Scripts, order.Size = "log", nil, l.one.Size
		if l.run.order.Given == "" || len(l.run.order.Scripts) > 0 {
			order.Scripts = append(order.Scripts, l.one.Script)
		}
		order.RecordOnly, order.Send, order.Minimise = false, false, false
		order.After, order.Skip = wire.Looking{State: p.after}, p.skip
		p.now, p.looking = wire.Tallied{}, 0
		from := time.Now()
		out, err := e.Explore(ctx, order, given, l.events(p))
		l.looked(from, time.Now())
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
		if err := l.budget.died(l.keeper, l.one.Script.Name, begun, gone); err != nil && (l.keeper.lasting() || begun == 0) {
			return err
		} else if err != nil {
			p.stop(l.one, err.Error())
		}
		if over := p.outlive(l, gone); over || p.total.Stopped != "" {
			return nil
		}
	}
}

// events handle the reports of a guest.
func (l *looker) events(p *part) machine.ExploreEvents {
	return machine.ExploreEvents{
		Looking: func(at wire.Looking) {
			p.looking = at.State
			share := 0.0
			if most := l.run.order.States.Most; most > 0 {
				share = min(float64(at.State)/float64(most), 1)
			}
			l.say(share, "%s: state %d", l.one.Script.Name, at.State)
		},
		Tallied: func(t wire.Tallied) { p.now = t },
		Found: func(w wire.Found) {
			f, err := finding.Decode(bytes.NewReader(w.File))
			if err != nil {
				p.bad = errors.Join(p.bad, fmt.Errorf("the agent sent an impossible finding: %w", err))
				return
			}
			p.keep(f)
		},
	}
}

// keep keeps the finding with the lowest number of those that show the same; for the same state,
// the later report counts.
func (p *part) keep(f finding.Finding) {
	key := explore.Key(f)
	if had, ok := p.found[key]; !ok || f.Number <= had.Number {
		p.found[key] = f
	}
}

// add adds a guest's reports to the total.
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

// end adds the final report of a guest.
func (p *part) end(t finding.Tally) { p.add(t) }

// stop ends an exploration early.
func (p *part) stop(one explore.Recording, why string) {
	if p.total.Script == "" {
		p.total = explore.LogTally(one)
	}
	p.total.Stopped, p.total.All = why, false
}

// outlive counts what a guest had reported before it died, and blames the state that it was about
// to mount; over: nothing is left to judge.
func (p *part) outlive(l *looker, gone *machine.Gone) (over bool) {
	one := l.one
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
		p.stop(one, "the guest ended before it had judged a state: "+gone.Error())
		return true
	case p.looking <= p.after:
		// All were judged, and it died while one was judged again.
		for key, f := range p.found {
			f.Whole = "the guest ended when states were judged again: " + gone.Error()
			p.found[key] = f
		}
		return true
	}
	f, ok := explore.Unseen(one, l.run.order.States, p.looking)
	if !ok {
		p.stop(one, fmt.Sprintf("the guest ended at state %d, which does not exist: %v", p.looking, gone))
		return true
	}
	f.Format, f.Candidate, f.Kernel, f.Version = finding.Format, l.run.order.Candidate.String(), l.keeper.facts.Kernel, l.keeper.facts.Version
	f.Outcome, f.Messages = outcomeOf(gone), lastWords(gone)
	f.Whole = "each smaller try would cost another guest"
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
	var e *result.Failure
	var out []string
	if errors.As(gone, &e) {
		out = slices.Clone(e.Console[max(0, len(e.Console)-60):])
	}
	return append(out, gone.Error())
}
