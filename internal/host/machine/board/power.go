package board

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"whichfs/internal/host/machine"
	"whichfs/internal/result"
	"whichfs/internal/sys/command"
)

// actionWord stands for on and off in a command.
const actionWord = "{action}"

// switchLimit is how long a program that switches power may take; a variable for tests.
var switchLimit = time.Minute

// Power is how a board's power is switched.
type Power struct {
	// Command is a program and its arguments, with {action} for on and off.
	Command []string
	// Env is added to its environment.
	Env []string
	// Off is how long it stays off, and Start how long the board may take from then on until it is reached.
	Off, Start time.Duration
}

// turn switches it on or off.
func (p *Power) turn(ctx context.Context, action string) error {
	argv := make([]string, len(p.Command))
	for i, word := range p.Command {
		argv[i] = strings.ReplaceAll(word, actionWord, action)
	}
	limited, cancel := context.WithTimeoutCause(ctx, switchLimit, fmt.Errorf("it has not ended after %v", switchLimit))
	defer cancel()
	r, err := command.Run(limited, command.Options{Env: p.Env}, argv...)
	switch {
	case ctx.Err() != nil:
		return machine.Canceled(ctx)
	case err != nil:
		said := machine.Lines{}
		_, _ = said.Write([]byte(r.Stdout + r.Stderr + "\n"))
		return &result.Failure{Outcome: result.LabFailed, Reason: "the power could not be switched " + action, Hint: "by hand: " + strings.Join(argv, " "), Console: said.Last(), Err: err}
	}
	return nil
}

// restore switches it on after it has been off for long enough.
func (p *Power) restore(ctx context.Context) error {
	select {
	case <-time.After(p.Off):
	case <-ctx.Done():
	}
	// A board must not stay off because somebody has pressed Ctrl-C.
	if err := p.turn(context.WithoutCancel(ctx), "on"); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return machine.Canceled(ctx)
	}
	return nil
}

// unreachable reports whether an error may be that of a board which hangs.
func unreachable(err error) bool {
	e := result.FailureOf(err)
	return e != nil && e.Outcome == result.LabFailed
}

// again is between two attempts to reach a board that starts.
const again = time.Second

// off switches the board off. Where that is abandoned, it is on again: nobody knows how far it came.
func (m *Machine) off(ctx context.Context) error {
	err := m.power.turn(ctx, "off")
	if err != nil && ctx.Err() != nil {
		err = errors.Join(err, m.power.turn(context.WithoutCancel(ctx), "on"))
	}
	return err
}

// restart switches the board off and on, and begins a session.
func (m *Machine) restart(ctx context.Context, spec machine.Spec) (*session, error) {
	if err := m.off(ctx); err != nil {
		return nil, err
	}
	if err := m.restore(ctx); err != nil {
		return nil, err
	}
	return m.untilUp(ctx, spec)
}

// restore switches the board on. It has lost its memory, and all that sessions had left there.
func (m *Machine) restore(ctx context.Context) error {
	m.forget()
	m.entry.known.restarts()
	return m.power.restore(ctx)
}

// forget forgets what earlier sessions have left in a memory that is lost.
func (m *Machine) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left = nil
}

// untilUp begins a session with a board that starts. Until then each new reason why there is none is
// told: the last one may be but a consequence of an earlier one.
func (m *Machine) untilUp(ctx context.Context, spec machine.Spec) (*session, error) {
	told := ""
	for end := time.Now().Add(m.power.Start); ; {
		s, err := m.attempt(ctx, spec)
		switch {
		case err == nil || ctx.Err() != nil || !unreachable(err):
			return s, err
		case time.Now().After(end):
			late := *result.FailureOf(err)
			late.Reason = fmt.Sprintf("%v after its power was switched on: %s", m.power.Start, late.Reason)
			return nil, &late
		}
		if reason := result.FailureOf(err).Reason; reason != told {
			told = reason
			m.o.Progress(fmt.Sprintf("no session with %s yet: %s", m.Name(), reason))
		}
		select {
		case <-time.After(again):
		case <-ctx.Done():
			return nil, machine.Canceled(ctx)
		}
	}
}
