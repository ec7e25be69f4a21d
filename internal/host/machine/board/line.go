package board

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"whichfs/internal/host/machine"
	"whichfs/internal/result"
	"whichfs/internal/sys/command"
	"whichfs/internal/sys/owner"
)

// How long to wait; variables for tests.
var (
	// loginLimit is for a whole login, which may pass jump hosts and wait for a hardware key.
	loginLimit = 90 * time.Second
	// endPatience is for the agent to end, which has 10 s itself, and then for the removal of the
	// directory.
	endPatience = 30 * time.Second
)

// longestSocket is a limit of the kernel (unix(7)), less what ssh appends while it makes the socket.
const longestSocket = 107 - 17

// line is a connection to a board: the first ssh process, which the others share. On the board its
// shell keeps the directory.
type line struct {
	o     Options
	place Place
	ssh   string
	words *machine.Lines
	mark  string

	socketDir string
	lock      *os.File
	master    *command.Piped
	lines     *bufio.Reader

	described
	dir string // on the board; "": none
}

// silence is how long a board may say nothing before the connection counts as lost. A small board
// whose storage is written to as fast as it goes may not get round to an answer for many seconds.
const silence = time.Minute

// settings are options of every ssh process. They come before the user's configuration, which
// decides everything else.
func (l *line) settings() []string {
	const questions = 6
	every := max(1, int(cmp.Or(l.o.Silence, silence).Seconds())/questions)
	return []string{
		"-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=15",
		"-o", fmt.Sprintf("ServerAliveInterval=%d", every), "-o", fmt.Sprintf("ServerAliveCountMax=%d", questions),
		"-o", "ControlPersist=no", "-o", "RemoteCommand=none", "-o", "ClearAllForwardings=yes", "-o", "PermitLocalCommand=no",
		"-o", "LogLevel=INFO",
	}
}

// connect logs in and has the board describe itself. After an error nothing is left.
func connect(ctx context.Context, place Place, o Options) (*line, error) {
	l := &line{o: o, place: place, words: &machine.Lines{}, mark: "whichfs-" + rand.Text()}
	var err error
	if l.ssh, err = command.Look("ssh"); err != nil {
		return nil, result.Fail(result.LabFailed, "sudo apt-get install openssh-client", "machine %s needs the program ssh, which is not installed", place.Name)
	}
	if err := l.begin(); err != nil {
		err = errors.Join(err, l.close())
		return nil, &result.Failure{Outcome: result.LabFailed, Reason: "cannot start ssh for " + place.Name, Err: err}
	}
	said, err := l.until(ctx)
	if err == nil {
		said, err = l.until(ctx)
	}
	if err != nil {
		return nil, withCleaning(err, l.close())
	}
	l.described = describe(said)
	return l, nil
}

// withCleaning adds to an error what went wrong afterwards, unless that merely follows.
func withCleaning(err, after error) error {
	if after == nil || result.FailureOf(err) != nil {
		return err
	}
	return errors.Join(err, after)
}

// begin starts the first ssh process.
func (l *line) begin() error {
	parent := os.TempDir()
	if len(parent) > longestSocket-40 {
		parent = "/tmp"
	}
	owner.Sweep(parent, socketKind)
	var err error
	if l.socketDir, l.lock, err = owner.Dir(parent, socketKind); err != nil {
		return fmt.Errorf("cannot make a directory for ssh's socket: %w", err)
	}
	text, err := remote(ask, l.mark, keep)
	if err != nil {
		return err
	}
	argv := slices.Concat([]string{l.ssh}, l.config(), []string{"-o", "ControlMaster=yes", "-S", l.socket()}, l.settings(), l.place.words(), []string{text})
	if l.master, err = command.StartPiped(command.Options{Stderr: l.words}, argv...); err != nil {
		return err
	}
	l.lines = bufio.NewReader(l.master.Out)
	return nil
}

// socketKind is owner's name for directories with ssh's socket.
const socketKind = "ssh"

func (l *line) socket() string { return filepath.Join(l.socketDir, "s") }

func (l *line) config() []string {
	if l.o.Config == "" {
		return nil
	}
	return []string{"-F", l.o.Config}
}

// more is the command line of a further ssh process, which uses the connection of the first.
func (l *line) more(text string) []string {
	// Without the first it would make a connection of its own.
	return slices.Concat([]string{l.ssh}, l.config(), []string{"-o", "ControlMaster=no", "-S", l.socket(), "-o", "ProxyCommand=false"},
		l.settings(), l.place.words(), []string{text})
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
	if _, err := fmt.Fprintln(l.master.In, dir); err != nil {
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
	text, err := l.rooted(script, arguments...)
	if err != nil {
		return "", err
	}
	if input == nil {
		input = strings.NewReader("")
	}
	r, err := command.Run(ctx, command.Options{Stdin: input}, l.more(text)...)
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

// rooted is the command line that has the board carry out a script as root. $1 is the mark.
func (l *line) rooted(script string, arguments ...string) (string, error) {
	words, err := l.asRoot()
	if err != nil {
		return "", err
	}
	return commandLine(slices.Concat(words, []string{"/bin/sh", "-c", script, "whichfs", l.mark}, arguments))
}

// close ends the connection, and with it everything on the board. It may be called more than once.
func (l *line) close() error {
	var err error
	if l.master != nil {
		err = errors.Join(l.master.In.Close(), l.ended(), l.master.Out.Close())
		l.master = nil
	}
	if l.socketDir != "" {
		err = errors.Join(err, os.RemoveAll(l.socketDir), l.lock.Close())
		l.socketDir = ""
	}
	return err
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
