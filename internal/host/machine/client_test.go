package machine

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/testing/parsed"
	"whichfs/internal/wire"
)

// peer is an agent that answers as instructed by a test.
type peer struct {
	*wire.Conn
	in  *io.PipeReader
	out *io.PipeWriter
}

// pair returns a client and its peer. The limits are long; a test that waits for one sets its own.
func pair(t *testing.T, o ClientOptions) (*Client, *peer) {
	t.Helper()
	hostIn, out := io.Pipe()
	in, hostOut := io.Pipe()
	o.Closer = func() error { return errors.Join(hostIn.Close(), hostOut.Close()) }
	c := NewClient(wire.New(hostIn, hostOut, nil), o)
	t.Cleanup(func() { _ = in.Close(); _ = out.Close(); _ = c.Close() })
	return c, &peer{wire.New(in, out, nil), in, out}
}

// answer reads requests and answers each with the result of reply.
func (p *peer) answer(reply func(m wire.Message)) {
	go func() {
		for {
			m, err := p.Receive()
			if err != nil {
				return
			}
			reply(m)
		}
	}()
}

var wellFacts = wire.Facts{Version: "v", Kernel: "6.1", Arch: "arm", Processors: 1, Memory: 1}

// opened returns a client whose peer has answered the handshake and gives
// every other request to reply.
func opened(t *testing.T, o ClientOptions, reply func(p *peer, m wire.Message)) *Client {
	t.Helper()
	c, p := pair(t, o)
	p.answer(func(m wire.Message) {
		switch m.Kind {
		case wire.KindHello:
			_ = p.Send(wire.KindFacts, m.ID, wellFacts)
		case wire.KindPrepare:
			_ = p.Send(wire.KindReady, m.ID, wire.Ready{Identity: "x", Size: 1 << 30})
		case wire.KindBye:
			_ = p.Send(wire.KindBye, m.ID, nil)
		default:
			reply(p, m)
		}
	})
	if err := c.Open(context.Background(), wire.Prepare{Storage: "disk:1G"}); err != nil {
		t.Fatal(err)
	}
	return c
}

var oneStep = wire.Trial{Candidate: parsed.Candidate("ext4"), Scenario: scenario.Scenario{{Work: "tree-copy", Phase: "write"}}}

// raw sends a body as it is, whether or not our types could produce it.
func (p *peer) raw(kind string, id uint64, body string) {
	line, err := wire.Encode(wire.Message{Kind: kind, ID: id, Body: []byte(body)})
	if err != nil {
		panic(err)
	}
	_, _ = p.out.Write(line)
}

