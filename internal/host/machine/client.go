package machine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"whichfs/internal/filesystem"
	"whichfs/internal/result"
	"whichfs/internal/wire"
)

// Client is the host's end of the protocol. Machines embed it: with Open it is a Session. It must
// be used from one goroutine.
type Client struct {
	conn   *wire.Conn
	o      ClientOptions
	in     chan received
	quit   chan struct{} // closed by Close: nothing is received any more
	last   uint64        // number of the last request
	facts  wire.Facts
	ready  wire.Ready
	broken error // why the session is unusable
	lied   bool  // the agent sent something impossible
	most   allowance
	opened bool
	// readOnly: the storage was claimed for reading only.
	readOnly bool
	closing  sync.Once
	closed   error
}

type received struct {
	m   wire.Message
	err error
}

// NewClient takes over the stream. The caller closes the client, always.
func NewClient(conn *wire.Conn, o ClientOptions) *Client {
	o.fill()
	c := &Client{conn: conn, o: o, in: make(chan received), quit: make(chan struct{}), most: allowance{mostEvents, mostBytes}}
	go c.listen()
	return c
}

func (c *Client) listen() {
	for {
		m, err := c.conn.Receive()
		select {
		case c.in <- received{m, err}:
		case <-c.quit:
			return
		}
		if err != nil {
			return
		}
	}
}

// Open greets the agent and has it claim storage and data sets. After an error the caller still
// closes the client.
func (c *Client) Open(ctx context.Context, p wire.Prepare) error {
	if err := c.Hello(ctx); err != nil {
		return err
	}
	return c.Prepare(ctx, p)
}

// Hello asks the agent for its facts.
func (c *Client) Hello(ctx context.Context) error {
	m, err := c.ask(ctx, c.o.HandshakeLimit, wire.KindHello, nil, wire.KindFacts, "while starting", nil)
	if err != nil {
		return err
	}
	var f wire.Facts
	if err := m.Decode(&f); err != nil {
		return c.nonsense(err)
	}
	if err := checkFacts(f); err != nil {
		return c.nonsense(err)
	}
	f.Version = strings.TrimRight(f.Version, " ") // padded
	c.facts = cleaned(f)
	return nil
}

// List asks the agent for the machine's storage.
func (c *Client) List(ctx context.Context) ([]wire.Device, error) {
	m, err := c.ask(ctx, c.o.HandshakeLimit, wire.KindList, nil, wire.KindListed, "while listing storage", nil)
	if err != nil {
		return nil, err
	}
	var l wire.Listed
	if err := m.Decode(&l); err != nil {
		return nil, c.nonsense(err)
	}
	if len(l.Devices) > mostFacts {
		return nil, c.nonsense(fmt.Errorf("a list of %d devices", len(l.Devices)))
	}
	return cleaned(l).Devices, nil
}

// slowestLoad is how much of a data set any machine loads per second, in bytes: a guest with several
// others beside it on one processor loads ten times as much.
const slowestLoad = 2 << 20

// Prepare has the agent claim storage and load data sets.
func (c *Client) Prepare(ctx context.Context, p wire.Prepare) error {
	limit := c.o.PrepareLimit
	for _, d := range p.Data {
		limit += time.Duration(c.o.Slower * float64(d.Size) / slowestLoad * float64(time.Second))
	}
	m, err := c.ask(ctx, limit, wire.KindPrepare, p, wire.KindReady, "while preparing storage "+p.Storage, nil)
	if err != nil {
		return err
	}
	var r wire.Ready
	if err := m.Decode(&r); err != nil {
		return c.nonsense(err)
	}
	if r.Size <= 0 {
		return c.nonsense(fmt.Errorf("storage of %d bytes", r.Size))
	}
	if n := len(r.Conditions) + len(r.Notes); n > mostFacts {
		return c.nonsense(fmt.Errorf("storage with %d conditions and notes", n))
	}
	c.ready, c.opened, c.readOnly = cleaned(r), true, p.ReadOnly
	return nil
}

// Facts implements Session.
func (c *Client) Facts() wire.Facts { return c.facts }

// Ready implements Session.
func (c *Client) Ready() wire.Ready { return c.ready }

// Console implements Consoler.
func (c *Client) Console() []string {
	if c.o.Console == nil {
		return nil
	}
	return c.o.Console()
}

