package main

import (
	"testing"
	"time"

	"whichfs/internal/app"
	"whichfs/internal/plan"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/testing/parsed"
)

// The time left is that of an earlier run until trials show how this one compares with it.
func TestTimeLeft(t *testing.T) {
	planned := plan.Plan{Rounds: 2, Machine: "local", Candidates: parsed.Candidates("ext4", "xfs", "vfat")}
	before := app.Durations{Run: "R", Trials: map[string]time.Duration{"ext4": 10 * time.Second, "xfs": 20 * time.Second}}
	shows := func(p *pace, want time.Duration, known bool) {
		t.Helper()
		if got, ok := p.timeLeft(); ok != known || got.Round(time.Second) != want {
			t.Errorf("%s (%v), want %s (%v)", got, ok, want, known)
		}
	}
	empty := newPace(planned, app.Durations{})
	shows(&empty, 0, false)
	p := newPace(planned, before)
	shows(&p, 2*(10+20+15)*time.Second, true) // vfat as long as the others' mean
	start := time.Now()
	p.end(result.Trial{Round: 1, Candidate: "ext4", Attempt: 1, Outcome: result.Done, Started: start, Ended: start.Add(5 * time.Second)})
	shows(&p, (5+2*10+2*5)*time.Second, true) // this machine is twice as fast now
	p.end(result.Trial{Round: 1, Candidate: "vfat", Attempt: 1, Outcome: result.Done, Started: start, Ended: start.Add(time.Second)})
	shows(&p, (5+2*10+1)*time.Second, true)
}

// Before the first trial ends, a run says how long it will take: by an earlier run, or by a guess, as a range.
func TestExpectedTime(t *testing.T) {
	full := plan.Plan{
		Rounds: 3, Machine: "lab", Clock: result.ClockVirtual, Storage: "sim:sd-basic,8G", Candidates: parsed.Candidates("ext4", "xfs"),
		ReadWrite: scenario.Scenario{{Work: "mkfs"}, {Work: "mount"}, {Work: "stream-write", Data: "stream", Count: 100}},
		Data:      []scenario.Data{{Name: "stream", Kind: "stream", Size: 1 << 30}},
	}
	guess := app.Guess(full)
	p := newPace(full, guess)
	p.lanes = 2
	if got, want := p.expected(), "about 38 min to 2.6 h, by the amount of work and the model of the storage; an interrupted run can be resumed"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	start := time.Now()
	long := guess.Trials["ext4"] / 2
	p.end(result.Trial{Round: 1, Candidate: "ext4", Attempt: 1, Outcome: result.Done, Started: start, Ended: start.Add(long)})
	if left, ok := p.timeLeft(); !ok || (left-5*long/2).Abs() > time.Second {
		t.Errorf("%s left, want the guess corrected to %s", left, 5*long/2)
	}
	for _, none := range []func(*plan.Plan){
		func(p *plan.Plan) { p.Machine = "local" }, func(p *plan.Plan) { p.Storage = "/dev/sda" }, func(p *plan.Plan) { p.Untimed = true },
		func(p *plan.Plan) { p.Data = []scenario.Data{{Name: "stream", Kind: "stream", Size: 1 << 20}} }, // short
	} {
		other := full
		none(&other)
		p := newPace(other, app.Guess(other))
		if got := p.expected(); got != "" {
			t.Errorf("%+v: %q", other, got)
		}
	}
	earlier := newPace(full, app.Durations{Run: "R", Trials: map[string]time.Duration{"ext4": time.Hour, "xfs": time.Hour}})
	earlier.lanes = 2
	if got, want := earlier.expected(), "about 3.0 h, if trials take as long as in run R; an interrupted run can be resumed"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
