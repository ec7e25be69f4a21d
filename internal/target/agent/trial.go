package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/filesystem"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/sys/command"
	"whichfs/internal/target/meter"
	"whichfs/internal/target/storage"
	"whichfs/internal/target/workload"
	"whichfs/internal/wire"
)

// trial performs one scenario. Whatever happens, it unmounts the storage and unloads the modules
// that the trial brought.
func (a *Agent) trial(ctx context.Context, id uint64, t wire.Trial) wire.Done {
	c, err := t.Candidate.With(t.Variant.Make, t.Variant.Mount)
	if err != nil {
		return done("", result.Refuse("", "%v", err))
	}
	if reason, hint := c.Misplaced(a.raw); reason != "" {
		return done("", result.Refuse(hint, "%s", reason))
	}
	if t.Scenario.Damages() && !a.risk {
		return done("", workload.AtRisk())
	}
	if a.hangs != nil {
		return done("storage", fmt.Errorf("the storage is left alone: %w", a.hangs))
	}
	// A simulated chip is ours alone, and different in every trial.
	if a.chip == nil {
		if err := a.claim.Recheck(); err != nil {
			return done("storage", err)
		}
	}
	if err := a.cut(c, t.Variant); err != nil {
		return done("storage", err)
	}
	if err := a.readyForCut(ctx, id, t); err != nil {
		return done("storage", err)
	}
	device, name := a.claim.Path(), a.claim.Name()
	part, err := a.part(c, t.Variant.Part)
	if err != nil {
		return done("part", err)
	}
	if part != nil {
		device, name = part.Path, part.Name
	}
	claim := a.claim // a step that returns after it was abandoned finds another, or none, in a
	fs := c.Filesystem()
	fs.Module = a.modules.Driver(fs)
	r := &runner{agent: a, claim: claim, id: id, limit: time.Duration(t.StepLimit * float64(time.Second)), paced: t.Paced, env: &workload.Env{
		Candidate: c, FS: fs,
		Device: device, Name: name,
		Mount: filepath.Join(a.work, "mnt"), Work: a.work,
		Trees: a.trees, Streams: a.streams, TreeDir: a.treeDir,
		Modules: a.modules, AtStart: a.o.AtStart, Counts: a.counts, Virtual: a.virtual,
		Discard: func(ctx context.Context) (string, error) { return claim.Discard(ctx) },
		Right:   func(flags int) (*storage.Right, error) { return claim.Right(part, flags) },
		Raw:     a.raw,
	}}
	r.env.Safe = func(number int64) error { return r.tell(wire.KindSafe, wire.Safe{Number: number}) }
	if a.raw {
		r.env.Way, _ = c.OnFlash()
	}
	if a.chip != nil {
		r.env.Chip, r.env.Discard = a.chip, a.chip.empty
	}
	r.meter = meter.New(meter.Config{
		Device: name, Uncounted: a.claim.Uncounted(), Threads: r.env.FS.Threads, Instructions: a.counts, Virtual: a.virtual, Modelled: a.chip != nil, Raw: a.raw, Load: a.load,
	})
	if a.load {
		ctx = command.Watch(ctx, r.meter.Ended)
	}
	r.part = part
	a.used = true
	phase, err := r.run(ctx, t.Scenario)
	if a.hangs == nil {
		a.chip.touched()
		if clean := r.within(r.cleanUp); err == nil && clean != nil {
			phase, err = "clean-up", clean
		}
	}
	if a.hangs == nil {
		r.meter.Close()
		// A filesystem is not to blame for storage that was removed.
		var gone *storage.Gone
		if err != nil && a.chip == nil && !errors.As(err, &gone) && errors.As(a.claim.Recheck(), &gone) {
			err = fmt.Errorf("%w (in phase %s: %v)", gone, phase, err)
		}
		if left := a.claim.Left(); err == nil && left != nil {
			phase, err = "clean-up", left
		}
	}
	d := done(phase, err)
	d.Hangs = a.hangs != nil
	return d
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
	claim *storage.Claim
	id    uint64
	limit time.Duration
	paced bool // wire.Trial.Paced
	env   *workload.Env
	meter *meter.Meter
	part  *storage.Part // that holds the filesystem; nil: all of the storage does
	// left: a step did not return, and its late results are not wanted.
	left  atomic.Bool
	stuck atomic.Pointer[command.Stuck] // a program that cannot be killed
}

