package agent

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/filesystem"
	"whichfs/internal/meter"
	"whichfs/internal/result"
	"whichfs/internal/scenario"
	"whichfs/internal/storage"
	"whichfs/internal/wire"
	"whichfs/internal/workload"
)

// trial carries out one scenario. Whatever happens, the storage is unmounted
// and the kernel has the modules that it had before.
func (a *Agent) trial(ctx context.Context, id uint64, t wire.Trial) wire.Done {
	c, err := filesystem.Parse(t.Candidate)
	if err != nil {
		return done("", &workload.Failure{Outcome: result.Refused, Reason: err.Error()})
	}
	if err := a.claim.Recheck(); err != nil {
		return done("storage", err)
	}
	r := &runner{agent: a, id: id, limit: time.Duration(t.StepLimit * float64(time.Second)), env: &workload.Env{
		Candidate: c, FS: c.Filesystem(),
		Device: a.claim.Path(), Name: a.claim.Name(),
		Mount: filepath.Join(a.work, "mnt"), Work: a.work,
		Trees: a.trees, Streams: a.streams, TreeDir: a.treeDir,
		Modules: a.modules, AtStart: a.o.AtStart, Counts: a.counts,
		Discard: func(ctx context.Context) (string, error) { return a.claim.Discard(ctx) },
	}}
	r.meter = meter.New(meter.Config{
		Device: a.claim.Name(), Uncounted: a.claim.Uncounted(), Threads: r.env.FS.Threads, Instructions: a.counts,
	})
	defer r.meter.Close()
	a.used = true
	phase, err := r.run(ctx, t.Scenario)
	if clean := r.cleanUp(); err == nil && clean != nil {
		phase, err = "clean-up", clean
	}
	// No filesystem is to blame for storage that was pulled out under it.
	var gone *storage.Gone
	if err != nil && errors.As(a.claim.Recheck(), &gone) {
		err = fmt.Errorf("%w (in phase %s: %v)", gone, phase, err)
	}
	return done(phase, err)
}

func done(phase string, err error) wire.Done {
	if err == nil {
		return wire.Done{Outcome: result.Done}
	}
	f := failed(err)
	return wire.Done{Outcome: f.Outcome, Phase: phase, Reason: f.Reason, Hint: f.Hint}
}

// runner performs the steps of one trial.
type runner struct {
	agent *Agent
	id    uint64
	limit time.Duration
	env   *workload.Env
	meter *meter.Meter
}

// run performs every step and returns the phase that failed.
func (r *runner) run(ctx context.Context, s scenario.Scenario) (string, error) {
	for _, step := range s {
		name := phaseName(step)
		if err := r.agent.conn.Send(wire.KindPhase, r.id, wire.PhaseBegun{Phase: name}); err != nil {
			return name, err
		}
		if err := r.step(ctx, step); err != nil {
			return name, err
		}
		// The sentinel follows the discard: the storage is empty and idle, and
		// nothing is there yet that its bytes could spoil.
		if step.Work == workload.Discard.Name {
			if err := r.sentinel(); err != nil {
				return "sentinel", err
			}
		}
	}
	return "", nil
}

// phaseName is what a step is called where it has no phase.
func phaseName(step scenario.Step) string {
	if step.Phase != "" {
		return step.Phase
	}
	return step.Work
}