func TestNonsense(t *testing.T) {
	figure := func(m string) string { return `{"phase":"write","measurements":[` + m + `]}` }
	for name, c := range map[string]struct{ kind, body, want string }{
		"not a number":     {wire.KindFigures, figure(`{"metric":"wall","value":"NaN","unit":"s"}`), "cannot unmarshal"},
		"out of range":     {wire.KindFigures, figure(`{"metric":"wall","value":1e999,"unit":"s"}`), "cannot unmarshal"},
		"negative":         {wire.KindFigures, figure(`{"metric":"wall","value":-0.5,"unit":"s"}`), "wall of -0.5 s in phase write"},
		"no unit":          {wire.KindFigures, figure(`{"metric":"wall","value":1}`), `unit ""`},
		"another unit":     {wire.KindFigures, figure(`{"metric":"wall","value":1,"unit":"B"}`), `wall of phase write in "B", which is counted in "s"`},
		"no metric":        {wire.KindFigures, figure(`{"value":1,"unit":"s"}`), `a metric named ""`},
		"strange metric":   {wire.KindFigures, figure(`{"metric":"a\u001bb","value":1,"unit":"s"}`), "a metric named"},
		"other phase":      {wire.KindFigures, figure(`{"phase":"read","metric":"wall","value":1,"unit":"s"}`), `of phase "read" among those of "write"`},
		"strange phase":    {wire.KindPhase, `{"phase":"\n"}`, "a phase named"},
		"no phase":         {wire.KindPhase, `{}`, "a phase named"},
		"figures nowhere":  {wire.KindFigures, `{"measurements":[]}`, `figures of a phase named ""`},
		"no outcome":       {wire.KindDone, `{}`, `outcome ""`},
		"strange outcome":  {wire.KindDone, `{"outcome":"splendid"}`, `outcome "splendid"`},
		"no reason":        {wire.KindDone, `{"outcome":"subject-failed"}`, "without a reason"},
		"hollow":           {wire.KindDone, `{"outcome":"done"}`, "without figures of phase write"},
		"failed without":   {wire.KindFailed, `{"outcome":"lab-failed"}`, "failure with outcome"},
		"failed well":      {wire.KindFailed, `{"outcome":"done","reason":"x"}`, "failure with outcome"},
		"failed otherwise": {wire.KindFailed, `7`, "cannot unmarshal"},
		"other kind":       {wire.KindFacts, `{}`, `"facts" during a trial`},
	} {
		t.Run(name, func(t *testing.T) {
			cl := opened(t, ClientOptions{Console: func() []string { return []string{"oops"} }}, func(p *peer, m wire.Message) { p.raw(c.kind, m.ID, c.body) })
			_, err := cl.Trial(context.Background(), oneStep, Events{})
			var e *result.Failure
			if !errors.As(err, &e) || e.Outcome != result.LabFailed || !strings.Contains(err.Error(), "the agent answered nonsense: ") || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want nonsense with %q", err, c.want)
			}
			if len(e.Console) != 1 || e.Console[0] != "oops" {
				t.Errorf("console %q", e.Console)
			}
			if _, err := cl.Support(context.Background(), nil); err == nil {
				t.Error("the session continues after that")
			}
		})
	}
}

// Where the clock is one of real time, the host says when it has done with what it was told.
func TestPacedByTheHost(t *testing.T) {
	done := 0 // events, when the host says so
	c := opened(t, ClientOptions{InTime: true}, func(p *peer, m wire.Message) {
		switch m.Kind {
		case wire.KindTrial:
			var trial wire.Trial
			if err := m.Decode(&trial); err != nil || !trial.Paced {
				t.Errorf("%+v, %v", trial, err)
			}
			p.raw(wire.KindFigures, m.ID, `{"phase":"write","measurements":[{"metric":"files","value":3,"unit":"1"}]}`)
			p.raw(wire.KindPhase, m.ID, `{"phase":"write"}`)
		case wire.KindGo:
			if done != 2 {
				t.Errorf("told to go after %d events", done)
			}
			p.raw(wire.KindDone, m.ID, `{"outcome":"done"}`)
		}
	})
	d, err := c.Trial(context.Background(), oneStep, Events{Figures: func(wire.Figures) { done++ }, Phase: func(string) { done++ }})
	if err != nil || d.Outcome != result.Done {
		t.Fatalf("%+v, %v", d, err)
	}
}

