package qemu

import (
	"context"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/kernelmemory"
	"whichfs/internal/machine"
	"whichfs/internal/result"
	"whichfs/internal/wire"
)

// write runs the guest that is killed while it writes. The outcome Done means
// that it was killed in time.
func (c *cutter) write(ctx context.Context, one *oneCut, left *remains, wait time.Duration) (wire.Done, error) {
	p, err := left.writer(c.host)
	if err != nil {
		return wire.Done{}, err
	}
	s, err := c.session.lab.run(ctx, c.host, p, c.spec)
	if err != nil {
		return wire.Done{}, err
	}
	defer s.Close() //nolint:errcheck // it is dead
	var (
		once sync.Once
		cut  = make(chan struct{})
		quit = make(chan struct{})
		over sync.WaitGroup
	)
	events := machine.Events{
		Place: func(p kernelmemory.ChipPlace) { left.place = p },
		Safe: func(number int64) {
			one.safe = number
			once.Do(func() {
				over.Add(1)
				go func() {
					defer over.Done()
					select {
					case <-time.After(wait):
						left.cut(s.guest)
						close(cut)
					case <-quit:
					}
				}()
			})
		},
	}
	trial := wire.Trial{Candidate: c.order.Candidate, Variant: c.order.Variant, Scenario: c.writing(one.seed), StepLimit: cutPatience, Place: c.raw}
	done, err := s.Client.Trial(ctx, trial, events)
	close(quit)
	over.Wait()
	select {
	case <-cut:
		if ctx.Err() != nil {
			return wire.Done{}, machine.Canceled(ctx)
		}
		return wire.Done{Outcome: result.Done}, nil
	default:
	}
	if err == nil && done.Outcome == result.Done {
		err = result.Fail(result.LabFailed, "", "the work that was to be cut off came to an end by itself")
	}
	return done, err
}

// look runs the guest that mounts what is left and compares it with what was
// promised. A filesystem that cannot be mounted, or has lost something, is a
// finding, and the outcome Done.
func (c *cutter) look(ctx context.Context, one *oneCut, left *remains) (wire.Done, error) {
	p, err := left.looker(c.host)
	if err != nil {
		return wire.Done{}, err
	}
	s, err := c.session.lab.run(ctx, c.host, p, c.spec)
	if err != nil {
		return wire.Done{}, err
	}
	defer s.Close() //nolint:errcheck // nothing of it is needed
	events := machine.Events{Figures: func(f wire.Figures) {
		for _, m := range f.Measurements {
			if m.Absent == "" {
				one.figures[m.Phase+" "+m.Metric] = m.Value
			}
		}
		one.notes = append(one.notes, f.Notes...)
		one.mounted = one.mounted || f.Phase == phaseMountCut
	}}
	trial := wire.Trial{Candidate: c.order.Candidate, Variant: c.order.Variant, Scenario: c.looking(one.seed, one.safe), StepLimit: cutPatience}
	if c.raw {
		trial.Chip = chipSerial
	}
	done, err := s.Client.Trial(ctx, trial, events)
	if err != nil {
		// The guest's death by a filesystem that is damaged is a finding too.
		if line := panicked(s.Console()); line != "" && ctx.Err() == nil {
			one.reason = "the kernel: " + line
			return wire.Done{Outcome: result.Done}, nil
		}
		return wire.Done{}, err
	}
	if done.Outcome == result.SubjectFailed {
		one.reason = done.Phase + ": " + done.Reason
		done = wire.Done{Outcome: result.Done}
	}
	return done, nil
}

// panicked is what a kernel said that gave up; "" if it did not.
func panicked(console []string) string {
	for _, line := range console {
		if strings.Contains(line, "Kernel panic") {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

// cut takes the power away. A guest whose device lives here is stopped first, so
// that it does nothing with the answers that it no longer gets.
func (r *remains) cut(g *guest) {
	if r.sim != nil && !r.killed {
		pid := g.process.Pid()
		if syscall.Kill(pid, syscall.SIGSTOP) == nil {
			_ = unix.Waitid(unix.P_PID, pid, nil, unix.WSTOPPED, nil)
		}
		r.loss = r.sim.server.Cut()
	}
	_ = g.process.Kill() // the session's end tells of one that stays
}
