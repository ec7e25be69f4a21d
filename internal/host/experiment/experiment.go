// Package experiment carries out a plan: rounds of trials on a machine, every
// trial in the store before the next begins. It decides what a failure means
// (a result, or one more try on a fresh guest) and when to stop; it measures
// and judges nothing itself.
package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"whichfs/internal/filesystem"
	"whichfs/internal/host/machine"
	"whichfs/internal/plan"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/wire"
)

// Store is where results go; *store.Store is one.
type Store interface {
	BeginTrial(run string, t result.Trial) (int64, error)
	FinishTrial(t result.Trial) error
	UpdateRun(r result.Run) error
	SetSupport(run string, s []result.Support) error
	Trials(run string) ([]result.Trial, error)
}

// Observer receives events, on the goroutine of Carry; each may be nil.
type Observer struct {
	// Session begins or has begun (ready > 0: seconds that the start took).
	Session func(ready float64)
	// Support says what can run here, once.
	Support func([]result.Support)
	// Trial is about to begin: its number among the remaining trials, from 1, and their total, or
	// the maximum where rounds continue until the answer is known.
	Trial func(t result.Trial, number, total int)
	Phase func(name string)
	// Ended has everything of a finished trial.
	Ended func(t result.Trial)
	Note  func(text string)
}

// ErrBudget ends a run whose budget is spent; it can be resumed.
var ErrBudget = errors.New("the budget is spent")

// Experiment is a plan with everything needed to carry it out.
type Experiment struct {
	Run      result.Run
	Plan     plan.Plan
	Machine  machine.Machine
	Spec     machine.Spec
	Store    Store
	Observer Observer
	// Look decides after each round how to continue, only from the trials of complete rounds, so
	// that a resumed run decides as it would have. nil: every candidate has every round.
	Look func(trials []result.Trial) (Decision, error)
	// Known returns earlier knowledge of the storage with an identity; it is added to the run's
	// conditions. nil: none.
	Known func(identity string) []result.Condition
	// Lanes is how many trials may run in parallel where figures repeat or the plan measures no time;
	// otherwise, and below 2, one.
	Lanes int
	// Evidence is a directory for what figures alone cannot show: storage that has lost data.
	// Empty: do not keep it.
	Evidence string
	// Now is the clock; nil is the system's.
	Now func() time.Time
	// Pause waits until a time has passed or the context ends; nil waits on the system's clock.
	Pause func(context.Context, time.Duration)

	// Worker names the machine among several that carry out one run; empty: there is one.
	Worker string

	session machine.Session
	guest   scenario.Guest // what the session's level needs of it
	hung    string         // why the storage of an earlier session must not be used; "": it may be
	hangs   int            // trials in a row that left something hanging
	round   int            // of the previous trial; 0: none
	number  int            // of trials carried out
	begun   time.Time
	before  float64 // s that the run was active in earlier stretches
	// patience is how long to wait next for a quieter machine.
	patience time.Duration
	// resigned: it has been said that the machine stays busy.
	resigned bool
}

// Carry carries out the rest of the plan. The run's state in the store is right whenever it
// returns, and nearly right if it never does.
func (e *Experiment) Carry(ctx context.Context) (err error) {
	e.start()
	defer func() {
		e.closeSession()
		e.Run.State = result.Finished
		if err != nil {
			e.Run.State = result.Interrupted
		}
		e.Run.Ended = e.Now()
		if keep := e.keep(); err == nil {
			err = keep
		}
	}()
	supported, err := e.support(ctx)
	if err != nil {
		return err
	}
	if err := e.guests(ctx); err != nil {
		return err
	}
	return e.carryRounds(ctx, supported)
}

func (e *Experiment) start() {
	if e.Now == nil {
		e.Now = time.Now
	}
	if e.Pause == nil {
		e.Pause = pause
	}
	e.patience = mostPatience
	e.begun, e.before = e.Now(), e.Run.Active
}

func lasting(m machine.Machine) bool {
	l, ok := m.(machine.Lasting)
	return ok && l.Lasting()
}