// Support implements Session.
func (c *Client) Support(ctx context.Context, candidates []filesystem.Candidate) (wire.Support, error) {
	m, err := c.ask(ctx, c.o.PrepareLimit, wire.KindCandidates, wire.Candidates{Candidates: candidates}, wire.KindSupport,
		"while checking which candidates can run", nil)
	if err != nil {
		return wire.Support{}, err
	}
	var s wire.Support
	if err := m.Decode(&s); err != nil {
		return wire.Support{}, c.nonsense(err)
	}
	if err := checkSupport(candidates, s); err != nil {
		return wire.Support{}, c.nonsense(err)
	}
	s = cleaned(s)
	for i := range s.Candidates {
		s.Candidates[i].Candidate = candidates[i].String() // as the host spells it
	}
	return s, nil
}

// Trial implements Session.
func (c *Client) Trial(ctx context.Context, t wire.Trial, events Events) (wire.Done, error) {
	if c.broken == nil && !c.opened {
		return wire.Done{}, result.Fail(result.LabFailed, "", "trial before the session was prepared")
	}
	limit := c.o.StepLimit
	if own := time.Duration(t.StepLimit*c.o.Slower*float64(time.Second)) + c.o.Grace; t.StepLimit > 0 && own > limit {
		limit = own
	}
	p := &progress{trial: t, events: events, had: map[string]map[string]bool{}}
	if t.Paced = c.o.InTime; t.Paced {
		p.began = time.Now()
		p.ready = func() {
			go func(id uint64) { _ = c.conn.Send(wire.KindGo, id, nil) }(c.last) // a broken stream is found by who reads it
		}
	}
	m, err := c.ask(ctx, limit, wire.KindTrial, t, wire.KindDone, "of trial "+t.Candidate.String(), p)
	if err != nil {
		// The agent refused the trial and still works: that is an answer.
		var e *result.Failure
		if errors.As(err, &e) && c.broken == nil && e.Outcome != result.LabFailed {
			return wire.Done{Outcome: e.Outcome, Phase: p.phase, Reason: e.Reason, Hint: e.Hint}, nil
		}
		return wire.Done{}, c.breakWith(err)
	}
	var d wire.Done
	if err := m.Decode(&d); err != nil {
		return wire.Done{}, c.nonsense(err)
	}
	if err := p.checkDone(d); err != nil {
		return wire.Done{}, c.nonsense(err)
	}
	return cleaned(d), nil
}

// Close implements Session: goodbye if the agent still answers, then Closer.
func (c *Client) Close() error {
	c.closing.Do(func() {
		var bye error
		if c.broken == nil && c.last > 0 {
			_, bye = c.ask(context.Background(), c.o.HandshakeLimit, wire.KindBye, nil, wire.KindBye, "after goodbye", nil)
		}
		_ = c.breakWith(errors.New("it was closed"))
		close(c.quit)
		var end error
		if c.o.Closer != nil {
			end = c.o.Closer()
		}
		c.closed = errors.Join(bye, end)
	})
	return c.closed
}

// follower handles the events before the final answer to a request.
type follower interface {
	event(m wire.Message) error
	place() string // how far the request has got, for messages; "" at first
}

// ask sends one request and returns its final answer. limit is the longest permitted silence; where
// says what was going on, for messages.
func (c *Client) ask(ctx context.Context, limit time.Duration, kind string, body any, want, where string, p follower) (wire.Message, error) {
	if c.broken != nil {
		return wire.Message{}, c.fail(fmt.Sprintf("the session is unusable (%v)", c.broken), nil)
	}
	c.last++
	id := c.last
	left := allowanceOf(body, c.most)
	w := wait{client: c, limit: limit, where: where, dead: c.o.Dead}
	w.starved() // until now it was not this request that waited
	// A pipe to an agent that does not read may block forever.
	sent := make(chan error, 1)
	go func() { sent <- c.conn.Send(kind, id, body) }()
	for {
		if p != nil {
			w.phase = p.place()
		}
		m, err := w.next(ctx, &sent)
		if err != nil {
			return wire.Message{}, c.breakWith(err)
		}
		if m.ID != id {
			return wire.Message{}, c.nonsense(fmt.Errorf("%q for request %d during request %d", m.Kind, m.ID, id))
		}
		switch {
		case m.Kind == want:
			return m, nil
		case m.Kind == wire.KindFailed:
			return wire.Message{}, c.failed(m)
		case p == nil:
			err = fmt.Errorf("%q in answer to %q", m.Kind, kind)
		default:
			if err = left.take(m); err == nil {
				err = p.event(m)
			}
		}
		if err != nil {
			return wire.Message{}, c.nonsense(err)
		}
	}
}

// wait is the state of waiting for one request's messages.
type wait struct {
	client       *Client
	limit        time.Duration
	where, phase string
	dead         <-chan struct{}
	gone         bool          // the process ended; its last messages may still arrive
	unsent       error         // the request met a closed pipe
	extra        time.Duration // what the limit of the next message has grown by
}