func (r *runner) step(ctx context.Context, step scenario.Step) error {
	kind, ok := workload.ByName(step.Work)
	if !ok {
		return &workload.Failure{Outcome: result.Refused, Reason: fmt.Sprintf("unknown kind of work %q", step.Work)}
	}
	if r.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, r.limit, workload.Subject("not finished after %s", r.limit))
		defer cancel()
	}
	if step.Only == "reflink" && !r.env.FS.Reflink {
		return r.absent(step.Phase, r.env.FS.Title+" does not share blocks between files", nil)
	}
	job, err := kind.Setup(ctx, r.env, step)
	if err != nil {
		return err
	}
	var figures []result.Measurement
	var notes []result.Note
	switch {
	case job.Absent != "":
		return r.absent(step.Phase, job.Absent, job.AbsentMetrics)
	case job.Given > 0:
		figures = r.meter.Given(phaseName(step), job.Given)
		figures = append(figures, r.meter.Shares(figures, 0, 0)...)
	default:
		// A step without a phase is measured like the others, only for what the
		// kernel says meanwhile; send leaves its figures out.
		var t workload.Tally
		figures, notes, err = r.meter.Around(phaseName(step), func() error { return job.Run(&t) })
		if step.Phase == "" {
			notes = slices.DeleteFunc(notes, func(n result.Note) bool { return n.Level == result.Info }) // about the figures
		}
		if t.Bytes > 0 {
			figures = append(figures, result.Measurement{Metric: result.DataBytes, Value: float64(t.Bytes), Unit: "B"})
		}
		if t.Files > 0 {
			figures = append(figures, result.Measurement{Metric: result.DataFiles, Value: float64(t.Files), Unit: "1"})
		}
		figures = append(figures, r.meter.Shares(figures, t.Files, t.Bytes)...)
	}
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		_ = r.send(step, nil, notes, nil)
		return withKernel(err, notes)
	}
	var extra workload.Extra
	if job.After != nil {
		if extra, err = job.After(); err != nil {
			return err
		}
	}
	for i := range extra.Notes {
		extra.Notes[i].Phase = phaseName(step)
	}
	return r.send(step, append(figures, extra.Measurements...), append(notes, extra.Notes...), extra.Options)
}

// kernelLines is how many of the kernel's messages a failure quotes.
const kernelLines = 3

// withKernel adds what the kernel said to a failure of the subject: it explains
// one better than an error number does.
func withKernel(err error, notes []result.Note) error {
	var f *workload.Failure
	if !errors.As(err, &f) || f.Outcome != result.SubjectFailed {
		return err
	}
	var said []string
	for _, n := range notes {
		text, ok := strings.CutPrefix(n.Text, "kernel: ")
		if ok && n.Phase != "" && len(said) < kernelLines { // what came before the phase has none
			said = append(said, text)
		}
	}
	if len(said) == 0 {
		return err
	}
	full := *f
	full.Reason += " (the kernel: " + strings.Join(said, "; ") + ")"
	return &full
}

// absent reports a phase that cannot be measured here.
func (r *runner) absent(phase, why string, metrics []result.Measurement) error {
	if phase == "" {
		return nil
	}
	figures := append(r.meter.Without(phase, why), metrics...)
	for i := range figures {
		figures[i].Absent = why
	}
	return r.send(scenario.Step{Phase: phase}, figures, nil, nil)
}

// send stamps figures with their phase; notes have theirs, or none. A step without phase sends only notes
// and options.
func (r *runner) send(step scenario.Step, figures []result.Measurement, notes []result.Note, options []result.Option) error {
	if step.Phase == "" {
		figures = nil
	}
	name := phaseName(step)
	if len(figures)+len(notes)+len(options) == 0 {
		return nil
	}
	for i := range figures {
		figures[i].Phase = name
	}
	return r.agent.conn.Send(wire.KindFigures, r.id, wire.Figures{Phase: name, Measurements: figures, Notes: notes, Options: options})
}

// sentinel reads and writes the same bytes before every trial: a figure of the
// storage alone, whose movement over a run is drift of the storage or of the
// machine.
func (r *runner) sentinel() error {
	write, read := storage.Sentinel(r.env.Device)
	figures := []result.Measurement{
		{Metric: result.SentinelWrite, Unit: "s", Value: write.Seconds, Absent: write.Absent},
		{Metric: result.SentinelRead, Unit: "s", Value: read.Seconds, Absent: read.Absent},
	}
	r.meter.Seconds(figures)
	return r.send(scenario.Step{Phase: "sentinel"}, figures, nil, nil)
}

// cleanUp leaves the machine as the trial found it.
func (r *runner) cleanUp() error {
	var errs []error
	if r.env.Mounted {
		if err := unix.Unmount(r.env.Mount, 0); err != nil {
			errs = append(errs, fmt.Errorf("unmounting after the trial: %w", err))
			_ = unix.Unmount(r.env.Mount, unix.MNT_DETACH)
		}
	}
	if r.env.Image != "" {
		_ = unix.Unlink(r.env.Image)
	}
	if _, err := workload.UnloadModules(r.agent.before); err != nil {
		errs = append(errs, fmt.Errorf("unloading modules: %w", err))
	}
	return errors.Join(errs...)
}
