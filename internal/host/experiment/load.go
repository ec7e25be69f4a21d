package experiment

import (
	"context"
	"time"

	"whichfs/internal/host/machine"
	"whichfs/internal/sys/units"
)

const (
	// quiet is the share of waiting below which a trial can be taken again: half of what makes it
	// necessary (result.TooBusy).
	quiet = 0.10
	// mostPatience is how long to wait for that. Each time in vain halves it, so that a machine that
	// stays busy costs a run little more than a minute; below leastPatience trials are taken again
	// only if the machine happens to be quiet.
	mostPatience  = 40 * time.Second
	leastPatience = 5 * time.Second
	// betweenTries of the machine.
	betweenTries = 4 * time.Second
)

// quieter waits a while for the machine to become quieter, and reports whether to take a disturbed
// trial again.
func (e *Experiment) quieter(ctx context.Context) bool {
	shared, ok := e.Machine.(machine.Shared)
	spent := func() bool { return e.Plan.Budget > 0 && e.Now().Sub(e.begun) >= e.Plan.Budget }
	began := e.Now()
	for said := false; ok; said = true {
		if ctx.Err() != nil {
			return false
		}
		if spent() {
			e.note("the budget leaves no time to take it again")
			return false
		}
		busy := shared.Busy(ctx)
		if busy < quiet {
			e.patience, e.resigned = mostPatience, false
			break
		}
		if e.Now().Sub(began) >= e.patience {
			if e.patience == 0 {
				if !e.resigned {
					e.note("this machine stays busy (%s of the time): disturbed trials count with a mark, and are taken again only if it becomes quieter", units.Share(busy))
				}
				e.resigned = true
				return false
			}
			if e.patience /= 2; e.patience < leastPatience {
				e.patience = 0
			}
			e.note("this machine is still busy (%s of the time); taking it again nevertheless", units.Share(busy))
			return true
		}
		if !said {
			e.note("this machine is busy %s of the time; waiting up to %s before taking it again", units.Share(busy), units.Rough(e.patience))
		}
		e.Pause(ctx, betweenTries)
	}
	e.note("taking it again")
	return true
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
