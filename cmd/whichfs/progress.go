package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"whichfs/internal/app"
	"whichfs/internal/filesystem"
	"whichfs/internal/host/experiment"
	"whichfs/internal/plan"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
)

// progress shows a run in progress: live on a terminal, one line per trial elsewhere.
type progress interface {
	// start begins to show; the context it returns ends when the user interrupts, with
	// errInterrupted as its cause.
	start(ctx context.Context) (context.Context, func())
	observer() experiment.Observer
	stop()
}

func newProgress(a *shell, run result.Run, p plan.Plan, before app.Durations) progress {
	if _, ok := a.redraws(); ok {
		return newLive(a, run, p, before)
	}
	return &plain{a: a, pace: newPace(p, before)}
}

// pace estimates the time left from the trials so far: it expects each candidate to take as long as
// before, those not yet seen to take as long as in an earlier run of the kind, as far as the others do,
// and those not seen there either to take the mean.
type pace struct {
	before     app.Durations
	rounds     int
	candidates []string          // with their variants
	of         map[string]string // the candidate of each
	sum        map[string]time.Duration
	n          map[string]int
	left       map[string]int // trials not yet done
	round      int
	number     int // of the latest trial started
	ended      int
	total      int
	lanes      int // trials that run in parallel
	load       result.LoadTally
	counted    map[string]bool // rounds and names of trials that ended
}

func newPace(planned plan.Plan, before app.Durations) pace {
	p := pace{before: before, rounds: planned.Rounds, lanes: app.Lanes(planned), sum: map[string]time.Duration{}, n: map[string]int{}, left: map[string]int{}, of: map[string]string{}, counted: map[string]bool{}}
	for _, slot := range plan.Round(planned, 1) {
		p.candidates = append(p.candidates, slot.Named())
		p.of[slot.Named()] = slot.Candidate.String()
	}
	for _, slot := range plan.Trials(planned) {
		p.left[slot.Named()]++
	}
	names := filesystem.Texts(planned.Candidates)
	slices.SortStableFunc(p.candidates, func(a, b string) int {
		return slices.Index(names, p.of[a]) - slices.Index(names, p.of[b])
	})
	return p
}

func (p *pace) cannotRun(s []result.Support) {
	for _, c := range unsupported(s) {
		maps.DeleteFunc(p.left, func(name string, _ int) bool { return p.of[name] == c.Candidate })
	}
}

func (p *pace) begin(t result.Trial, number, total int) {
	// A resumed run has fewer trials left than its plan; the first trial says how many.
	if p.number == 0 && total > 0 {
		for excess := p.remaining() - total; excess > 0; {
			before := excess
			for _, c := range p.candidates {
				if p.left[c] > 0 && excess > 0 && p.left[c] > p.rounds-t.Round {
					p.left[c]--
					excess--
				}
			}
			if excess == before {
				break
			}
		}
	}
	p.round, p.number, p.total = t.Round, number, total
}

// again reports whether the trial will be retried.
func again(t result.Trial) bool { return t.Outcome == result.LabFailed && t.Attempt < plan.MaxAttempts }

// end reports whether the trial is a new one: one that is taken again is not.
func (p *pace) end(t result.Trial) bool {
	p.load.Add(t)
	at := fmt.Sprint(t.Round, " ", t.Named())
	if again(t) || p.counted[at] {
		return false
	}
	p.counted[at] = true
	p.ended++
	p.sum[t.Named()] += t.Ended.Sub(t.Started)
	p.n[t.Named()]++
	if p.left[t.Named()] > 0 {
		p.left[t.Named()]--
	}
	return true
}

func (p *pace) remaining() int {
	n := 0
	for _, k := range p.left {
		n += k
	}
	return n
}

