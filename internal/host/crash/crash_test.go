package crash

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"whichfs/internal/fault"
	"whichfs/internal/fault/finding"
	"whichfs/internal/fault/script"
	"whichfs/internal/fault/states"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/fake"
	"whichfs/internal/result"
	"whichfs/internal/target/explore"
	"whichfs/internal/testing/parsed"
	"whichfs/internal/testing/wait"
	"whichfs/internal/wire"
)

func scripts(names ...string) []script.Script {
	var out []script.Script
	for _, n := range names {
		out = append(out, script.Script{Name: n})
	}
	return out
}

func order(names ...string) Order {
	return Order{Explore: wire.Explore{Candidate: parsed.Candidate("ext4"), Scripts: scripts(names...), States: states.Options{Seed: 1}}, Guests: 1}
}

// faults has a short limit only where a guest hangs and the test waits for it.
func faults(all ...fake.Fault) *fake.Machine {
	limit := wait.Patience
	if slices.ContainsFunc(all, func(f fake.Fault) bool { return f.Kind == fake.Hang }) {
		limit = 5 * time.Second
	}
	return fake.New(fake.Script{Faults: all, Limit: limit.Seconds()})
}

func at(kind fake.Kind, number, times int) fake.Fault {
	return fake.Fault{Kind: kind, Phase: fake.AtExplore, Number: number, Times: times}
}

