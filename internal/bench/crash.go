package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/fault/finding"
	"whichfs/internal/host/crash"
	"whichfs/internal/host/lab"
	"whichfs/internal/host/machine/qemu"
	"whichfs/internal/result"
)

// Limits of exploring crash states, in distinct states a second.
const (
	crashNative   = 500 // for each processor
	crashLabLimit = 100
	// In guests of the virtual lab: one, and one on each of two processors.
	crashVirtual, crashVirtualTwo = 500, 900
)

const (
	crashTurns = 3   // measured; one more goes first and is discarded
	crashMost  = 170 // states of each script in a turn
)

// crashScripts are the recorded scripts.
var crashScripts = []string{"atomic-replace", "append-fsync"}

// crashStages are in the order in which a state passes through them.
var crashStages = []string{"make", "mount", "judge", "unmount", "check"}

// crashSubject is one way to judge states.
type crashSubject struct {
	name    string
	limit   float64 // states a second; 0: none
	peer    bool    // it is compared with a bare mount
	turn    func(ctx context.Context) (finding.Tally, error)
	looking func() float64     // s of the last turn in which states were judged; nil: all of it
	rates   []float64          // states/s
	seconds map[string]float64 // of all workers, by stage, all turns
	took    float64            // of all workers in seconds, all turns
	workers int
	states  int64 // of one turn
	absent  error // why there are no figures
	// timeless: no time passes for the workers while they work, so the stages have no shares of it.
	timeless bool
}

// crashStates measures how many distinct crash states per second are explored: each made, mounted,
// judged and unmounted, by this kernel and in the lab.
func crashStates(ctx context.Context, c Config, out io.Writer) (err error) {
	if err := lab.Missing(lab.Native()); err != nil {
		return unavailable("%v", err)
	}
	work, release, err := workspace(c.Dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	m := &crashMachine{Machine: qemu.New(qemu.Options{Agent: agentPath(c)})}
	defer func() { err = errors.Join(err, m.end()) }()
	spec := crash.SpecFor(m.Name(), result.ClockWall)
	spec.Work = work
	if m.session, err = m.Machine.Start(ctx, spec); err != nil {
		return fmt.Errorf("start a guest: %w", err)
	}
	subjects, bare, err := crashSubjects(ctx, m, agentPath(c), spec, work)
	if err != nil {
		return err
	}
	var mounts, ratios []float64
	for turn := range crashTurns + 1 {
		for _, s := range subjects {
			if s.absent != nil {
				continue
			}
			awaitQuiet(quietLimit)
			rate, err := s.take(ctx, turn > 0)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			if !s.peer || s.absent != nil {
				continue
			}
			awaitQuiet(quietLimit)
			took, err := bareMounts(ctx, bare, work, s.states)
			if err != nil {
				return fmt.Errorf("mounting alone: %w", err)
			}
			if turn > 0 {
				mounts, ratios = append(mounts, float64(s.states)/took), append(ratios, rate*took/float64(s.states))
			}
		}
	}
	return crashTable(out, subjects, mounts, ratios)
}

// take runs one turn of a subject and returns its states per second; only a counted turn adds to
// the subject's figures.
func (s *crashSubject) take(ctx context.Context, counted bool) (rate float64, err error) {
	begin := time.Now()
	t, err := s.turn(ctx)
	took := time.Since(begin).Seconds()
	if s.looking != nil {
		took = s.looking()
	}
	var known *result.Failure
	if errors.Is(err, unix.ENODEV) || errors.As(err, &known) && known.Outcome == result.Unsupported {
		s.absent = err // this kernel lacks the filesystem, or loop devices
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if t.States == 0 {
		return 0, errors.New("there was no state to judge")
	}
	s.states, rate = t.States, float64(t.States)/took
	if !counted {
		return rate, nil
	}
	s.rates, s.took = append(s.rates, rate), s.took+took*float64(s.workers)
	if s.seconds == nil {
		s.seconds = map[string]float64{}
	}
	for stage, seconds := range t.Seconds {
		s.seconds[stage] += seconds
	}
	return rate, nil
}

func crashTable(out io.Writer, subjects []*crashSubject, mounts, ratios []float64) error {
	fmt.Fprintf(out, "Distinct states a second: each made, mounted, judged and unmounted, no write torn, none checked by the filesystem's own tool; scripts %s and %s, at most %d states each, recorded in the lab; %d turns; shares of the workers' time\n",
		crashScripts[0], crashScripts[1], crashMost, crashTurns)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "what\tstates\tstates/s\tlimit\t\t")
	for _, stage := range crashStages {
		fmt.Fprintf(table, "%s\t", stage)
	}
	fmt.Fprintln(table, "else\t")
	for _, s := range subjects {
		if s.absent != nil {
			fmt.Fprintf(table, "%s\tnot measured here: %v\t\n", s.name, s.absent)
			continue
		}
		rate := spreadOf(s.rates)
		limit, kept := "–", ""
		if s.limit > 0 {
			limit, kept = fmt.Sprintf("at least %g", s.limit), holds(rate.median >= s.limit)
		}
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%s\t", s.name, s.states, rate.text("%.0f", ""), limit, kept)
		if s.timeless {
			fmt.Fprintln(table)
			continue
		}
		rest := s.took
		for _, stage := range crashStages {
			rest -= s.seconds[stage]
			fmt.Fprintf(table, "%.0f %%\t", 100*s.seconds[stage]/s.took)
		}
		fmt.Fprintf(table, "%.0f %%\t\n", 100*rest/s.took)
	}
	if len(mounts) > 0 {
		fmt.Fprintf(table, "ext4, this kernel, a clean disk mounted and unmounted alone\t–\t%s\t–\t\t\n", spreadOf(mounts).text("%.0f", ""))
		fmt.Fprintf(table, "ext4, this kernel, one worker, by that rate\t–\t%s\t–\t\t\n", spreadOf(ratios).text("%.2f", ""))
	}
	return table.Flush()
}