// keep stores the run's current state.
func (e *Experiment) keep() error {
	e.Run.Active = e.before + e.Now().Sub(e.begun).Seconds()
	return e.Store.UpdateRun(e.Run)
}

// open starts a session for a variant's trial in a round unless there is one on such a guest.
func (e *Experiment) open(ctx context.Context, round int, v scenario.Variant) error {
	if e.session != nil && e.guest != v.Guest() {
		e.closeSession()
	}
	if e.session != nil {
		return nil
	}
	if e.Observer.Session != nil {
		e.Observer.Session(0)
	}
	start := e.Now()
	spec := e.Spec
	spec.Seed, spec.Kernel, spec.CPUs = e.Plan.GuestSeed(round), cmp.Or(v.Kernel, e.Plan.Kernel), cmp.Or(v.CPUs, e.Plan.CPUs)
	spec.Memory = cmp.Or(v.Memory, spec.Memory)
	s, err := e.Machine.Start(ctx, spec)
	if err != nil {
		return err
	}
	// A new session must match the run's conditions: cards are exchanged, devices change their
	// names.
	fresh := e.own(slices.Concat(s.Facts().Conditions, s.Ready().Conditions))
	if v.Guest() != (scenario.Guest{}) {
		fresh = inGuest(v.Name, e.Run.Conditions, fresh)
	}
	if err := e.unchanged(fresh); err != nil {
		return errors.Join(err, s.Close())
	}
	e.session, e.guest, e.hung = s, v.Guest(), ""
	if e.Observer.Session != nil {
		e.Observer.Session(e.Now().Sub(start).Seconds())
	}
	return nil
}

func (e *Experiment) closeSession() {
	if e.session == nil {
		return
	}
	if err := e.session.Close(); err != nil {
		e.note("closing the session: %v", err)
		bad := result.Note{Level: result.Warning, Text: "a session did not end properly: " + err.Error()}
		e.Run.Notes = slices.Concat(e.Run.Notes, newNotes(e.Run.Notes, []result.Note{bad})) // lanes begin with the same ones
	}
	e.session = nil
}

func (e *Experiment) note(format string, args ...any) {
	if e.Observer.Note != nil {
		e.Observer.Note(fmt.Sprintf(format, args...))
	}
}

// ask opens a session in which there is no trial. A start that fails for a passing reason is tried
// again.
func (e *Experiment) ask(ctx context.Context, v scenario.Variant) error {
	err := e.open(ctx, 0, v)
	if isLab(err) && ctx.Err() == nil {
		e.note("the machine did not start: %v; trying once more", err)
		err = e.open(ctx, 0, v)
	}
	return err
}

// support asks the machine which candidates can run and records the answer
// and the conditions.
func (e *Experiment) support(ctx context.Context) (map[string]bool, error) {
	if err := e.ask(ctx, scenario.Variant{}); err != nil {
		return nil, err
	}
	s, err := e.session.Support(ctx, e.Plan.Candidates)
	if err != nil {
		return nil, err
	}
	facts, ready := e.session.Facts(), e.session.Ready()
	fresh := append([]result.Condition{}, facts.Conditions...)
	fresh = e.own(append(append(fresh, ready.Conditions...), s.Conditions...))
	if err := e.unchanged(fresh); err != nil {
		return nil, err
	}
	if m, ok := e.session.(machine.Emulator); ok {
		e.Run.Emulated = m.Emulated()
	}
	if e.Known != nil {
		fresh = append(fresh, e.Known(ready.Identity)...)
	}
	e.Run.Conditions = merge(e.Run.Conditions, fresh)
	e.Run.Notes = append(e.Run.Notes, newNotes(e.Run.Notes, ready.Notes)...)
	if err := e.keep(); err != nil {
		return nil, err
	}
	var answers []result.Support
	for _, c := range s.Candidates {
		if c.Reason != "" {
			answers = append(answers, c)
		}
	}
	if err := e.Store.SetSupport(e.Run.ID, answers); err != nil {
		return nil, err
	}
	if e.Observer.Support != nil {
		e.Observer.Support(s.Candidates)
	}
	ok := map[string]bool{}
	for _, c := range s.Candidates {
		ok[c.Candidate] = c.Reason == ""
	}
	return ok, nil
}

