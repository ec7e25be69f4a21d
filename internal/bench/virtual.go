package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"whichfs/internal/filesystem"
	"whichfs/internal/host/lab"
	kernels "whichfs/internal/host/lab/virtual"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/usermode"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
	"whichfs/internal/wire"
)

// virtualSubjects are the filesystems whose trials are added up.
var virtualSubjects = []string{"ext4", "btrfs -m single", "f2fs"}

// leastPhase is the least time of a phase that is shown, in seconds.
const leastPhase = 1e-3

// phaseTimes are the times of a phase in seconds, of all subjects.
type phaseTimes struct{ virtual, host, wall float64 }

// virtualTimes measures a trial of each subject in virtual time and by wall clock in turns, on the same simulated
// card, and shows for each phase how much time passed in the guest and on this host.
func virtualTimes(ctx context.Context, c Config, out io.Writer) error {
	if err := lab.Missing(lab.Native()); err != nil {
		return unavailable("%v", err)
	}
	if _, err := kernels.Locate(kernels.Choice{}); err != nil {
		return unavailable("%v", err)
	}
	wall, err := newLab(ctx, c)
	if err != nil {
		return err
	}
	free := *wall
	free.machine, free.spec.Virtual, free.spec.Seed = usermode.New(usermode.Options{Agent: agentPath(c)}), true, 1
	var phases []string
	times := map[string]*phaseTimes{}
	for _, subject := range virtualSubjects {
		awaitQuiet(quietLimit)
		err := free.timed(ctx, subject, func(phase string, guest, host float64) {
			if times[phase] == nil {
				phases, times[phase] = append(phases, phase), &phaseTimes{}
			}
			times[phase].virtual += guest
			times[phase].host += host
		})
		if err == nil {
			err = wall.timed(ctx, subject, func(phase string, guest, _ float64) {
				if times[phase] != nil {
					times[phase].wall += guest
				}
			})
		}
		if err != nil {
			return fmt.Errorf("%s: %w", subject, err)
		}
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "phase of %s, %d filesystems\tvirtual time\ttook here\ttimes faster\tby wall clock\tof which is storage\n", quickStudy, len(virtualSubjects))
	var sum phaseTimes
	line := func(name string, t phaseTimes) {
		fmt.Fprintf(table, "%s\t%s\t%s\t%.1f\t%s\t%.0f %%\n", name, units.Value(t.virtual, "s"), units.Value(t.host, "s"), t.virtual/t.host, units.Value(t.wall, "s"), 100*t.virtual/t.wall)
	}
	for _, p := range phases {
		t := times[p]
		if t.virtual < leastPhase {
			continue // the storage has no part in it
		}
		line(p, *t)
		sum.virtual, sum.host, sum.wall = sum.virtual+t.virtual, sum.host+t.host, sum.wall+t.wall
	}
	line("all", sum)
	return table.Flush()
}

// timed carries out one trial and reports, for every measured phase, its time by the guest's clock and by this
// host's, in seconds.
func (p *place) timed(ctx context.Context, candidate string, took func(phase string, guest, host float64)) (err error) {
	c, err := filesystem.Parse(candidate)
	if err != nil {
		return err
	}
	s, err := p.machine.Start(ctx, p.spec)
	if err != nil {
		return fmt.Errorf("start a guest: %w", err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	var begin time.Time
	done, err := s.Trial(ctx, wire.Trial{Candidate: c, Scenario: p.study.Scenario(false, p.scale), StepLimit: 3600}, machine.Events{
		Phase: func(string) { begin = time.Now() },
		Figures: func(f wire.Figures) {
			for _, m := range f.Measurements {
				if m.Metric == result.Wall && m.Absent == "" {
					took(m.Phase, m.Value, time.Since(begin).Seconds())
				}
			}
		},
	})
	if err == nil && done.Outcome != result.Done {
		err = fmt.Errorf("the trial ended %s in %s: %s", done.Outcome, done.Phase, done.Reason)
	}
	return err
}
