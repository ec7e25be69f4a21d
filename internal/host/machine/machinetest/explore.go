package machinetest

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"whichfs/internal/fault/finding"
	"whichfs/internal/fault/script"
	"whichfs/internal/fault/states"
	"whichfs/internal/fault/writelog"
	"whichfs/internal/host/machine"
	"whichfs/internal/result"
	"whichfs/internal/testing/parsed"
	"whichfs/internal/wire"
)

// An exploration is recorded, or refused where the kernel cannot; the recording is explored;
// impossible orders do not harm the session.
func testExplore(t *testing.T, s machine.Session) {
	e, ok := s.(machine.Explorer)
	if !ok {
		t.Fatal("the session cannot explore crash states")
	}
	var refusal *result.Failure
	for name, order := range map[string]wire.Explore{
		"no script":  {Candidate: parsed.Candidate("ext4"), Given: "log"},
		"no finding": {Candidate: parsed.Candidate("ext4"), Given: "finding"},
	} {
		if out, err := e.Explore(within(t), order, nil, machine.ExploreEvents{}); !errors.As(err, &refusal) || refusal.Outcome != result.Refused || len(out.Scripts) != 0 {
			t.Errorf("%s: %v, %+v", name, err, out)
		}
	}
	one := script.Script{Name: "contract", Ops: []script.Op{{Do: "create", Path: "a"}, {Do: "write", Path: "a", Size: 100}, {Do: "fsync", Path: "a"}}}
	given := map[string][]byte{}
	_, err := e.Explore(within(t), wire.Explore{Candidate: parsed.Candidate("ext4"), Scripts: []script.Script{one}, RecordOnly: true}, nil,
		machine.ExploreEvents{Recorded: func(r wire.Recorded) { given[r.Name] = append(given[r.Name], r.Data...) }})
	if errors.As(err, &refusal) && refusal.Outcome == result.Unsupported {
		if slices.ContainsFunc(s.Facts().Conditions, func(c result.Condition) bool { return c.Name == "lab image" }) {
			t.Fatalf("a guest of the lab cannot record: %v", err)
		}
		t.Logf("nothing can be recorded here: %v (%s)", err, refusal.Hint)
		if _, err := s.Support(within(t), parsed.Candidates("ext4")); err != nil || refusal.Hint == "" {
			t.Errorf("the session afterwards: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatalf("recording: %v", Explain(err))
	}
	if l, err := writelog.Read(bytes.NewReader(given["log"]), int64(len(given["log"]))); err != nil || len(l.Entries) < 2*len(one.Ops) || len(given["base"]) == 0 {
		t.Fatalf("a log of %d entries, %v, and a base of %d bytes", len(l.Entries), err, len(given["base"]))
	}
	looked, last := 0, finding.Tally{}
	out, err := e.Explore(within(t), wire.Explore{Candidate: parsed.Candidate("ext4"), Scripts: []script.Script{one}, Given: "log", States: states.Options{Most: 10, Whole: true}}, given,
		machine.ExploreEvents{Looking: func(wire.Looking) { looked++ }, Tallied: func(t wire.Tallied) { last = t.Tally }})
	if err != nil {
		t.Fatalf("exploring: %v", Explain(err))
	}
	if got := out.Scripts[0]; got.States == 0 || got.Broken != 0 || got.Script != one.Name || looked == 0 || last.States != got.States {
		t.Errorf("%+v, %d words of it, at last %+v", got, looked, last)
	}
	if _, err := s.Support(within(t), parsed.Candidates("ext4")); err != nil {
		t.Errorf("the session afterwards: %v", err)
	}
}
