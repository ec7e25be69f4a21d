package board

import (
	"context"
	"errors"
	"time"

	"whichfs/internal/host/machine"
)

// Impatient is for tests of consoles that never answer as they should: it shortens the waits until the
// test has ended, and is restored by what it returns.
func Impatient(limit time.Duration) (restore func()) {
	console, mute := consoleLimit, muteLimit
	consoleLimit, muteLimit = limit, limit/2
	return func() { consoleLimit, muteLimit = console, mute }
}

// Acquire is what the first session of a board begins with that somebody lends.
func (m *Machine) Acquire(ctx context.Context) error { return m.acquire(ctx) }

// Off switches the board off.
func (m *Machine) Off(ctx context.Context) error { return m.off(ctx) }

// Unhurried waits long before something is typed on a console that starts, and is restored by what it returns.
func Unhurried(pause time.Duration) (restore func()) {
	had := startHush
	startHush = pause
	return func() { startHush = had }
}

// Send sends bytes as the agent is sent, and returns what the board has of them, as one line, and what the
// user was told.
func Send(ctx context.Context, name string, content []byte) (digest string, told []string, err error) {
	place, err := Parse(name)
	if err != nil {
		return "", nil, err
	}
	s := newSerial(place, Options{Progress: func(text string) { told = append(told, text) }}, &machine.Lines{}, &entry{})
	p, err := openPort(ctx, place)
	if err != nil {
		return "", nil, err
	}
	s.console = &console{port: p, place: place, words: s.words, progress: s.o.Progress, entry: s.entry}
	defer func() { err = errors.Join(err, s.close()) }()
	if err = errors.Join(s.console.login(ctx), s.console.startReader(ctx)); err != nil {
		return "", told, err
	}
	got, err := s.console.do(ctx, "", "describing the board", describing, answerLimit)
	if err != nil {
		return "", told, err
	}
	s.about = describe(got.lines())
	if _, err = s.console.do(ctx, "v", "making a directory", "d=/tmp/whichfs-test-$$; mkdir $d", answerLimit); err != nil {
		return "", told, err
	}
	if err = s.sendPacked(ctx, content); err != nil {
		return "", told, err
	}
	got, err = s.console.do(ctx, "", "computing", `$h <"$d/p"`, answerLimit)
	return got.text, told, err
}
