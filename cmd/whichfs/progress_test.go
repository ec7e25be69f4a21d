package main

import (
	"testing"
	"time"

	"whichfs/internal/app"
	"whichfs/internal/plan"
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
