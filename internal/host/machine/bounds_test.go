package machine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"whichfs/internal/fault/script"
	"whichfs/internal/fault/states"
	"whichfs/internal/filesystem"
	"whichfs/internal/result"
	"whichfs/internal/sys/harmless"
	"whichfs/internal/target/kernelmemory"
	"whichfs/internal/testing/parsed"
	"whichfs/internal/wire"
)

// endless answers a request with the same message forever.
func endless(kind string, body any) func(p *peer, m wire.Message) {
	return func(p *peer, m wire.Message) {
		b, err := json.Marshal(body)
		if err != nil {
			panic(err)
		}
		line, err := wire.Encode(wire.Message{Kind: kind, ID: m.ID, Body: b})
		if err != nil {
			panic(err)
		}
		many := bytes.Repeat(line, 1+(64<<10)/len(line))
		for err == nil {
			_, err = p.out.Write(many)
		}
	}
}

// little is how much an endless answer may send here: the race detector would take half a minute for
// what an agent may send.
var little = allowance{1 << 13, 4 << 20}

// What an agent may send in answer to a request.
func TestAllowance(t *testing.T) {
	c, _ := pair(t, ClientOptions{})
	for _, x := range []struct {
		body   any
		events int
		bytes  int64
	}{
		{oneStep, mostEvents, mostBytes},
		{wire.Explore{Scripts: make([]script.Script, 3), States: states.Options{Most: 10}}, mostEvents + 3*10*mostStates, mostBytes + 3*mostScript},
	} {
		a := allowanceOf(x.body, c.most)
		if a != (allowance{x.events, x.bytes}) {
			t.Errorf("%T: %+v", x.body, a)
		}
		a.events = 2
		for range 2 {
			if err := a.take(wire.Message{Body: make([]byte, x.bytes/2)}); err != nil {
				t.Errorf("%T: %v", x.body, err)
			}
		}
		if err := a.take(wire.Message{}); err == nil || !strings.Contains(err.Error(), "too many messages") {
			t.Errorf("%T: one more: %v", x.body, err)
		}
		a.events = 1
		if err := a.take(wire.Message{Body: []byte("{}")}); err == nil || !strings.Contains(err.Error(), "too many bytes") {
			t.Errorf("%T: two more bytes: %v", x.body, err)
		}
	}
}

// nonsenseIn expects an error that names it, and one whose session is over.
func nonsenseIn(t *testing.T, c *Client, err error, want string) {
	t.Helper()
	var e *result.Failure
	if !errors.As(err, &e) || e.Outcome != result.LabFailed || !strings.Contains(err.Error(), "answered nonsense") || !strings.Contains(err.Error(), want) {
		t.Errorf("error %.300v, want nonsense with %q", err, want)
	}
	if _, err := c.Support(context.Background(), nil); err == nil {
		t.Error("the session continues after that")
	}
}

// Endless repetition ends, with a reason, before it has used much memory.
func TestEndlessTrials(t *testing.T) {
	notes := make([]result.Note, 1000)
	for i := range notes {
		notes[i] = result.Note{Level: result.Info, Text: "x"}
	}
	for name, one := range map[string]struct {
		kind string
		body any
		want string
	}{
		"figures":   {wire.KindFigures, wire.Figures{Phase: "write", Measurements: []result.Measurement{{Metric: "wall", Unit: "s"}}}, "wall of phase write arrived twice"},
		"notes":     {wire.KindFigures, wire.Figures{Phase: "write", Notes: notes}, "more than 65536 figures, notes, options and artifacts"},
		"artifacts": {wire.KindFigures, wire.Figures{Phase: "write", Artifacts: []result.Artifact{{Name: "x", Text: strings.Repeat("x", 64<<10)}}}, "too many bytes of messages"},
		"phases":    {wire.KindPhase, wire.PhaseBegun{Phase: "write"}, "too many messages"},
	} {
		t.Run(name, func(t *testing.T) {
			c := opened(t, ClientOptions{}, endless(one.kind, one.body))
			c.most = little
			_, err := c.Trial(context.Background(), oneStep, Events{})
			nonsenseIn(t, c, err, one.want)
		})
	}
}