// guests starts a guest of each level that has its own, whose kernel may have to be built first, and
// records the conditions in which it differs.
func (e *Experiment) guests(ctx context.Context) error {
	levels := e.Plan.Guests()
	for _, v := range levels {
		if err := e.ask(ctx, v); err != nil {
			return err
		}
		fresh := slices.Concat(e.session.Facts().Conditions, e.session.Ready().Conditions)
		e.Run.Conditions = merge(e.Run.Conditions, inGuest(v.Name, e.Run.Conditions, fresh))
	}
	if len(levels) == 0 {
		return nil
	}
	e.closeSession()
	return e.keep()
}

// unchanged refuses to continue under conditions other than the run's.
func (e *Experiment) unchanged(fresh []result.Condition) error {
	return Conflict(e.Run.Conditions, fresh)
}

// restart is the remedy where something hangs in a kernel that is not ours to end.
func (e *Experiment) restart() string { return "restart " + e.here() + "; whichfs resume continues" }

// here names the machine whose kernel, processors and other work are meant.
func (e *Experiment) here() string {
	if plan.OnBoard(e.Machine.Name()) {
		return "machine " + e.Machine.Name()
	}
	return "this machine"
}

func isLab(err error) bool {
	var e *result.Failure
	return errors.As(err, &e) && e.Outcome == result.LabFailed
}

// trial carries out one trial, once more on a fresh session if the lab failed, and once more if the
// machine's other work disturbed it.
func (e *Experiment) trial(ctx context.Context, p plan.Slot, number, total int) error {
	var last result.Trial
	again := p.Again
	if again && !e.quieter(ctx) {
		return context.Cause(ctx)
	}
	for attempt := p.Attempt; ; attempt++ {
		t := result.Trial{Round: p.Round, Place: p.Place, Candidate: p.Candidate.String(), Variant: p.Variant, Attempt: attempt, Started: e.Now()}
		id, err := e.Store.BeginTrial(e.Run.ID, t)
		if err != nil {
			return err
		}
		t.ID = id
		if e.Observer.Trial != nil {
			e.Observer.Trial(t, number, total)
		}
		fatal := e.attempt(ctx, p.Candidate, &t)
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx) // cut short by the user: not a result
		}
		if fatal != nil && last.Reason != "" {
			// The lost storage is the news; that it cannot be claimed again merely follows.
			return &result.Failure{Outcome: result.LabFailed, Reason: last.Reason, Hint: last.Hint, Console: last.Console, Err: fatal}
		}
		if fatal != nil && e.hung != "" {
			return &result.Failure{Outcome: result.LabFailed, Reason: "the storage cannot be used again after " + e.hung,
				Hint: e.restart(), Err: fatal}
		}
		if fatal != nil {
			return fatal
		}
		t.Ended = e.Now()
		t.Overhead = t.Ended.Sub(t.Started).Seconds() - measured(t.Measurements)
		if err := e.Store.FinishTrial(t); err != nil {
			return err
		}
		if err := e.keep(); err != nil {
			return err
		}
		if e.Observer.Ended != nil {
			e.Observer.Ended(t)
		}
		if e.hangs > 1 && lasting(e.Machine) {
			return result.Fail(result.LabFailed, e.restart(), "the kernel of %s is stuck: one trial after another hangs, most recently %s", e.here(), e.hung)
		}
		if worst, disturbed := t.Disturbed(); disturbed && t.Outcome == result.Done && !e.Plan.KeepDisturbed {
			if again {
				e.note("%s, round %d: disturbed as well (%s); the better one counts, with a mark", t.Named(), t.Round, worst)
				return nil
			}
			if !e.resigned {
				e.note("%s, round %d: disturbed by other work of %s (%s)", t.Named(), t.Round, e.here(), worst)
			}
			if again = e.quieter(ctx); !again {
				return context.Cause(ctx)
			}
			continue
		}
		if t.Outcome != result.LabFailed || again || attempt >= plan.MaxAttempts {
			return nil
		}
		last = t
		e.note("%s, round %d: %s; trying once more on a fresh machine", t.Named(), t.Round, t.Reason)
	}
}