// run performs every step and returns the phase that failed.
func (r *runner) run(ctx context.Context, s scenario.Scenario) (string, error) {
	for i := 0; i < len(s); i++ {
		step := s[i]
		name := phaseName(step)
		if err := r.tell(wire.KindPhase, wire.PhaseBegun{Phase: name}); err != nil {
			return name, err
		}
		if r.paced {
			if err := r.agent.inbox.Go(r.id); err != nil {
				return name, err
			}
			settle()
		}
		if err := r.within(func() error { return r.env.Watch(func() error { return r.step(ctx, step) }) }); err != nil {
			var much *tooMuch
			next := s.Anew(i + 1)
			if next < 0 || !errors.As(err, &much) || ctx.Err() != nil || r.agent.hangs != nil {
				return name, err
			}
			if err := r.giveUp(s[i:next], much); err != nil {
				return name, err
			}
			i = next - 1
			continue
		}
		// The sentinel follows the discard: the storage is empty and idle, and holds nothing that
		// its bytes could damage.
		if step.Work == workload.Discard.Name {
			if err := r.within(r.sentinel); err != nil {
				return "sentinel", err
			}
			r.meter.Emptied()
		}
	}
	return "", r.wear()
}

// tooMuch is the end of measured work that was more than the step has time for, or the filesystem space.
type tooMuch struct{ error }

func (t *tooMuch) Unwrap() error { return t.error }

// giveUp reports the steps up to the one that makes the filesystem anew, of which the first was too much:
// their figures are absent, and those of the new filesystem are as good as any.
func (r *runner) giveUp(steps scenario.Scenario, why error) error {
	first := phaseName(steps[0])
	note := result.Note{Phase: first, Level: result.Warning, Text: "given up, and gone on with a new filesystem: " + why.Error()}
	if err := r.tell(wire.KindFigures, wire.Figures{Phase: first, Notes: []result.Note{note}}); err != nil {
		return err
	}
	reason := why.Error()
	for _, step := range steps {
		if err := r.absent(step.Phase, reason, nil); err != nil {
			return err
		}
		reason = first + " was given up: " + why.Error()
	}
	return nil
}

// settle waits until nothing else has wanted a processor for a while: whoever carries messages over a slow line
// acknowledges the last one now. Where there is other work, that does not end, and a phase is not kept waiting for it.
func settle() {
	const still, patience = 5, 50 // looks, a millisecond apart
	for quiet, looks := 0, 0; quiet < still && looks < patience; looks++ {
		time.Sleep(time.Millisecond)
		if quiet++; others() {
			quiet = 0
		}
	}
}

// others reports whether any other thread of this machine is running or wants to.
func others() bool {
	text, err := os.ReadFile("/proc/loadavg") // "0.20 0.18 0.12 1/80 11206"
	words := strings.Fields(string(text))
	return err == nil && len(words) > 3 && !strings.HasPrefix(words[3], "1/")
}

// wear sends the total wear of raw flash.
func (r *runner) wear() error {
	var cycles int64 // unknown for a real chip
	if r.agent.chip != nil {
		cycles = r.agent.chip.chip.Cycles
	}
	figures := r.meter.Wear(cycles)
	if figures == nil {
		return nil
	}
	return r.send(scenario.Step{Phase: meter.WholeTrial}, figures, nil, nil)
}

// phaseName is the name of a step without a phase.
func phaseName(step scenario.Step) string {
	if step.Phase != "" {
		return step.Phase
	}
	return step.Work
}

