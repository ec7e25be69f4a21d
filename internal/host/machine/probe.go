package machine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"

	"whichfs/internal/probe"
	"whichfs/internal/result"
	"whichfs/internal/wire"
)

var _ Prober = (*Client)(nil)

// stopLimit is how long a cancelled probe may take to send its results so far: a request or two of
// a slow device.
const stopLimit = 15 * time.Second

// Probe implements Prober. The agent reports progress at least every few seconds, so that silence
// means what it means while starting.
func (c *Client) Probe(ctx context.Context, p wire.Probe, tell func(wire.Progress)) (probe.Report, error) {
	switch {
	case c.broken == nil && !c.opened:
		return probe.Report{}, result.Fail(result.LabFailed, "", "probe before the session was prepared")
	case ctx.Err() != nil:
		return probe.Report{}, c.breakWith(fmt.Errorf("probing %s: %w", c.ready.Identity, Canceled(ctx)))
	}
	// Cancelling asks for the results so far, and waits a moment for them.
	patient, giveUp := context.WithCancelCause(context.WithoutCancel(ctx))
	defer giveUp(nil)
	id := c.last + 1
	stop := context.AfterFunc(ctx, func() {
		go func() { _ = c.conn.Send(wire.KindStop, id, nil) }()
		time.AfterFunc(min(c.o.Grace, stopLimit), func() { giveUp(Canceled(ctx)) })
	})
	defer stop()
	begun := time.Now().UTC()
	m, err := c.ask(patient, c.o.HandshakeLimit, wire.KindProbe, p, wire.KindProbed, "of a probe", &steps{tell: tell})
	if err != nil {
		return probe.Report{}, c.probeFailed(err)
	}
	var got wire.Probed
	if err := m.Decode(&got); err != nil {
		return probe.Report{}, c.nonsense(err)
	}
	if err := c.checkProbed(got); err != nil {
		return probe.Report{}, c.nonsense(err)
	}
	got = cleaned(got)
	got.Report.Started = begun // a guest's time of day need not be right
	switch f := got.Failed; {
	case ctx.Err() != nil && f != nil:
		return got.Report, c.breakWith(fmt.Errorf("the probe was ended: %w", Canceled(ctx)))
	case f == nil:
		return got.Report, nil
	default:
		if f.Outcome == result.LabFailed {
			f.Console = c.Console()
			_ = c.breakWith(f)
		}
		return got.Report, f
	}
}

// probeFailed leaves the session usable if the agent refused the probe and still works.
func (c *Client) probeFailed(err error) error {
	var e *result.Failure
	if errors.As(err, &e) && c.broken == nil && e.Outcome != result.LabFailed {
		return err
	}
	return c.breakWith(err)
}

// steps follows a probe's progress.
type steps struct {
	tell func(wire.Progress)
	what string
}

func (s *steps) place() string {
	if s.what == "" {
		return ""
	}
	return "at " + s.what
}

func (s *steps) event(m wire.Message) error {
	if m.Kind != wire.KindProgress {
		return fmt.Errorf("%q during a probe", m.Kind)
	}
	var p wire.Progress
	if err := m.Decode(&p); err != nil {
		return err
	}
	if p.What == "" || !shown(p.What) || !(p.Share >= 0 && p.Share <= 1) {
		return fmt.Errorf("progress %q of %v", p.What, p.Share)
	}
	s.what = p.What
	if s.tell != nil {
		s.tell(cleaned(p))
	}
	return nil
}

// shown reports whether a text can be shown on a terminal as it is.
func shown(text string) bool { return !strings.ContainsFunc(text, unicode.IsControl) }

// unit reports whether a text can be the unit of a finding or of an axis.
func unit(text string) bool { return text == "" || word.MatchString(text) }

// checkProbed rejects impossible reports.
func (c *Client) checkProbed(p wire.Probed) error {
	r := p.Report
	if f := p.Failed; f != nil && (!f.Outcome.Valid() || f.Outcome == result.Done || f.Reason == "") {
		return fmt.Errorf("a probe that failed with outcome %q and reason %q", f.Outcome, f.Reason)
	}
	switch {
	case r.Format != probe.Format:
		return fmt.Errorf("a probe's report of format %d", r.Format)
	case r.Size != c.ready.Size:
		return fmt.Errorf("a probe of %d bytes on storage of %d", r.Size, c.ready.Size)
	case cleaned(r.Identity) != c.ready.Identity:
		return fmt.Errorf("a probe of %q on storage %q", r.Identity, c.ready.Identity)
	case r.Wrote && c.readOnly:
		return errors.New("a probe that wrote to storage claimed for reading only")
	case r.Started.IsZero():
		return errors.New("a probe without a date")
	case !(r.Seconds >= 0) || math.IsInf(r.Seconds, 0):
		return fmt.Errorf("a probe of %v seconds", r.Seconds)
	case len(r.Findings) == 0 && p.Failed == nil:
		return errors.New("a probe without a finding")
	}
	curves := map[string]bool{}
	for _, one := range r.Curves {
		if curves[one.Key] {
			return fmt.Errorf("curve %q comes twice", one.Key)
		}
		curves[one.Key] = true
		if err := checkCurve(one); err != nil {
			return err
		}
	}
	return checkFindings(r.Findings, curves)
}

func checkFindings(all []probe.Finding, curves map[string]bool) error {
	had := map[string]bool{}
	for _, f := range all {
		switch {
		case !word.MatchString(f.Key) || f.Name == "":
			return fmt.Errorf("a finding %q named %q", f.Key, f.Name)
		case had[f.Key]:
			return fmt.Errorf("finding %s comes twice", f.Key)
		case !shown(f.Name + f.Text + f.Undetermined + f.Evidence + f.Meaning):
			return fmt.Errorf("finding %s with control characters", f.Key)
		case !(f.Confidence >= 0 && f.Confidence <= 1):
			return fmt.Errorf("finding %s with confidence %v", f.Key, f.Confidence)
		case f.Known() && (!(f.Value >= 0) || math.IsInf(f.Value, 0) || !unit(f.Unit)):
			// All findings are sizes, rates, durations and counts.
			return fmt.Errorf("finding %s of %v %q", f.Key, f.Value, f.Unit)
		case f.Known() && f.Unit == "" && f.Text == "":
			return fmt.Errorf("finding %s without a unit or a text", f.Key)
		}
		had[f.Key] = true
		for _, key := range f.Curves {
			if !curves[key] {
				return fmt.Errorf("finding %s shows a missing curve %q", f.Key, key)
			}
		}
	}
	return nil
}

func checkCurve(one probe.Curve) error {
	if !word.MatchString(one.Key) || !shown(one.Title+one.XName+one.YName) ||
		!unit(one.XUnit) || !unit(one.YUnit) {
		return fmt.Errorf("a curve %q of %q in %q over %q in %q", one.Key, one.YName, one.YUnit, one.XName, one.XUnit)
	}
	for _, line := range one.Lines {
		if !shown(line.Name) {
			return fmt.Errorf("curve %s with a line named %q", one.Key, line.Name)
		}
		for _, p := range line.Points {
			for _, v := range []float64{p.X, p.Y, p.Low, p.High} {
				if !(v >= 0) || math.IsInf(v, 0) {
					return fmt.Errorf("a point at %v, %v of curve %s", p.X, p.Y, one.Key)
				}
			}
		}
	}
	return nil
}
