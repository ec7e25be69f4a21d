package board

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"whichfs/internal/host/machine"
	"whichfs/internal/result"
	"whichfs/internal/sys/command"
)

// How long to wait; variables for tests.
var (
	// loginLimit is for a whole login, which may pass jump hosts and wait for a hardware key.
	loginLimit = 90 * time.Second
	// endPatience is for the agent to end, which has 10 s itself, and then for the removal of the
	// directory.
	endPatience = 30 * time.Second
)

// transport is how command lines reach a board.
type transport interface {
	// name is what conditions call it.
	name() string
	// open connects. Errors are *result.Failure, or of the context.
	open(ctx context.Context) error
	// start has the board start a program. The line says more than errs.
	start(errs io.Writer, argv []string) (process, error)
	// run has it carry one out. Status 255 is that of a line that was lost.
	run(ctx context.Context, input io.Reader, argv []string) (command.Result, error)
	// resident is where on the board the agent is already, and whether it is known to be intact; "":
	// nowhere.
	resident() (at string, checked bool)
	// facts are what the board has said of itself while the line was opened; nil: nothing.
	facts() *described
	// refusal explains why the line's first program ended before it said what was expected; said is what
	// it did say.
	refusal(said []string) error
	// gone says why the line was lost, after its first program has ended.
	gone(first process) string
	// close ends the connection. It may be called more than once, and after any error.
	close() error
}

// process is a program on the board.
type process interface {
	streams() (io.WriteCloser, io.ReadCloser)
	Done() <-chan struct{}
	Err() error
	Kill() error
	End(name string, patience time.Duration) error
}

// line is a connection to a board, on which its shell keeps the directory.
type line struct {
	o     Options
	place Place
	transport
	words *machine.Lines
	mark  string

	master process // its shell
	in     io.WriteCloser
	lines  *bufio.Reader

	described
	dir string // on the board; "": none
}

// silence is how long a board may say nothing before the connection counts as lost. A small board
// whose storage is written to as fast as it goes may not get round to an answer for many seconds.
const silence = time.Minute

// connect logs in and has the board describe itself. After an error nothing is left.
func connect(ctx context.Context, place Place, o Options, e *entry) (*line, error) {
	l := &line{o: o, place: place, words: &machine.Lines{}, mark: "whichfs-" + rand.Text()}
	if place.serial() {
		l.transport = newSerial(place, o, l.words, e)
	} else {
		l.transport = &ssh{place: place, o: o, words: l.words}
	}
	err := l.open(ctx)
	had := l.facts()
	argv := []string{"/bin/sh", "-c", ask, "whichfs", l.mark, keep}
	if had != nil {
		argv = []string{"/bin/sh", "-c", askPlace, "whichfs", l.mark, keep, had.as}
	}
	if err == nil {
		l.master, err = l.start(l.words, argv)
	}
	var said []string
	if err == nil {
		var out io.ReadCloser
		l.in, out = l.master.streams()
		l.lines = bufio.NewReader(out)
		_, err = l.until(ctx)
	}
	if err == nil {
		said, err = l.until(ctx)
	}
	if err != nil {
		return nil, withCleaning(err, l.close())
	}
	if had == nil {
		l.described = describe(said)
	} else {
		l.described = *had
	}
	return l, nil
}

// withCleaning adds to an error what went wrong afterwards, unless that merely follows.
func withCleaning(err, after error) error {
	if after == nil || result.FailureOf(err) != nil {
		return err
	}
	return errors.Join(err, after)
}