func (r *runner) step(ctx context.Context, step scenario.Step) error {
	kind, ok := workload.ByName(step.Work)
	if !ok {
		return result.Refuse("", "unknown kind of work %q", step.Work)
	}
	if r.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, r.limit, workload.Subject("not finished after %s", r.limit))
		defer cancel()
	}
	if why := r.except(step.Only); why != "" {
		return r.absent(step.Phase, why, nil)
	}
	job, err := kind.Setup(ctx, r.env, step)
	if err != nil {
		return r.cutShort(ctx, err)
	}
	if err := r.verify(); err != nil {
		return err
	}
	var figures []result.Measurement
	var notes []result.Note
	switch {
	case job.Absent != "":
		return r.absent(step.Phase, job.Absent, job.AbsentMetrics)
	case job.Given > 0:
		figures = r.meter.Given(job.Given)
		figures = append(figures, r.meter.Shares(figures, 0, 0)...)
	default:
		// A step without a phase is measured like the others, but only for the kernel messages
		// meanwhile; send omits its figures.
		var t workload.Tally
		figures, notes, err = r.meter.Around(phaseName(step), func() error { return job.Run(&t) })
		notes = slices.DeleteFunc(notes, chipNoise)
		r.meter.Earlier(figures, job.Earlier)
		if job.Programs || job.Computes && r.meter.Charged() {
			r.meter.Programs(figures)
		}
		if job.Wears && err == nil {
			figures = append(figures, r.meter.Worn()...)
		}
		if job.Simulates && err == nil {
			notes = nil
		}
		if step.Phase == "" {
			notes = slices.DeleteFunc(notes, func(n result.Note) bool { return n.Level == result.Info }) // about the figures
		}
		if t.Bytes > 0 {
			figures = append(figures, result.Figure(result.DataBytes, float64(t.Bytes)))
		}
		if t.Ops > 0 {
			figures = append(figures, result.Figure(result.Ops, float64(t.Ops)))
		}
		if t.Files > 0 {
			figures = append(figures, result.Figure(result.DataFiles, float64(t.Files)))
		}
		figures = append(figures, r.meter.Shares(figures, t.Files, t.Bytes)...)
	}
	if still := cmp.Or(unmounted(r.env), r.claim.Verify()); still != nil {
		return still
	}
	if err != nil {
		_ = r.send(step, nil, notes, nil)
		much := step.Phase != "" && (ctx.Err() != nil || errors.Is(err, unix.ENOSPC))
		if err = withKernel(r.cutShort(ctx, err), notes, r.env.FS.Lines(r.meter.Logged())); much {
			return &tooMuch{err}
		}
		return err
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
	for i := range extra.Artifacts {
		extra.Artifacts[i].Phase = phaseName(step)
	}
	if err := r.send(step, append(figures, extra.Measurements...), append(notes, extra.Notes...), extra.Options); err != nil || len(extra.Artifacts) == 0 {
		return err
	}
	// In a separate message: a text that exceeds the limit of a message must not take the figures
	// with it.
	return r.tell(wire.KindFigures, wire.Figures{Phase: phaseName(step), Artifacts: extra.Artifacts})
}

// verify checks that the storage is still ours right before a step's work: programs are given a
// path, and open it themselves.
func (r *runner) verify() error {
	if err := unmounted(r.env); err != nil {
		return err
	}
	if r.env.Mounted || r.env.Hung {
		return r.claim.Verify() // opening it would make the kernel switch to another medium below the filesystem
	}
	return r.claim.Unmounted()
}

// unmounted is the error of a filesystem that somebody else has unmounted: what is written to its place
// then is written to memory.
func unmounted(env *workload.Env) error {
	var at, above unix.Stat_t
	if !env.Mounted || env.Hung || unix.Lstat(env.Mount, &at) != nil || unix.Lstat(filepath.Dir(env.Mount), &above) != nil {
		return nil // a filesystem whose root cannot be read says so in the step
	}
	if at.Dev == above.Dev {
		return fmt.Errorf("another program has unmounted %s, on which the filesystem was", env.Mount)
	}
	return nil
}

// except says why a step for certain filesystems only does not apply to this one; "" if it does.
func (r *runner) except(only string) string {
	for _, one := range strings.Split(only, ",") {
		if why := r.lacks(one); why != "" {
			return why
		}
	}
	return ""
}

// lacks says why one of a step's conditions does not hold.
func (r *runner) lacks(only string) string {
	name, isType := strings.CutPrefix(only, "fs:")
	switch {
	case only == "reflink" && !r.env.FS.Reflink:
		return r.env.FS.Title + " does not share blocks between files"
	case only == string(filesystem.OfflineImage):
		if _, lack := r.env.FS.Can(filesystem.OfflineImage); lack != "" {
			return "it " + lack
		}
	case only == "ubi" && !r.env.Way.UBI():
		return "there is no UBI below it"
	case only == "daemon":
		if _, ok := r.env.Candidate.Daemon(); !ok {
			return "no program works beside it"
		}
	case only == "chip":
		return r.env.KeepsPower()
	case isType && name != r.env.FS.Name:
		return "only " + name + " has this"
	}
	return ""
}