// gaveUp returns the message of a kernel that panicked during a phase, "" if it did not: as far as
// can be known, the filesystem's fault. The death of the agent, which is the guest's init, also
// ends in a panic, and is ours unless the kernel had faults of its own before.
func gaveUp(console []string) string {
	if machine.StaleCode(console) {
		return ""
	}
	own := false
	for _, line := range console {
		own = own || strings.Contains(line, "BUG: ") || strings.Contains(line, "kernel BUG at ") || strings.Contains(line, "Oops: ")
		if strings.Contains(line, "Kernel panic") && (own || !strings.Contains(line, "Attempted to kill init")) {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

// attempt carries out one try and records its result. It returns an error if no further trial has a
// chance: the storage is gone, or is no longer ours to write.
func (e *Experiment) attempt(ctx context.Context, c filesystem.Candidate, t *result.Trial) error {
	t.Outcome = result.LabFailed // until proven otherwise
	v, ok := e.Plan.Variant(t.Variant)
	if !ok {
		t.Outcome, t.Reason = result.Refused, fmt.Sprintf("the plan has no variant %q", t.Variant)
		return nil
	}
	if err := e.open(ctx, t.Round, v); err != nil {
		t.Phase, t.Reason = "start", err.Error()
		var m *result.Failure
		if !errors.As(err, &m) {
			return nil
		}
		t.Hint, t.Console = m.Hint, m.Console
		if m.Outcome != result.LabFailed {
			return err
		}
		return nil
	}
	s := e.Plan.Scenario(c)
	events := machine.Events{
		Phase: func(name string) {
			t.Phase = name
			if e.Observer.Phase != nil {
				e.Observer.Phase(name)
			}
		},
		Figures: func(f wire.Figures) {
			t.Measurements = append(t.Measurements, f.Measurements...)
			t.Notes = append(t.Notes, f.Notes...)
			t.Options = mergeOptions(t.Options, f.Options)
			t.Artifacts = append(t.Artifacts, f.Artifacts...)
		},
	}
	done, err := e.session.Trial(ctx, wire.Trial{Candidate: c, Variant: v, Scenario: e.Plan.Drawn(v.Apply(s), t.Round), StepLimit: e.Plan.StepLimit}, events)
	if err == nil && done.Outcome == result.Done {
		done, err = e.boot(ctx, c, t, v, s, events)
	}
	if err == nil && done.Outcome == result.Done {
		done, err = e.cut(ctx, c, t, v, e.session, events)
	}
	if err != nil {
		t.Reason = err.Error()
		var m *result.Failure
		if errors.As(err, &m) {
			t.Hint, t.Console = m.Hint, m.Console
		}
		if line := gaveUp(t.Console); line != "" && ctx.Err() == nil && t.Phase != "" {
			t.Outcome, t.Reason = result.SubjectFailed, "the kernel: "+line
		}
		e.closeSession()
		return nil
	}
	t.Outcome, t.Reason, t.Hint = done.Outcome, done.Reason, done.Hint
	if t.Outcome == result.Done {
		t.Phase = ""
	} else if done.Phase != "" {
		t.Phase = done.Phase
	}
	// A lab failure that the agent itself reports leaves it in an unknown
	// state, and so does a filesystem that failed: its module may be wedged.
	if e.hangs++; !done.Hangs {
		e.hangs = 0
	} else {
		e.hung = fmt.Sprintf("%s, round %d: %s", t.Named(), t.Round, t.Reason)
	}
	if t.Outcome == result.LabFailed || done.Hangs || t.Outcome != result.Done && !lasting(e.Machine) {
		e.closeSession()
	}
	return nil
}

// measured is the wall time inside phases, in seconds.
func measured(ms []result.Measurement) float64 {
	var sum float64
	for _, m := range ms {
		if m.Metric == result.Wall && m.Absent == "" {
			sum += m.Value
		}
	}
	return sum
}