func TestEndlessProbe(t *testing.T) {
	c := opened(t, ClientOptions{}, endless(wire.KindProgress, wire.Progress{What: "x"}))
	c.most = little
	_, err := c.Probe(context.Background(), wire.Probe{}, nil)
	nonsenseIn(t, c, err, "too many messages")
}

func TestEndlessExploration(t *testing.T) {
	for name, one := range map[string]struct {
		kind string
		body any
		want string
	}{
		"states":   {wire.KindLooking, wire.Looking{State: 1}, "too many messages"},
		"findings": {wire.KindFound, wire.Found{File: []byte("x")}, "more than 1024 findings"},
		"tallies":  {wire.KindTallied, struct{}{}, "too many messages"}, // one of nothing, which is short
		"log":      {wire.KindRecorded, wire.Recorded{Name: "log", Data: make([]byte, wire.PieceSize)}, "too many bytes of messages"},
	} {
		t.Run(name, func(t *testing.T) {
			c := opened(t, ClientOptions{}, endless(one.kind, one.body))
			c.most = little
			_, err := c.Explore(context.Background(), wire.Explore{Candidate: parsed.Candidate("ext4"), Scripts: []script.Script{{Name: "x"}}}, nil, ExploreEvents{})
			nonsenseIn(t, c, err, one.want)
		})
	}
}

// A line without an end, and lines that are not messages, forever.
func TestEndlessStream(t *testing.T) {
	var most uint64
	c := opened(t, ClientOptions{StepLimit: time.Minute}, func(p *peer, m wire.Message) {
		piece := []byte(strings.Repeat("x", 1<<20))
		for range 64 {
			if _, err := p.out.Write(piece); err != nil {
				return
			}
			var now runtime.MemStats
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapInuse)
		}
		_ = p.out.Close()
	})
	_, err := c.Trial(context.Background(), oneStep, Events{})
	nonsenseIn(t, c, err, "a line is longer than")
	if most > 256<<20 {
		t.Errorf("%d bytes were in use", most)
	}
}

const dirty = "\x1b[2Jü\x00\n\u202e"