// starved returns by how much the limit grows for want of a processor since the last call. It ends
// where the machine got what it wanted for nine tenths of the time.
func (w *wait) starved() time.Duration {
	if w.client.o.Waited == nil {
		return 0
	}
	waited := w.client.o.Waited()
	if waited < w.limit/10 {
		return 0
	}
	return waited
}

// next returns the next message, or the reason why there will be none.
func (w *wait) next(ctx context.Context, sent *chan error) (wire.Message, error) {
	c := w.client
	limit := w.limit
	if w.gone {
		limit = min(c.o.Grace, 2*time.Second)
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	w.extra = 0
	for {
		select {
		case r := <-c.in:
			if r.err == nil {
				return r.m, nil
			}
			return wire.Message{}, w.ended(r.err)
		case err := <-*sent:
			*sent = nil
			if err == nil {
				continue
			}
			// A broken pipe says less than the end of the process that caused
			// it, which comes through the stream or Dead.
			if !broken(err) {
				return wire.Message{}, c.fail("cannot send to the "+c.o.Who, err)
			}
			w.unsent = err
			timer.Reset(min(c.o.Grace, 2*time.Second))
		case <-ctx.Done():
			return wire.Message{}, fmt.Errorf("the %s was abandoned %s: %w", c.o.Who, w.place(), Canceled(ctx))
		case <-w.dead:
			w.dead, w.gone = nil, true
			timer.Reset(min(c.o.Grace, 2*time.Second))
		case <-timer.C:
			if w.gone {
				return wire.Message{}, c.fail(w.death(), nil)
			}
			if w.unsent != nil {
				return wire.Message{}, c.fail("cannot send to the "+c.o.Who, w.unsent)
			}
			if more := w.starved(); more > 0 {
				w.extra += more
				timer.Reset(more)
				continue
			}
			silent := fmt.Sprintf("the %s said nothing for %.3g s %s", c.o.Who, (w.limit + w.extra).Seconds(), w.place())
			if w.extra > 0 {
				silent += fmt.Sprintf("; for %.3g s of them it waited for a processor of this host, which other work had", w.extra.Seconds())
			}
			return wire.Message{}, c.fail(silent, nil)
		}
	}
}

// ended explains the end of the stream.
func (w *wait) ended(err error) error {
	c := w.client
	if errors.Is(err, wire.ErrCorrupt) && !w.died() {
		return c.nonsense(err)
	}
	if w.died() {
		return c.fail(w.death(), nil)
	}
	if errors.Is(err, io.EOF) {
		return c.fail(fmt.Sprintf("the %s's messages ended before its answer, %s", c.o.Who, w.place()), nil)
	}
	return c.fail(fmt.Sprintf("the %s's messages broke off %s", c.o.Who, w.place()), err)
}

// died waits a moment for the end of the process, which often follows the stream's.
func (w *wait) died() bool {
	if w.gone || w.dead == nil {
		return w.gone
	}
	timer := time.NewTimer(min(w.client.o.Grace, 2*time.Second))
	defer timer.Stop()
	select {
	case <-w.dead:
		w.gone = true
	case <-timer.C:
	}
	return w.gone
}

func (w *wait) death() string {
	reason := "its process ended"
	if f := w.client.o.DeadReason; f != nil {
		if r := f(); r != "" {
			reason = r
		}
	}
	return fmt.Sprintf("the %s died %s: %s", w.client.o.Who, w.place(), reason)
}

func (w *wait) place() string {
	if w.phase != "" {
		return w.phase + " " + w.where
	}
	return w.where
}

// failed turns a failure reported by the agent into an error.
func (c *Client) failed(m wire.Message) error {
	var f result.Failure
	if err := m.Decode(&f); err != nil {
		return c.nonsense(err)
	}
	if !f.Outcome.Valid() || f.Outcome == result.Done || f.Reason == "" {
		return c.nonsense(fmt.Errorf("failure with outcome %q and reason %q", f.Outcome, f.Reason))
	}
	f = cleaned(f)
	if f.Outcome == result.LabFailed {
		f.Console = c.Console()
	}
	return &f
}

func (c *Client) fail(reason string, err error) error {
	return &result.Failure{Outcome: result.LabFailed, Reason: reason, Console: c.Console(), Err: err}
}

func (c *Client) nonsense(err error) error {
	if wrong := (*wrongClock)(nil); errors.As(err, &wrong) {
		return c.breakWith(c.fail("the "+c.o.Who+"'s clock goes too fast", err))
	}
	c.lied = true
	return c.breakWith(c.fail("the "+c.o.Who+" answered nonsense", err))
}

// breakWith marks the session as unusable and returns err.
func (c *Client) breakWith(err error) error {
	if c.broken == nil {
		c.broken = err
	}
	return err
}