func carryOut(t *testing.T, m machine.Machine, o Order) Result {
	t.Helper()
	r, err := Run(t.Context(), m, SpecFor("lab", ""), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// numbers are those that must not depend on deaths.
func numbers(all []finding.Tally) []int64 {
	var out []int64
	for _, t := range all {
		out = append(out, t.States, t.Outcomes["whole"]+t.Outcomes["died"]+t.Outcomes["hang"]+t.Outcomes["lost"])
	}
	return out
}

func TestRunWithoutDeath(t *testing.T) {
	var told []wire.Progress
	m := faults()
	r, err := Run(t.Context(), m, SpecFor("lab", ""), order("a", "b"), func(p wire.Progress) { told = append(told, p) })
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Tallies) != 2 || r.Tallies[0].Script != "a" || r.Tallies[0].States < 10 || !r.Tallies[0].All || len(r.Findings) != 0 || len(r.Deaths) != 0 || m.Sessions() != 1 {
		t.Errorf("%+v, %d sessions", r, m.Sessions())
	}
	if len(told) < 20 || told[len(told)-1].Share < 0.5 {
		t.Errorf("progress %v", told)
	}
}

// A state that crashes a guest is a finding, and the next guest judges all others.
func TestDeathIsAFinding(t *testing.T) {
	want := numbers(carryOut(t, faults(), order("a", "b")).Tallies)
	m := faults(at(fake.Die, 7, 1), at(fake.Hang, 9, 1), at(fake.Subject, 3, 0))
	r := carryOut(t, m, order("a", "b"))
	if got := numbers(r.Tallies); !slices.Equal(got, want) {
		t.Errorf("%v states, want %v", got, want)
	}
	if m.Sessions() != 3 || len(r.Deaths) != 2 || r.Deaths[0].State != 7 || r.Deaths[0].Script != "a" || len(r.Deaths[0].Console) == 0 {
		t.Errorf("%d sessions, %+v", m.Sessions(), r.Deaths)
	}
	var died, hang, lost *finding.Finding
	for i, f := range r.Findings {
		switch f.Outcome {
		case fault.Died:
			died = &r.Findings[i]
		case fault.Hang:
			hang = &r.Findings[i]
		case fault.Lost:
			lost = &r.Findings[i]
		}
	}
	if died == nil || died.Number != 7 || died.Same != 1 || died.Minimal || died.Whole == "" || died.Script.Name != "a" ||
		!strings.Contains(strings.Join(died.Messages, "\n"), "die in @explore") || states.Check(died.Log, died.State) != nil || died.Kernel != "0.0.0-fake" {
		t.Errorf("died: %+v", died)
	}
	if hang == nil || hang.Number != 9 || lost == nil || lost.Number != 3 {
		t.Errorf("%+v", r.Findings)
	}
	if r.Tallies[0].Outcomes["died"] != 1 || r.Tallies[0].Outcomes["hang"] != 1 || r.Tallies[0].Outcomes["lost"] != 1 || r.Tallies[0].Stopped != "" {
		t.Errorf("%+v", r.Tallies[0])
	}
}

// A guest that dies again and again ends that script, with the states judged so far.
func TestTooManyDeaths(t *testing.T) {
	o := order("a")
	o.Restarts = 2
	m := faults(at(fake.Die, 5, 0), at(fake.Die, 6, 0), at(fake.Die, 7, 0), at(fake.Die, 8, 0))
	r := carryOut(t, m, o)
	if one := r.Tallies[0]; one.Stopped == "" || one.All || one.Outcomes["died"] != 3 || one.States != 4+3 || one.Entries == 0 {
		t.Errorf("%+v", one)
	}
	if len(r.Findings) != 1 || r.Findings[0].Same != 3 || r.Findings[0].Number != 5 {
		t.Errorf("%+v", r.Findings)
	}
}

// A failure of the machinery is an error, and no tally hides it.
func TestRunFails(t *testing.T) {
	for name, kind := range map[string]fake.Kind{"lab": fake.Lab, "nonsense": fake.Garbage, "corrupt": fake.Corrupt} {
		r, err := Run(t.Context(), faults(at(kind, 5, 0)), SpecFor("lab", ""), order("a", "b"), nil)
		var e *result.Failure
		if !errors.As(err, &e) || e.Outcome != result.LabFailed || len(r.Tallies) != 0 || len(r.Findings) != 0 {
			t.Errorf("%s: %v, %+v", name, err, r)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	r, err := Run(ctx, faults(), SpecFor("lab", ""), order("a", "b"), func(p wire.Progress) {
		if p.Share >= 0.5 {
			cancel(why)
		}
	})
	if !errors.Is(err, why) || len(r.Tallies) != 1 {
		t.Errorf("cancelled: %v, %+v", err, r.Tallies)
	}
	for name, o := range map[string]Order{"no script": order(), "no log": {Explore: wire.Explore{Candidate: parsed.Candidate("ext4"), Given: "log"}}, "unknown": {Explore: wire.Explore{Given: "porridge"}}} {
		var e *result.Failure
		if _, err := Run(t.Context(), faults(), SpecFor("lab", ""), o, nil); !errors.As(err, &e) || e.Outcome != result.Refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Recordings of one machine are judged on another; recordings from elsewhere are judged as well.
func TestRecordingsOfAnotherMachine(t *testing.T) {
	there, here := faults(), faults()
	o := order("a")
	o.Record = &Place{there, SpecFor("lab", "")}
	r := carryOut(t, here, o)
	if there.Sessions() != 1 || here.Sessions() != 1 || r.Tallies[0].States == 0 || len(r.Recordings) != 1 {
		t.Errorf("%d and %d sessions, %+v", there.Sessions(), here.Sessions(), r.Tallies)
	}
	o = order("a", "b")
	o.RecordOnly = true
	r = carryOut(t, there, o)
	if len(r.Recordings) != 2 || r.Recordings[1].Script.Name != "b" || len(r.Recordings[1].Log.Entries) == 0 || r.Tallies[1].States != 0 || r.Tallies[1].Entries == 0 {
		t.Errorf("%+v", r.Tallies)
	}
	given, err := files(r.Recordings[0])
	if err != nil {
		t.Fatal(err)
	}
	r = carryOut(t, faults(at(fake.Die, 4, 1)), Order{Explore: wire.Explore{Candidate: parsed.Candidate("ext4"), Given: "log"}, Files: given})
	if len(r.Tallies) != 1 || r.Tallies[0].Outcomes["died"] != 1 || r.Tallies[0].States < 10 {
		t.Errorf("%+v", r.Tallies)
	}
}

// A finding is reproduced and minimised; a guest that dies of that costs nothing else.
func TestReplayAndMinimise(t *testing.T) {
	o := order("a")
	o.Minimise = true
	r := carryOut(t, faults(at(fake.Subject, 3, 0)), o)
	if len(r.Findings) != 1 || !r.Findings[0].Minimal || r.Findings[0].Same != 1 {
		t.Fatalf("%+v", r.Findings)
	}
	f := r.Findings[0]
	now, facts, err := Replay(t.Context(), faults(), SpecFor("lab", ""), f, 0)
	if err != nil || explore.Key(now) != explore.Key(f) || facts.Kernel == "" || now.Kernel != facts.Kernel {
		t.Errorf("%+v, %v", now, err)
	}
	now, _, err = Replay(t.Context(), faults(at(fake.Die, 3, 0)), SpecFor("lab", ""), f, 0)
	if err != nil || now.Outcome != fault.Died || len(now.Breaches) != 0 || len(now.Messages) == 0 {
		t.Errorf("%+v, %v", now, err)
	}
}
