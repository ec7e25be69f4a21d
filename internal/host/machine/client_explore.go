package machine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"whichfs/internal/fault"
	"whichfs/internal/fault/finding"
	"whichfs/internal/result"
	"whichfs/internal/wire"
)

var _ Explorer = (*Client)(nil)

// Explore implements Explorer. The agent announces each state before it mounts it (at most several
// times a second), so that silence means what it means in a trial.
func (c *Client) Explore(ctx context.Context, order wire.Explore, given map[string][]byte, events ExploreEvents) (wire.Explored, error) {
	if c.broken == nil && !c.opened {
		return wire.Explored{}, result.Fail(result.LabFailed, "", "an exploration before the session was prepared")
	}
	for _, name := range []string{"log", "base", "finding"} {
		if err := c.give(ctx, name, given[name]); err != nil {
			return wire.Explored{}, err
		}
	}
	w := &watch{order: order, events: events}
	m, err := c.ask(ctx, min(c.o.StepLimit, c.exploreLimit(order)), wire.KindExplore, order, wire.KindExplored, "of an exploration of "+order.Candidate.String(), w)
	if err != nil {
		return wire.Explored{}, c.exploreFailed(err)
	}
	var got wire.Explored
	if err := m.Decode(&got); err != nil {
		return wire.Explored{}, c.nonsense(err)
	}
	if err := w.checkExplored(got); err != nil {
		return wire.Explored{}, c.nonsense(err)
	}
	return cleaned(got), nil
}

// give sends a file in pieces; an empty file is not sent.
func (c *Client) give(ctx context.Context, name string, data []byte) error {
	for piece := range slices.Chunk(data, wire.PieceSize) {
		_, err := c.ask(ctx, c.o.HandshakeLimit, wire.KindGive, wire.Give{Name: name, Data: piece}, wire.KindGiven, "while receiving a "+name, nil)
		if err != nil {
			return c.exploreFailed(err)
		}
	}
	return nil
}

// exploreLimit is how long an agent may be silent: it abandons hung calls by itself, and tools and
// recordings take their time.
func (c *Client) exploreLimit(order wire.Explore) time.Duration {
	patience := order.Patience
	if patience <= 0 {
		patience = 20
	}
	return time.Duration(c.o.Slower * float64(time.Minute+time.Duration(3*patience*float64(time.Second))))
}

// Gone is the error of a session whose machine ended or fell silent during an exploration: a crash
// state may have killed its kernel.
type Gone struct {
	Ended bool // its process ended; otherwise it is silent
	Err   error
}

func (g *Gone) Error() string { return g.Err.Error() }

func (g *Gone) Unwrap() error { return g.Err }

// exploreFailed leaves the session usable if the agent refused the order and still works.
func (c *Client) exploreFailed(err error) error {
	var e *result.Failure
	switch {
	case !errors.As(err, &e):
	case c.broken == nil && e.Outcome != result.LabFailed:
		return err
	case c.broken != nil && !c.lied && e.Outcome == result.LabFailed:
		return &Gone{Ended: c.ended(), Err: err}
	}
	return c.breakWith(err)
}

// ended reports whether the process behind the stream is known to have ended.
func (c *Client) ended() bool {
	select {
	case <-c.o.Dead: // never, if it is nil
		return true
	default:
		return false
	}
}

// watch follows an exploration.
type watch struct {
	order  wire.Explore
	events ExploreEvents
	at     string
	had    map[string]bool // files that were sent completely
	found  int             // findings so far
}

func (w *watch) place() string { return w.at }

func (w *watch) event(m wire.Message) error {
	switch m.Kind {
	case wire.KindLooking:
		var l wire.Looking
		if err := m.Decode(&l); err != nil {
			return err
		}
		if err := w.known(l); err != nil {
			return err
		}
		w.at = fmt.Sprintf("at state %d", l.State)
		if w.events.Looking != nil {
			w.events.Looking(l)
		}
	case wire.KindFound:
		var f wire.Found
		if err := m.Decode(&f); err != nil {
			return err
		}
		if err := w.known(f.Looking); err != nil {
			return err
		}
		if len(f.File) == 0 {
			return errors.New("an empty finding")
		}
		if w.found++; w.found > mostFound {
			return fmt.Errorf("more than %d findings", mostFound)
		}
		if w.events.Found != nil {
			w.events.Found(f)
		}
	case wire.KindTallied:
		var t wire.Tallied
		if err := m.Decode(&t); err != nil {
			return err
		}
		if err := errors.Join(w.known(t.Looking), checkTally(t.Tally)); err != nil {
			return err
		}
		if w.events.Tallied != nil {
			w.events.Tallied(cleaned(t))
		}
	case wire.KindRecorded:
		return w.recorded(m)
	default:
		return fmt.Errorf("%q during an exploration", m.Kind)
	}
	return nil
}

func (w *watch) recorded(m wire.Message) error {
	var r wire.Recorded
	if err := m.Decode(&r); err != nil {
		return err
	}
	if err := w.known(wire.Looking{Script: r.Script}); err != nil {
		return err
	}
	key := fmt.Sprintf("%s of script %d", r.Name, r.Script)
	switch {
	case r.Name != "log" && r.Name != "base":
		return fmt.Errorf("a recorded file named %q", r.Name)
	case w.had[key]:
		return fmt.Errorf("more of the %s after its end", key)
	}
	if r.Last {
		if w.had == nil {
			w.had = map[string]bool{}
		}
		w.had[key] = true
	}
	w.at = "recording"
	if w.events.Recorded != nil {
		w.events.Recorded(r)
	}
	return nil
}

// known: a given log or finding counts as the only script.
func (w *watch) known(l wire.Looking) error {
	if l.Script < 0 || l.Script >= max(len(w.order.Scripts), 1) || l.State < 0 {
		return fmt.Errorf("state %d of script %d, of %d scripts", l.State, l.Script, len(w.order.Scripts))
	}
	return nil
}

func (w *watch) checkExplored(e wire.Explored) error {
	want := len(w.order.Scripts)
	switch w.order.Given {
	case "log":
		want = 1
	case "finding":
		want = 0
	}
	if len(e.Scripts) != want {
		return fmt.Errorf("tallies of %d scripts where %d were explored", len(e.Scripts), want)
	}
	for i, t := range e.Scripts {
		if err := checkTally(t); err != nil {
			return err
		}
		sent := w.had[fmt.Sprintf("log of script %d", i)] && w.had[fmt.Sprintf("base of script %d", i)]
		// A log that was recorded has marks at least.
		if w.order.Given == "" && (w.order.Send || w.order.RecordOnly) && t.Entries > 0 && !sent {
			return fmt.Errorf("script %d was recorded, but its log or base image was not sent completely", i)
		}
	}
	return nil
}

// checkTally: each state has one outcome, and no part is larger than the whole.
func checkTally(t finding.Tally) error {
	var sum int64
	for key, n := range t.Outcomes {
		if _, known := fault.OutcomeOf(key); !known || n < 0 {
			return fmt.Errorf("%d states of outcome %q", n, key)
		}
		sum += n
	}
	if sum != t.States || t.States < 0 || t.Equal < 0 || t.Checked < 0 || t.Checked > t.States || t.Dirty < 0 || t.Dirty > t.Checked ||
		t.Promises < 0 || t.Broken < 0 || t.Entries < 0 || t.Writes < 0 || t.Flushes < 0 {
		return fmt.Errorf("an impossible tally: %+v", t)
	}
	return nil
}
