package machine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"slices"
	"syscall"
	"time"

	"whichfs/internal/filesystem"
	"whichfs/internal/result"
	"whichfs/internal/target/kernelmemory"
	"whichfs/internal/wire"
)

// What an agent says is checked before it is used: a guest whose memory or stream is damaged must
// not put a figure into the store.

// word matches the names of phases, metrics and units.
var word = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/-]{0,63}$`)

// progress follows a trial's events.
type progress struct {
	trial  wire.Trial
	events Events
	phase  string
	had    map[string]map[string]bool // figures by phase and metric
	items  int                        // figures, notes, options and artifacts so far
	safe   int64                      // the last operation that was promised to be kept

	ready func()    // tells the other end that everything so far was received; nil: it does not wait
	began time.Time // when the trial was requested; zero: the other end's clock is not one of real time
	timed float64   // s that the phases took so far, by the other end's clock
}

func (p *progress) place() string {
	if p.phase == "" {
		return ""
	}
	return "in phase " + p.phase
}

func (p *progress) event(m wire.Message) error {
	switch m.Kind {
	case wire.KindPhase:
		var b wire.PhaseBegun
		if err := m.Decode(&b); err != nil {
			return err
		}
		if !p.known(b.Phase) {
			return fmt.Errorf("a phase named %q", b.Phase)
		}
		p.phase = b.Phase
		if p.events.Phase != nil {
			p.events.Phase(b.Phase)
		}
		if p.ready != nil {
			p.ready()
		}
	case wire.KindFigures:
		var f wire.Figures
		if err := m.Decode(&f); err != nil {
			return err
		}
		if !p.known(f.Phase) {
			return fmt.Errorf("figures of a phase named %q", f.Phase)
		}
		if err := checkFigures(&f); err != nil {
			return err
		}
		if err := p.countIn(f); err != nil {
			return err
		}
		if p.events.Figures != nil {
			p.events.Figures(cleanFigures(f))
		}
	case wire.KindSafe:
		var s wire.Safe
		if err := m.Decode(&s); err != nil {
			return err
		}
		if s.Number <= p.safe || s.Number > mostEvents {
			return fmt.Errorf("operation %d is safe after operation %d", s.Number, p.safe)
		}
		p.safe = s.Number
		if p.events.Safe != nil {
			p.events.Safe(s.Number)
		}
	case wire.KindPlace:
		if !p.trial.Place {
			return errors.New("the place of a chip, which was not requested")
		}
		var place kernelmemory.ChipPlace
		if err := m.Decode(&place); err != nil {
			return err
		}
		if err := place.Check(); err != nil {
			return err
		}
		if p.events.Place != nil {
			p.events.Place(place)
		}
	default:
		return fmt.Errorf("%q during a trial", m.Kind)
	}
	return nil
}

// countIn adds figures that are valid by themselves.
func (p *progress) countIn(f wire.Figures) error {
	had := p.had[f.Phase]
	if had == nil {
		had = map[string]bool{}
		p.had[f.Phase] = had
	}
	for _, m := range f.Measurements {
		if had[m.Metric] {
			return fmt.Errorf("%s of phase %s arrived twice", m.Metric, f.Phase)
		}
		had[m.Metric] = true
		if m.Metric == result.Wall {
			p.timed += m.Value
		}
	}
	if err := p.inTime(p.timed, "the phases took"); err != nil {
		return err
	}
	p.items += len(f.Measurements) + len(f.Notes) + len(f.Options) + len(f.Artifacts)
	if p.items > mostItems {
		return fmt.Errorf("more than %d figures, notes, options and artifacts", mostItems)
	}
	return nil
}

// drift is by how much a clock may go too fast: a kernel that corrects its clock does so by 0.05 % at
// most, and one that cannot find its counter's rate exactly may be wrong by 1 % (tsc_refine_calibration_work
// in arch/x86/kernel/tsc.c). It is also the number of seconds by which it may be ahead.
const drift = 0.02

// inTime checks that what took so many seconds by the other end's clock can have happened since the trial
// began.
func (p *progress) inTime(took float64, what string) error {
	if p.began.IsZero() {
		return nil
	}
	if passed := time.Since(p.began).Seconds(); took > passed*(1+drift)+drift {
		return &wrongClock{fmt.Sprintf("%s %.3g s by it, but only %.3g s have passed here since the trial began", what, took, passed)}
	}
	return nil
}

// wrongClock is the error of a clock that goes too fast.
type wrongClock struct{ why string }

func (e *wrongClock) Error() string { return e.why }

// known accepts the scenario's phases, however they are spelt, and the agent's own (the sentinel),
// which are plain words. The figures of cuts come from the host.
func (p *progress) known(phase string) bool {
	return slices.Contains(p.trial.Scenario.Phases(), phase) || word.MatchString(phase) && phase != result.CutPhase
}

// checkDone checks the final message against the earlier ones: a trial is done only if every phase
// of its scenario has figures.
func (p *progress) checkDone(d wire.Done) error {
	if limit := p.trial.StepLimit; d.Hangs && limit > 0 {
		if err := p.inTime(limit, "a step hung for"); err != nil {
			return err
		}
	}
	if !d.Outcome.Valid() {
		return fmt.Errorf("outcome %q", d.Outcome)
	}
	if d.Outcome != result.Done {
		if d.Reason == "" {
			return fmt.Errorf("outcome %q without a reason", d.Outcome)
		}
		return nil
	}
	for _, phase := range p.trial.Scenario.Phases() {
		if p.had[phase] == nil {
			return fmt.Errorf("done without figures of phase %s", phase)
		}
	}
	return nil
}

// checkFigures checks every figure; the phase of each may be left out.
func checkFigures(f *wire.Figures) error {
	for i := range f.Measurements {
		m := &f.Measurements[i]
		metric, known := result.MetricOf(m.Metric)
		switch {
		case m.Phase != "" && m.Phase != f.Phase:
			return fmt.Errorf("a figure of phase %q among those of %q", m.Phase, f.Phase)
		case !word.MatchString(m.Metric):
			return fmt.Errorf("a metric named %q in phase %s", m.Metric, f.Phase)
		case m.Absent != "":
			m.Value = 0 // means nothing
		case !word.MatchString(m.Unit):
			return fmt.Errorf("unit %q of %s in phase %s", m.Unit, m.Metric, f.Phase)
		case known && m.Unit != metric.Unit:
			return fmt.Errorf("%s of phase %s in %q, which is counted in %q", m.Metric, f.Phase, m.Unit, metric.Unit)
		case math.IsNaN(m.Value) || math.Abs(m.Value) > mostValue || m.Value < 0 && !metric.Signed:
			return fmt.Errorf("%s of %v %s in phase %s", m.Metric, m.Value, m.Unit, f.Phase)
		}
	}
	return nil
}

func checkFacts(f wire.Facts) error {
	switch {
	case f.Kernel == "":
		return errors.New("facts without a kernel release")
	case f.Arch == "":
		return errors.New("facts without an architecture")
	case f.Processors < 1:
		return fmt.Errorf("a machine of %d processors", f.Processors)
	case f.Memory <= 0:
		return fmt.Errorf("a machine with %d bytes of memory", f.Memory)
	case len(f.Conditions) > mostFacts:
		return fmt.Errorf("facts with %d conditions", len(f.Conditions))
	}
	return nil
}

func checkSupport(asked []filesystem.Candidate, s wire.Support) error {
	if len(s.Candidates) != len(asked) {
		return fmt.Errorf("support for %d candidates where %d were requested", len(s.Candidates), len(asked))
	}
	if len(s.Conditions) > mostFacts {
		return fmt.Errorf("support with %d conditions", len(s.Conditions))
	}
	for i, c := range s.Candidates {
		switch {
		case c.Candidate != asked[i].String():
			return fmt.Errorf("support for %q where %q was requested", c.Candidate, asked[i])
		case c.Outcome == "" && c.Reason == "":
		case c.Outcome != result.Unsupported && c.Outcome != result.Refused:
			return fmt.Errorf("support for %q with outcome %q", c.Candidate, c.Outcome)
		case c.Reason == "":
			return fmt.Errorf("%q is %s without a reason", c.Candidate, c.Outcome)
		}
	}
	return nil
}

// broken reports whether err means that the stream has no reader any more.
func broken(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, io.ErrClosedPipe) || errors.Is(err, os.ErrClosed)
}

// Canceled says why ctx ended; it wraps context.Canceled or DeadlineExceeded whatever the cause.
func Canceled(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}