// until returns the lines before the next mark.
func (l *line) until(ctx context.Context) ([]string, error) {
	type answer struct {
		lines []string
		err   error
	}
	got := make(chan answer, 1)
	go func() {
		var a answer
		for {
			text, err := l.lines.ReadString('\n')
			text = strings.TrimRight(text, "\r\n")
			if text == l.mark || err != nil {
				a.err = err
				got <- a
				return
			}
			if len(a.lines) < mostLines {
				a.lines = append(a.lines, text)
			}
		}
	}()
	timer := time.NewTimer(loginLimit)
	defer timer.Stop()
	var why error
	select {
	case a := <-got:
		if a.err == nil {
			return a.lines, nil
		}
		select {
		case <-l.master.Done():
		case <-time.After(2 * time.Second): // the end of its output comes first
		}
		return a.lines, l.refusal(a.lines)
	case <-ctx.Done():
		why = fmt.Errorf("connecting to %s was abandoned: %w", l.place.Name, machine.Canceled(ctx))
	case <-timer.C:
		why = &result.Failure{Outcome: result.LabFailed, Console: l.words.Last(), Hint: "by hand: " + l.place.typed(),
			Reason: fmt.Sprintf("the login on %s did not end within %v", l.place.Name, loginLimit)}
	}
	why = errors.Join(why, l.master.Kill())
	<-got
	return nil, why
}

// mostLines that a board may print before it is ready.
const mostLines = 10_000

// make has the board make the directory.
func (l *line) make(ctx context.Context, parent string) error {
	dir := in(parent, "whichfs-"+strings.ToLower(rand.Text()))
	if _, err := fmt.Fprintln(l.in, dir); err != nil {
		return l.lost(err)
	}
	if _, err := l.until(ctx); err != nil {
		return err
	}
	l.dir = dir
	return nil
}

// carry has the board carry a script out as root, and returns what it printed.
func (l *line) carry(ctx context.Context, input io.Reader, script string, arguments ...string) (string, error) {
	argv, err := l.rooted(script, arguments...)
	if err != nil {
		return "", err
	}
	if input == nil {
		input = strings.NewReader("")
	}
	r, err := l.run(ctx, input, argv)
	if err != nil {
		if ctx.Err() != nil {
			return "", machine.Canceled(ctx)
		}
		if r.Status == 255 {
			return "", l.lost(err)
		}
		return "", &remoteError{status: r.Status, said: strings.TrimSpace(r.Stderr)}
	}
	_, after, found := strings.Cut(r.Stdout, l.mark+"\n")
	if !found {
		return "", result.Fail(result.LabFailed, "", "%s did not carry a command out: its answer has no mark", l.place.Name)
	}
	return strings.TrimSpace(after), nil
}

// remoteError is the failure of a command on the board.
type remoteError struct {
	status int
	said   string
}

func (e *remoteError) Error() string {
	switch {
	case e.said == "":
		return fmt.Sprintf("exit status %d", e.status)
	case e.status == 0:
		return e.said
	}
	return fmt.Sprintf("%s (exit status %d)", strings.Join(strings.Fields(e.said), " "), e.status)
}

// rooted are the words that have the board carry out a script as root. $1 is the mark.
func (l *line) rooted(script string, arguments ...string) ([]string, error) {
	words, err := l.asRoot()
	if err != nil {
		return nil, err
	}
	return slices.Concat(words, []string{"/bin/sh", "-c", script, "whichfs", l.mark}, arguments), nil
}

// close ends the connection, and with it everything on the board. It may be called more than once.
func (l *line) close() error {
	var err error
	if l.master != nil {
		_, out := l.master.streams()
		err = errors.Join(l.in.Close(), l.ended(), out.Close())
		l.master = nil
	}
	return errors.Join(err, l.transport.close())
}

// ended waits for the end of the connection.
func (l *line) ended() (err error) {
	defer func() {
		if err == nil {
			l.dir = ""
		}
	}()
	timer := time.NewTimer(endPatience)
	defer timer.Stop()
	select {
	case <-l.master.Done():
		if err := l.master.Err(); err != nil && l.dir != "" {
			return fmt.Errorf("the connection to %s was lost, and with it the answer that %s was removed; the board removes it when it notices", l.place.Name, l.dir)
		}
		return nil
	case <-timer.C:
	}
	err = l.master.Kill()
	if l.dir == "" {
		return err
	}
	return errors.Join(fmt.Errorf("%s did not say within %v that %s was removed", l.place.Name, endPatience, l.dir), err)
}
