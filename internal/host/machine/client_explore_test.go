package machine

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"whichfs/internal/fault/script"
	"whichfs/internal/result"
	"whichfs/internal/testing/parsed"
	"whichfs/internal/wire"
)

// Impossible results of an exploration are nonsense, and are not taken for a death.
func TestExploreNonsense(t *testing.T) {
	for name, c := range map[string]struct{ kind, body, want string }{
		"other kind":      {wire.KindPhase, `{"phase":"x"}`, `"phase" during an exploration`},
		"other script":    {wire.KindLooking, `{"script":1,"state":1}`, "of script 1, of 1 scripts"},
		"before states":   {wire.KindLooking, `{"state":-1}`, "state -1"},
		"empty finding":   {wire.KindFound, `{"state":1}`, "an empty finding"},
		"other file":      {wire.KindRecorded, `{"name":"porridge"}`, `named "porridge"`},
		"no tallies":      {wire.KindExplored, `{}`, "tallies of 0 scripts where 1"},
		"other sum":       {wire.KindExplored, `{"scripts":[{"states":3,"outcomes":{"whole":2}}]}`, "an impossible tally"},
		"unknown outcome": {wire.KindExplored, `{"scripts":[{"states":3,"outcomes":{"eaten":3}}]}`, `outcome "eaten"`},
		"more checked":    {wire.KindExplored, `{"scripts":[{"states":1,"checked":2,"outcomes":{"whole":1}}]}`, "an impossible tally"},
		"tallied":         {wire.KindTallied, `{"state":1,"tally":{"states":-1}}`, "an impossible tally"},
		"nothing sent":    {wire.KindExplored, `{"scripts":[{"states":1,"entries":5,"outcomes":{"whole":1}}]}`, "not sent completely"},
	} {
		cl := opened(t, ClientOptions{}, func(p *peer, m wire.Message) { p.raw(c.kind, m.ID, c.body) })
		order := wire.Explore{Candidate: parsed.Candidate("ext4"), Send: true, Scripts: []script.Script{{Name: "x"}}}
		_, err := cl.Explore(context.Background(), order, nil, ExploreEvents{})
		var e *result.Failure
		var gone *Gone
		if !errors.As(err, &e) || e.Outcome != result.LabFailed || !strings.Contains(err.Error(), c.want) || errors.As(err, &gone) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	before, _ := pair(t, ClientOptions{})
	if _, err := before.Explore(context.Background(), wire.Explore{}, nil, ExploreEvents{}); err == nil {
		t.Error("an exploration before the session was prepared")
	}
}

// Files go to the agent in pieces and in order; an agent that ends is gone, and one that refuses is
// not.
func TestExploreSendsFilesAndReportsGone(t *testing.T) {
	dead := make(chan struct{})
	var got []byte
	says := result.Refused
	cl := opened(t, ClientOptions{Grace: time.Minute, Dead: dead}, func(p *peer, m wire.Message) {
		var g wire.Give
		switch {
		case m.Kind == wire.KindGive:
			_ = m.Decode(&g)
			got = append(got, g.Data...)
			_ = p.Send(wire.KindGiven, m.ID, nil)
		case says != "":
			_ = p.Send(wire.KindFailed, m.ID, result.Failure{Outcome: says, Reason: "no"})
			says = ""
		default:
			_ = p.Send(wire.KindLooking, m.ID, wire.Looking{State: 7})
			close(dead)
			_ = p.out.Close()
		}
	})
	long := make([]byte, wire.PieceSize+5)
	long[wire.PieceSize] = 9
	order := wire.Explore{Candidate: parsed.Candidate("ext4"), Given: "log"}
	var e *result.Failure
	var gone *Gone
	if _, err := cl.Explore(context.Background(), order, map[string][]byte{"log": long}, ExploreEvents{}); !errors.As(err, &e) || e.Outcome != result.Refused || errors.As(err, &gone) {
		t.Errorf("turned down: %v", err)
	}
	if len(got) != len(long) || got[wire.PieceSize] != 9 {
		t.Errorf("%d bytes arrived", len(got))
	}
	last := int64(0)
	_, err := cl.Explore(context.Background(), order, nil, ExploreEvents{Looking: func(l wire.Looking) { last = l.State }})
	if !errors.As(err, &gone) || !gone.Ended || last != 7 || !strings.Contains(err.Error(), "at state 7") {
		t.Errorf("an agent that ends: %v", err)
	}
}