// kernelLines is how many of the kernel's messages a failure quotes.
const kernelLines = 3

// withKernel adds the kernel's messages to a failure of the subject: they explain it better than an
// error number. own are the lines of the filesystem's driver, at any level: the last ones explain it
// better than warnings of others, such as mtdblock's, which advises against itself whenever it is
// used.
func withKernel(err error, notes []result.Note, own []string) error {
	var f *result.Failure
	if !errors.As(err, &f) || f.Outcome != result.SubjectFailed {
		return err
	}
	var said []string
	for _, n := range notes {
		text, ok := strings.CutPrefix(n.Text, "kernel: ")
		if ok && n.Phase != "" && len(said) < kernelLines { // messages before the phase have none
			said = append(said, text)
		}
	}
	warned := slices.ContainsFunc(said, func(text string) bool { return slices.Contains(own, text) })
	if len(own) > 0 && !warned {
		said = own[max(0, len(own)-kernelLines):]
	}
	if len(said) == 0 {
		return err
	}
	full := *f
	full.Reason, full.Err = f.Error()+" (the kernel: "+strings.Join(said, "; ")+")", nil
	return &full
}

// absent reports a phase that cannot be measured here.
func (r *runner) absent(phase, why string, metrics []string) error {
	if phase == "" {
		return nil
	}
	figures := r.meter.Without(why)
	for _, metric := range metrics {
		figures = append(figures, result.Missing(metric, why))
	}
	return r.send(scenario.Step{Phase: phase}, figures, nil, nil)
}

// send sends the results of a step. A step without a phase sends only notes and options.
func (r *runner) send(step scenario.Step, figures []result.Measurement, notes []result.Note, options []result.Option) error {
	if step.Phase == "" {
		figures = nil
	}
	r.meter.Processor(figures)
	name := phaseName(step)
	if len(figures)+len(notes)+len(options) == 0 {
		return nil
	}
	return r.tell(wire.KindFigures, wire.Figures{Phase: name, Measurements: figures, Notes: notes, Options: options})
}

// sentinel reads and writes the same bytes before every trial: a figure of the storage alone, whose
// movement over a run is drift of the storage or of the machine.
func (r *runner) sentinel() error {
	write, read := r.claim.Sentinel(r.part)
	figures := []result.Measurement{
		result.FigureOr(result.SentinelWrite, write.Seconds, write.Absent),
		result.FigureOr(result.SentinelRead, read.Seconds, read.Absent),
	}
	r.meter.Seconds(figures)
	return r.send(scenario.Step{Phase: "sentinel"}, figures, nil, nil)
}

// cleanUp leaves the machine as the trial found it.
func (r *runner) cleanUp() error {
	var errs []error
	workload.Release() // memory that a step held back
	if err := r.env.EndDaemon(); err != nil {
		errs = append(errs, err)
	}
	var gone *storage.Gone
	if r.env.Mounted && errors.As(r.claim.Verify(), &gone) {
		// Data still in memory must not reach the device that is there now.
		if err := workload.Shutdown(r.env.Mount); err != nil {
			errs = append(errs, fmt.Errorf("stopping %s on storage that is gone: %w", r.env.FS.Title, err))
		}
		_ = unix.Unmount(r.env.Mount, unix.MNT_DETACH)
	} else if r.env.Mounted {
		if err := unix.Unmount(r.env.Mount, 0); err != nil {
			errs = append(errs, fmt.Errorf("unmounting after the trial: %w", err))
			_ = unix.Unmount(r.env.Mount, unix.MNT_DETACH)
		}
	}
	r.env.Mounted = false
	if err := r.env.LeaveJournal(); err != nil {
		errs = append(errs, err)
	}
	if err := r.env.LeaveFlash(); err != nil {
		errs = append(errs, err)
	}
	if err := r.part.Close(); err != nil {
		errs = append(errs, err)
	}
	if r.env.Image != "" {
		_ = unix.Unlink(r.env.Image)
	}
	// What hangs stays in use until the machine restarts.
	if err := r.agent.modules.Unload(); err != nil && !r.env.Hung {
		errs = append(errs, fmt.Errorf("unloading modules: %w", err))
	}
	return errors.Join(errs...)
}