// No text of an agent reaches a reader with its control characters, or at unlimited length; a text
// that is kept whole keeps its lines.
func TestTextsAreCleaned(t *testing.T) {
	long := dirty + strings.Repeat("x", 3*mostText)
	check := func(where, text string) {
		t.Helper()
		if text == "" || harmless.Line(text) != text || len(text) > 2*mostText {
			t.Errorf("%s: %d bytes, %.60q", where, len(text), text)
		}
	}
	conditions := []result.Condition{{Group: long, Name: long, Value: long}}
	checkAll := func(where string, all []result.Condition) {
		t.Helper()
		if len(all) != 1 {
			t.Fatalf("%s: %d conditions", where, len(all))
		}
		check(where, all[0].Group)
		check(where, all[0].Name)
		check(where, all[0].Value)
	}
	c, p := pair(t, ClientOptions{})
	p.answer(func(m wire.Message) {
		switch m.Kind {
		case wire.KindHello:
			f := wellFacts
			f.Version, f.Kernel, f.Arch, f.Conditions = long, long, long, conditions
			_ = p.Send(wire.KindFacts, m.ID, f)
		case wire.KindPrepare:
			_ = p.Send(wire.KindReady, m.ID, wire.Ready{Identity: long, Size: 1, Conditions: conditions, Notes: []result.Note{{Text: long}}})
		case wire.KindCandidates:
			_ = p.Send(wire.KindSupport, m.ID, wire.Support{Conditions: conditions, Candidates: []result.Support{{Candidate: dirty, Outcome: result.Refused, Reason: long, Hint: long}}})
		case wire.KindTrial:
			_ = p.Send(wire.KindFigures, m.ID, wire.Figures{Phase: "write",
				Measurements: []result.Measurement{{Metric: "wall", Unit: "s", Absent: long}}, Notes: []result.Note{{Phase: long, Level: result.Info, Text: long}},
				Options: []result.Option{{Text: long, State: result.InForce, Evidence: long}}, Artifacts: []result.Artifact{{Phase: long, Name: long, Text: dirty}}})
			_ = p.Send(wire.KindDone, m.ID, wire.Done{Outcome: result.SubjectFailed, Phase: long, Reason: long, Hint: long})
		case wire.KindProbe:
			_ = p.Send(wire.KindProgress, m.ID, wire.Progress{What: strings.Repeat("x", 3*mostText)})
			_ = p.Send(wire.KindFailed, m.ID, result.Failure{Outcome: result.Refused, Reason: long})
		case wire.KindExplore:
			_ = p.Send(wire.KindFailed, m.ID, result.Failure{Outcome: result.Refused, Reason: long, Hint: long})
		case wire.KindBye:
			_ = p.Send(wire.KindBye, m.ID, nil)
		}
	})
	if err := c.Open(context.Background(), wire.Prepare{}); err != nil {
		t.Fatal(err)
	}
	f, r := c.Facts(), c.Ready()
	check("version", f.Version)
	check("kernel", f.Kernel)
	check("arch", f.Arch)
	checkAll("facts", f.Conditions)
	check("identity", r.Identity)
	check("note", r.Notes[0].Text)
	checkAll("ready", r.Conditions)
	s, err := c.Support(context.Background(), []filesystem.Candidate{filesystem.Kept(dirty)})
	if err != nil || s.Candidates[0].Candidate != dirty {
		t.Fatalf("%v, %+v: a candidate is as the host spells it", err, s.Candidates)
	}
	check("reason", s.Candidates[0].Reason)
	check("hint", s.Candidates[0].Hint)
	checkAll("support", s.Conditions)
	d, err := c.Trial(context.Background(), oneStep, Events{Figures: func(f wire.Figures) {
		if len(f.Measurements) != 1 || f.Measurements[0].Phase != "write" || len(f.Artifacts) != 1 {
			t.Fatalf("%+v", f)
		}
		check("absent", f.Measurements[0].Absent)
		check("note", f.Notes[0].Text)
		check("phase of a note", f.Notes[0].Phase)
		check("option", f.Options[0].Text)
		check("evidence", f.Options[0].Evidence)
		check("name", f.Artifacts[0].Name)
		if want := "\\x1b[2Jü\\x00\n\\u202e"; f.Artifacts[0].Text != want {
			t.Errorf("artifact %q, want %q", f.Artifacts[0].Text, want)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	check("phase", d.Phase)
	check("reason", d.Reason)
	check("hint", d.Hint)
	if _, err := c.Probe(context.Background(), wire.Probe{}, func(p wire.Progress) { check("progress", p.What) }); err == nil {
		t.Error("a probe that was refused")
	}
	_, err = c.Explore(context.Background(), wire.Explore{}, nil, ExploreEvents{})
	var e *result.Failure
	if !errors.As(err, &e) || e.Outcome != result.Refused {
		t.Fatal(err)
	}
	check("reason", e.Reason)
	check("hint", e.Hint)
}

// An error about nonsense quotes only a readable part of it.
func TestNonsenseIsCutShort(t *testing.T) {
	c := opened(t, ClientOptions{}, func(p *peer, m wire.Message) {
		_ = p.Send(wire.KindPhase, m.ID, wire.PhaseBegun{Phase: strings.Repeat("\x1b", 1<<20)})
	})
	_, err := c.Trial(context.Background(), oneStep, Events{})
	nonsenseIn(t, c, err, "a phase named")
	if n := len(err.Error()); n > 2*mostText {
		t.Errorf("an error of %d bytes", n)
	}
}

// Thousands of facts are rejected.
func TestTooManyFacts(t *testing.T) {
	many := make([]result.Condition, mostFacts+1)
	f := wellFacts
	f.Conditions = many
	c, p := pair(t, ClientOptions{})
	p.answer(func(m wire.Message) { _ = p.Send(wire.KindFacts, m.ID, f) })
	if err := c.Hello(context.Background()); err == nil || !strings.Contains(err.Error(), "facts with 1025 conditions") {
		t.Error(err)
	}
	c, p = pair(t, ClientOptions{})
	p.answer(func(m wire.Message) {
		if m.Kind == wire.KindHello {
			_ = p.Send(wire.KindFacts, m.ID, wellFacts)
			return
		}
		_ = p.Send(wire.KindReady, m.ID, wire.Ready{Identity: "x", Size: 1, Conditions: many})
	})
	if err := c.Open(context.Background(), wire.Prepare{}); err == nil || !strings.Contains(err.Error(), "1025 conditions and notes") {
		t.Error(err)
	}
	c = opened(t, ClientOptions{}, func(p *peer, m wire.Message) { _ = p.Send(wire.KindSupport, m.ID, wire.Support{Conditions: many}) })
	if _, err := c.Support(context.Background(), nil); err == nil || !strings.Contains(err.Error(), "support with 1025 conditions") {
		t.Error(err)
	}
}

// Places, promises and phases that no guest can have.
func TestImpossibleEvents(t *testing.T) {
	for want, one := range map[string]struct {
		kind string
		body any
	}{
		"of 2305843009213693952 pages":   {wire.KindPlace, kernelmemory.ChipPlace{Pages: 1 << 61, Bytes: 2112}},
		"of -1 pages":                    {wire.KindPlace, kernelmemory.ChipPlace{Pages: -1, Bytes: 2112}},
		"pages of 1099511627776 bytes":   {wire.KindPlace, kernelmemory.ChipPlace{Pages: 1, Bytes: 1 << 40, Frames: []uint64{0}}},
		"listed in 0 frames":             {wire.KindPlace, kernelmemory.ChipPlace{Pages: 1, Bytes: 1}},
		"not the start of a frame":       {wire.KindPlace, kernelmemory.ChipPlace{Pages: 1, Bytes: 1, Frames: []uint64{7}}},
		"operation 9223372036854775807":  {wire.KindSafe, wire.Safe{Number: 1<<63 - 1}},
		`a phase named "cut"`:            {wire.KindPhase, wire.PhaseBegun{Phase: result.CutPhase}},
		`figures of a phase named "cut"`: {wire.KindFigures, wire.Figures{Phase: result.CutPhase}},
		"wall of 1e+300 s":               {wire.KindFigures, wire.Figures{Phase: "write", Measurements: []result.Measurement{{Metric: "wall", Value: 1e300, Unit: "s"}}}},
	} {
		t.Run(fmt.Sprintf("%.30s", want), func(t *testing.T) {
			c := opened(t, ClientOptions{}, func(p *peer, m wire.Message) {
				_ = p.Send(one.kind, m.ID, one.body)
				_ = p.Send(wire.KindDone, m.ID, wire.Done{Outcome: result.SubjectFailed, Reason: "it was believed"})
			})
			trial := oneStep
			trial.Place = true
			_, err := c.Trial(context.Background(), trial, Events{})
			nonsenseIn(t, c, err, want)
		})
	}
	c := opened(t, ClientOptions{}, func(p *peer, m wire.Message) {
		_ = p.Send(wire.KindPlace, m.ID, kernelmemory.ChipPlace{Pages: 1, Bytes: 1, Frames: []uint64{0}})
		_ = p.Send(wire.KindDone, m.ID, wire.Done{Outcome: result.SubjectFailed, Reason: "it was believed"})
	})
	_, err := c.Trial(context.Background(), oneStep, Events{})
	nonsenseIn(t, c, err, "not requested")
}