// An absent figure keeps its reason and loses its value; a left-out phase is
// filled in.
func TestFiguresAreTidied(t *testing.T) {
	c := opened(t, ClientOptions{}, func(p *peer, m wire.Message) {
		p.raw(wire.KindPhase, m.ID, `{"phase":"write"}`)
		p.raw(wire.KindFigures, m.ID, `{"phase":"write","measurements":[{"metric":"wall","value":3,"absent":"no clock"}]}`)
		p.raw(wire.KindDone, m.ID, `{"outcome":"done"}`)
	})
	var got []result.Measurement
	d, err := c.Trial(context.Background(), oneStep, Events{Figures: func(f wire.Figures) { got = f.Measurements }})
	if err != nil || d.Outcome != result.Done {
		t.Fatalf("%+v, %v", d, err)
	}
	if want := (result.Measurement{Phase: "write", Metric: "wall", Absent: "no clock"}); len(got) != 1 || got[0] != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// The figures of a clock that goes too fast are not believed, and no step hangs in less than its time. A
// clock that is not one of real time may say anything.
func TestClockTooFast(t *testing.T) {
	limited := oneStep
	limited.StepLimit = 60
	for name, c := range map[string]struct{ kind, body, want string }{
		"phases": {wire.KindFigures, `{"phase":"write","measurements":[{"metric":"wall","value":9,"unit":"s"}]}`, "goes too fast: the phases took 9 s by it, but only "},
		"hang":   {wire.KindDone, `{"outcome":"subject-failed","reason":"it hangs","hangs":true}`, "goes too fast: a step hung for 60 s by it, but only "},
	} {
		for _, inTime := range []bool{true, false} {
			cl := opened(t, ClientOptions{InTime: inTime}, func(p *peer, m wire.Message) {
				p.raw(c.kind, m.ID, c.body)
				if c.kind != wire.KindDone {
					p.raw(wire.KindDone, m.ID, `{"outcome":"done"}`)
				}
			})
			_, err := cl.Trial(t.Context(), limited, Events{})
			if f := result.FailureOf(err); inTime && (f == nil || f.Outcome != result.LabFailed || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%s: %v", name, err)
			}
			if !inTime && err != nil {
				t.Errorf("%s, not in real time: %v", name, err)
			}
		}
	}
	cl := opened(t, ClientOptions{InTime: true}, func(p *peer, m wire.Message) {
		p.raw(wire.KindFigures, m.ID, `{"phase":"write","measurements":[{"metric":"wall","value":0.001,"unit":"s"}]}`)
		p.raw(wire.KindDone, m.ID, `{"outcome":"done"}`)
	})
	if d, err := cl.Trial(t.Context(), limited, Events{}); err != nil || d.Outcome != result.Done {
		t.Errorf("a clock that goes well: %+v, %v", d, err)
	}
}

func TestHandshakeNonsense(t *testing.T) {
	for name, facts := range map[string]string{
		"empty": `{}`, "no memory": `{"kernel":"6","arch":"arm","processors":1}`, "no processor": `{"kernel":"6","arch":"arm","memory":1}`, "text": `"x"`,
	} {
		c, p := pair(t, ClientOptions{})
		p.answer(func(m wire.Message) { p.raw(wire.KindFacts, m.ID, facts) })
		if err := c.Hello(context.Background()); err == nil || !strings.Contains(err.Error(), "nonsense") {
			t.Errorf("%s: %v", name, err)
		}
	}
	c, p := pair(t, ClientOptions{})
	p.answer(func(m wire.Message) {
		if m.Kind == wire.KindHello {
			_ = p.Send(wire.KindFacts, m.ID, wellFacts)
		} else {
			_ = p.Send(wire.KindReady, m.ID, wire.Ready{Identity: "x"})
		}
	})
	if err := c.Open(context.Background(), wire.Prepare{}); err == nil || !strings.Contains(err.Error(), "storage of 0 bytes") {
		t.Errorf("storage without a size: %v", err)
	}
	if _, err := c.Trial(context.Background(), oneStep, Events{}); err == nil {
		t.Error("a trial without storage")
	}
}

func TestSupportNonsense(t *testing.T) {
	for name, answer := range map[string]string{
		"none":           `{"candidates":[]}`,
		"another":        `{"candidates":[{"candidate":"xfs"}]}`,
		"done":           `{"candidates":[{"candidate":"ext4","outcome":"done","reason":"x"}]}`,
		"no reason":      `{"candidates":[{"candidate":"ext4","outcome":"refused"}]}`,
		"reason and yes": `{"candidates":[{"candidate":"ext4","reason":"x"}]}`,
	} {
		c := opened(t, ClientOptions{}, func(p *peer, m wire.Message) { p.raw(wire.KindSupport, m.ID, answer) })
		if _, err := c.Support(context.Background(), parsed.Candidates("ext4")); err == nil || !strings.Contains(err.Error(), "nonsense") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A failure reported by the agent keeps its kind; only a failure of the lab ends the session.
func TestReportedFailureKeepsItsKind(t *testing.T) {
	for _, o := range []result.Outcome{result.Refused, result.Unsupported, result.SubjectFailed, result.LabFailed} {
		failed := func(p *peer, m wire.Message) {
			_ = p.Send(wire.KindFailed, m.ID, result.Failure{Outcome: o, Reason: "because", Hint: "do this"})
		}
		c := opened(t, ClientOptions{}, failed)
		_, err := c.Support(context.Background(), parsed.Candidates("ext4"))
		var e *result.Failure
		if !errors.As(err, &e) || e.Outcome != o || e.Reason != "because" || e.Hint != "do this" {
			t.Errorf("%s: support %v", o, err)
		}
		d, err := c.Trial(context.Background(), oneStep, Events{})
		if o == result.LabFailed {
			if !errors.As(err, &e) || e.Outcome != o {
				t.Errorf("%s: trial %v", o, err)
			}
			continue
		}
		if err != nil || d.Outcome != o || d.Reason != "because" || d.Hint != "do this" {
			t.Errorf("%s: trial %+v, %v", o, d, err)
		}
	}
}

// An agent that does not even read its request.
func TestAgentThatDoesNotRead(t *testing.T) {
	c, _ := pair(t, ClientOptions{HandshakeLimit: 50 * time.Millisecond})
	err := c.Hello(context.Background())
	if err == nil || err.Error() != "the agent said nothing for 0.05 s while starting" {
		t.Errorf("error %v", err)
	}
}

// A machine that gets no processor is given as long as it waited for one, and one that hangs is not.
func TestStarvedAgent(t *testing.T) {
	asked := make(chan bool)
	calls := 0
	c, p := pair(t, ClientOptions{HandshakeLimit: 50 * time.Millisecond, Waited: func() time.Duration {
		switch calls++; calls {
		case 2: // the limit is over: only now it gets a processor
			asked <- true
			return time.Hour
		case 3: // before the request did
			return time.Hour
		case 4:
			return 30 * time.Millisecond
		default:
			return time.Millisecond
		}
	}})
	go func() {
		m, _ := p.Receive()
		<-asked
		_ = p.Send(wire.KindFacts, m.ID, wellFacts)
		_, _ = p.Receive()
	}()
	if err := c.Hello(context.Background()); err != nil {
		t.Fatal(err)
	}
	_, err := c.List(context.Background())
	want := "the agent said nothing for 0.08 s while listing storage; for 0.03 s of them it waited for a processor of this host, which other work had"
	if err == nil || err.Error() != want {
		t.Errorf("error %v", err)
	}
}

// An agent that has closed its input, and sends nothing more.
func TestAgentWithClosedInput(t *testing.T) {
	c, p := pair(t, ClientOptions{Grace: 50 * time.Millisecond})
	_ = p.in.Close()
	if err := c.Hello(context.Background()); err == nil || !strings.Contains(err.Error(), "cannot send to the agent") {
		t.Errorf("error %v", err)
	}
}

// A trial's own step limit makes the host wait longer, never shorter.
func TestStepLimit(t *testing.T) {
	c := opened(t, ClientOptions{StepLimit: 20 * time.Millisecond, Grace: time.Second / 2}, func(p *peer, m wire.Message) {
		p.raw(wire.KindPhase, m.ID, `{"phase":"write"}`)
	})
	trial := oneStep
	trial.StepLimit = 0.5
	_, err := c.Trial(context.Background(), trial, Events{})
	if err == nil || err.Error() != "the agent said nothing for 1 s in phase write of trial ext4" {
		t.Errorf("error %v", err)
	}
}

// Preparing has the time that its data sets take.
func TestPrepareLimit(t *testing.T) {
	c, p := pair(t, ClientOptions{PrepareLimit: 20 * time.Millisecond})
	go func() { _, _ = p.Receive() }()
	err := c.Prepare(context.Background(), wire.Prepare{Storage: "loop:1G", Data: []scenario.Data{{Size: 1 << 17}, {Size: 1 << 16}}})
	if err == nil || err.Error() != "the agent said nothing for 0.114 s while preparing storage loop:1G" {
		t.Errorf("error %v", err)
	}
}

// A line that is cut before any message of a session, or in its midst, fails what was asked.
func TestCutInEveryMessage(t *testing.T) {
	type said struct{ kind, body string }
	answers := map[string][]said{
		wire.KindHello:      {{wire.KindFacts, `{"version":"v","kernel":"6.1","arch":"arm","processors":1,"memory":1}`}},
		wire.KindPrepare:    {{wire.KindReady, `{"identity":"x","size":1073741824}`}},
		wire.KindCandidates: {{wire.KindSupport, `{"candidates":[{"candidate":"ext4"}]}`}},
		wire.KindTrial:      {{wire.KindPhase, `{"phase":"write"}`}, {wire.KindFigures, `{"phase":"write","measurements":[{"metric":"wall","value":3,"unit":"s"}]}`}, {wire.KindDone, `{"outcome":"done"}`}},
	}
	const all = 6
	for cut := range 2*all + 1 { // at the end there is nothing left to cut
		c, p := pair(t, ClientOptions{})
		sent := 0
		p.answer(func(m wire.Message) {
			for _, one := range answers[m.Kind] {
				line, err := wire.Encode(wire.Message{Kind: one.kind, ID: m.ID, Body: []byte(one.body)})
				if err != nil {
					t.Error(err)
				}
				if cut/2 == sent {
					_, _ = p.out.Write(line[:cut%2*len(line)/2])
					_ = p.out.Close()
				}
				_, _ = p.out.Write(line)
				sent++
			}
		})
		err := c.Open(t.Context(), wire.Prepare{Storage: "disk:1G"})
		if err == nil {
			_, err = c.Support(t.Context(), parsed.Candidates("ext4"))
		}
		if err == nil {
			_, err = c.Trial(t.Context(), oneStep, Events{})
		}
		if f := result.FailureOf(err); cut < 2*all && (f == nil || f.Outcome != result.LabFailed) || cut == 2*all && err != nil {
			t.Errorf("cut %d: %v", cut, err)
		}
	}
}

// The end of the process explains the end of the stream, whichever is noticed first, and earlier
// messages still count.
func TestDeath(t *testing.T) {
	for _, c := range []struct{ stream, last bool }{{true, false}, {false, false}, {true, true}} {
		dead := make(chan struct{})
		grace := time.Minute
		if !c.stream {
			grace = 50 * time.Millisecond // nothing more will come
		}
		cl := opened(t, ClientOptions{Dead: dead, DeadReason: func() string { return "signal 9" }, Grace: grace}, func(p *peer, m wire.Message) {
			p.raw(wire.KindPhase, m.ID, `{"phase":"write"}`)
			close(dead)
			if c.last {
				p.raw(wire.KindDone, m.ID, `{"outcome":"subject-failed","reason":"mkfs said no"}`)
			}
			if c.stream {
				_ = p.out.Close()
			}
		})
		d, err := cl.Trial(context.Background(), oneStep, Events{})
		if c.last {
			if err != nil || d.Reason != "mkfs said no" {
				t.Errorf("%+v: %+v, %v", c, d, err)
			}
			continue
		}
		if err == nil || err.Error() != "the agent died in phase write of trial ext4: signal 9" {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestCancel(t *testing.T) {
	c := opened(t, ClientOptions{}, func(*peer, wire.Message) {})
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("the budget is spent")
	cancel(why)
	_, err := c.Trial(ctx, oneStep, Events{})
	if !errors.Is(err, context.Canceled) || !errors.Is(err, why) {
		t.Errorf("error %v", err)
	}
	var e *result.Failure
	if errors.As(err, &e) {
		t.Errorf("to be cancelled is not a failure: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// Errors while closing are reported, on every call.
func TestCloseReportsErrors(t *testing.T) {
	in, _ := io.Pipe()
	no := errors.New("no")
	n := 0
	c := NewClient(wire.New(in, io.Discard, nil), ClientOptions{Closer: func() error { n++; return errors.Join(in.Close(), no) }})
	for range 2 {
		if err := c.Close(); !errors.Is(err, no) {
			t.Errorf("close: %v", err)
		}
	}
	if n != 1 {
		t.Errorf("closed %d times", n)
	}
}
