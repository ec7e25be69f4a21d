package board

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/powercut"
	"whichfs/internal/plan/media"
	"whichfs/internal/result"
	"whichfs/internal/wire"
)

// Cut implements machine.Cutter: the board's power is switched off while its filesystem is written, and on
// again. The session goes on with the board that has started again.
func (s *session) Cut(ctx context.Context, order machine.Cut, events machine.Events) (wire.Done, error) {
	under, err := media.Parse(s.spec.Storage)
	switch {
	case err != nil:
		return wire.Done{}, result.Refuse("", "%v", err)
	case s.machine.power == nil:
		return powercut.No(result.Unsupported, "nothing switches the power of machine %s: a board's file may name a program that does", s.machine.Name()), nil
	}
	c := &cutter{session: s, spec: s.spec, turn: make(chan struct{}, 1)}
	// The trials of cuts need no data sets.
	c.spec.Data, c.spec.Trees = nil, nil
	done, err := powercut.Run(ctx, order, under, func(uint64) (powercut.Storage, error) { return &powerless{cutter: c}, nil }, events)
	if c.stale && ctx.Err() == nil {
		if back := s.replace(ctx, s.spec, s.machine.begin); err == nil && back != nil {
			err = back
		}
	}
	return done, err
}

// cutter cuts the power of one board, one cut after the other.
type cutter struct {
	session *session
	spec    machine.Spec
	turn    chan struct{}
	stale   bool // the session is dead, or lacks what the one before had
	dead    bool // and the board may be on
}

// powerless is the storage of one cut.
type powerless struct {
	*cutter
	mine     bool          // the turn
	off      bool          // or it may be
	from, to time.Duration // of switching off, since the first promise
}

// Close implements powercut.Storage. A board is not left off because its cut was abandoned.
func (p *powerless) Close() {
	if p.off {
		_ = p.restore(context.Background()) // why it was abandoned is known
	}
	if p.mine {
		<-p.turn
		p.mine = false
	}
}

// Write implements powercut.Storage.
func (p *powerless) Write(ctx context.Context, t wire.Trial, after time.Duration, safe func(int64)) (wire.Done, error) {
	select {
	case p.turn <- struct{}{}:
		p.mine = true
	case <-ctx.Done():
		return wire.Done{}, machine.Canceled(ctx)
	}
	s := p.session
	if p.dead { // an earlier cut was spoiled
		if err := p.revive(ctx, s.machine.begin); err != nil {
			return wire.Done{}, err
		}
	}
	var (
		once    sync.Once
		over    sync.WaitGroup
		quit    = make(chan struct{})
		cut     bool
		failure error
	)
	done, err := s.Client.Trial(ctx, t, machine.Events{Safe: func(number int64) {
		safe(number)
		once.Do(func() {
			first := time.Now()
			over.Go(func() {
				select {
				case <-time.After(after):
				case <-quit:
					return
				}
				p.from, p.off = time.Since(first), true
				if failure = s.machine.power.turn(ctx, "off"); failure == nil {
					p.to, cut = time.Since(first), true
				}
				p.stale, p.dead = true, true
				s.abandon() // what is still to come has no sender
			})
		})
	}})
	close(quit)
	over.Wait()
	if failure != nil {
		return wire.Done{}, failure
	}
	if err != nil && !cut { // of a session that has failed nothing more can be asked
		p.stale, p.dead = true, true
	}
	return powercut.Ended(ctx, cut, done, err)
}

// Neighbours implements powercut.Storage.
func (p *powerless) Neighbours() int64 { return 0 } // a real device does not say

// Verify implements powercut.Storage.
func (p *powerless) Verify(ctx context.Context, t wire.Trial, events machine.Events) (wire.Done, error) {
	s := p.session
	if err := p.restore(ctx); err != nil {
		return wire.Done{}, err
	}
	err := p.revive(ctx, s.machine.untilUp)
	if err != nil && ctx.Err() == nil { // nothing has mounted what the cut has left
		err = p.revive(ctx, s.machine.restart)
	}
	if err != nil {
		return wire.Done{}, err
	}
	if events.Figures != nil {
		text := fmt.Sprintf("the program that switched the power off began %.3f s and ended %.3f s after the first promise arrived", p.from.Seconds(), p.to.Seconds())
		events.Figures(wire.Figures{Phase: "verify", Notes: []result.Note{{Phase: "verify", Level: result.Warning, Text: text}}})
	}
	done, err := s.Client.Trial(ctx, t, events)
	if err != nil {
		p.stale, p.dead = true, true
	}
	return done, err
}

// revive begins a session in place of one that is dead.
func (c *cutter) revive(ctx context.Context, begin beginning) error {
	if err := c.session.replace(ctx, c.spec, begin); err != nil {
		return err
	}
	c.dead, c.stale = false, len(c.session.spec.Data) > 0
	return nil
}

// restore switches the power on.
func (p *powerless) restore(ctx context.Context) error {
	p.off = false
	return p.session.machine.restore(ctx)
}

// Keep implements powercut.Storage.
func (p *powerless) Keep(context.Context, string, string) string {
	return "its contents were not kept: a board's storage is not copied to this host"
}

// abandon ends a session whose board has lost its power, which no transport notices at once.
func (s *session) abandon() {
	if l, ok := s.line.transport.(*serial); ok {
		l.link.Fail(errPowerless)
		return
	}
	_ = s.process.Kill()
}

var errPowerless = errors.New("the board's power was switched off")

// replace begins another session in place of one whose board has been off.
func (s *session) replace(ctx context.Context, spec machine.Spec, begin beginning) error {
	_ = s.Client.Close() // its errors follow from the loss of power
	s.machine.forget()
	next, err := s.machine.start(ctx, spec, begin)
	if err != nil {
		return err
	}
	spec = s.spec
	*s = *next
	s.spec = spec
	return nil
}