// timeLeft is the estimate; ok is false before anything is known.
func (p *pace) timeLeft() (left time.Duration, ok bool) {
	var sum, same, then time.Duration // of all, of those also in the earlier run, and there
	var n int
	for c, d := range p.sum {
		sum, n = sum+d, n+p.n[c]
		if was := p.before.Trials[c]; was > 0 {
			same, then = same+d, then+was*time.Duration(p.n[c])
		}
	}
	ratio := 1.0
	if then > 0 {
		ratio = float64(same) / float64(then)
	}
	if n == 0 {
		for _, was := range p.before.Trials {
			sum, n = sum+was, n+1
		}
	}
	if n == 0 {
		return 0, false
	}
	mean := sum / time.Duration(n)
	for c, k := range p.left {
		each := mean
		if was := p.before.Trials[c]; p.n[c] > 0 {
			each = p.sum[c] / time.Duration(p.n[c])
		} else if was > 0 {
			each = time.Duration(float64(was) * ratio)
		}
		left += each * time.Duration(k)
	}
	return left / time.Duration(p.lanes), true
}

// expected says how long the run will take, before any of its trials has ended; "" if it is short, or nothing
// is known.
func (p *pace) expected() string {
	const resumes = "; an interrupted run can be resumed"
	long, ok := p.timeLeft()
	low, high := app.Range(long)
	switch {
	case !ok || long < time.Minute:
		return ""
	case p.before.Run == "" && low < time.Minute:
		return ""
	case p.before.Run == "":
		return fmt.Sprintf("about %s to %s, by the amount of work and the model of the storage%s", units.Rough(low), units.Rough(high), resumes)
	}
	return fmt.Sprintf("about %s, if trials take as long as in run %s%s", units.Rough(long), p.before.Run, resumes)
}

// plain writes one line per trial.
type plain struct {
	a    *shell
	pace pace
	said bool // how long it will take
}

func (p *plain) start(ctx context.Context) (context.Context, func()) { return ctx, func() {} }

func (p *plain) stop() {}

func (p *plain) observer() experiment.Observer {
	return experiment.Observer{
		Session: func(ready float64) {
			if ready > 0 {
				p.a.note(fmt.Sprintf("machine ready after %.1f s", ready))
			}
			if text := p.pace.expected(); ready > 0 && !p.said && text != "" { // not of a run that cannot begin
				p.a.note(text)
			}
			p.said = p.said || ready > 0
		},
		Support: func(s []result.Support) {
			p.pace.cannotRun(s)
			for _, c := range unsupported(s) {
				p.a.note(fmt.Sprintf("%s: %s: %s", c.Candidate, c.Outcome, c.Reason))
			}
		},
		Trial: p.pace.begin,
		Ended: func(t result.Trial) {
			p.pace.end(t)
			number := p.pace.ended
			if again(t) {
				number++ // not yet a new trial
			}
			line := fmt.Sprintf("[%*d/%d] round %d  %-44s %6.1f s", len(fmt.Sprint(p.pace.total)), number, p.pace.total,
				t.Round, t.Named(), t.Ended.Sub(t.Started).Seconds())
			if t.Outcome != result.Done {
				line += fmt.Sprintf("  %s in %s", outcomeWord(t.Outcome), t.Phase)
				if t.Outcome != result.LabFailed || t.Attempt >= plan.MaxAttempts { // otherwise a note follows
					line += ": " + oneLine(t.Reason)
				}
			}
			if worst, disturbed := t.Disturbed(); disturbed {
				line += fmt.Sprintf("  waited %s in %s", units.Share(worst.Share()), worst.Phase)
			}
			if t.Worker != "" {
				line += "  on " + t.Worker
			}
			if left, ok := p.pace.timeLeft(); ok && number < p.pace.total {
				line += fmt.Sprintf("  about %s left", units.Rough(left))
			}
			p.a.note(line)
		},
		Note: p.a.note,
	}
}

// outcomeWord names an outcome on a crowded line.
func outcomeWord(o result.Outcome) string {
	switch o {
	case result.SubjectFailed:
		return "failed"
	case result.LabFailed:
		return "lab failure"
	case result.Done, result.Refused, result.Unsupported:
	}
	return string(o)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
