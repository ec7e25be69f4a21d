package board

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"whichfs/internal/host/machine"
	"whichfs/internal/result"
	"whichfs/internal/sys/command"
	"whichfs/internal/sys/owner"
)

// longestSocket is a limit of the kernel (unix(7)), less what ssh appends while it makes the socket.
const longestSocket = 107 - 17

// ssh is the system's own client. Its first process makes the connection, which the others share.
type ssh struct {
	o     Options
	place Place
	words *machine.Lines

	program   string
	begun     bool
	socketDir string
	lock      *os.File
}

func (s *ssh) name() string { return "ssh" }

func (s *ssh) resident() (at string, checked bool) { return s.o.Installed, false }

func (s *ssh) facts() *described { return nil }

// settings are options of every ssh process. They come before the user's configuration, which
// decides everything else.
func (s *ssh) settings() []string {
	const questions = 6
	every := max(1, int(cmp.Or(s.o.Silence, silence).Seconds())/questions)
	return []string{
		"-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=15",
		"-o", fmt.Sprintf("ServerAliveInterval=%d", every), "-o", fmt.Sprintf("ServerAliveCountMax=%d", questions),
		"-o", "ControlPersist=no", "-o", "RemoteCommand=none", "-o", "ClearAllForwardings=yes", "-o", "PermitLocalCommand=no",
		"-o", "LogLevel=INFO",
	}
}

// open prepares the first process.
func (s *ssh) open(context.Context) error {
	var err error
	if s.program, err = command.Look("ssh"); err != nil {
		return result.Fail(result.LabFailed, "sudo apt-get install openssh-client", "machine %s needs the program ssh, which is not installed", s.place.Name)
	}
	parent := os.TempDir()
	if len(parent) > longestSocket-40 {
		parent = "/tmp"
	}
	owner.Sweep(parent, socketKind)
	if s.socketDir, s.lock, err = owner.Dir(parent, socketKind); err != nil {
		return &result.Failure{Outcome: result.LabFailed, Reason: "cannot start ssh for " + s.place.Name, Err: fmt.Errorf("cannot make a directory for its socket: %w", err)}
	}
	return nil
}

// piped is a process of ssh.
type piped struct{ *command.Piped }

func (p piped) streams() (io.WriteCloser, io.ReadCloser) { return p.In, p.Out }

func (s *ssh) start(errs io.Writer, argv []string) (process, error) {
	text, err := commandLine(append([]string{"exec"}, argv...))
	if err != nil {
		return nil, err
	}
	all := s.more(text)
	if !s.begun {
		all = slices.Concat([]string{s.program}, s.config(), []string{"-o", "ControlMaster=yes", "-S", s.socket()}, s.settings(), s.place.words(), []string{text})
	}
	p, err := command.StartPiped(command.Options{Stderr: errs}, all...)
	if err != nil {
		return nil, &result.Failure{Outcome: result.LabFailed, Reason: "cannot start ssh for " + s.place.Name, Err: err}
	}
	s.begun = true
	return piped{p}, nil
}

func (s *ssh) run(ctx context.Context, input io.Reader, argv []string) (command.Result, error) {
	text, err := commandLine(append([]string{"exec"}, argv...))
	if err != nil {
		return command.Result{Status: -1}, err
	}
	return command.Run(ctx, command.Options{Stdin: input}, s.more(text)...)
}

func (s *ssh) close() error {
	if s.socketDir == "" {
		return nil
	}
	err := errors.Join(os.RemoveAll(s.socketDir), s.lock.Close())
	s.socketDir = ""
	return err
}

// socketKind is owner's name for directories with ssh's socket.
const socketKind = "ssh"

func (s *ssh) socket() string { return filepath.Join(s.socketDir, "s") }

func (s *ssh) config() []string {
	if s.o.Config == "" {
		return nil
	}
	return []string{"-F", s.o.Config}
}

// more is the command line of a further ssh process, which uses the connection of the first.
func (s *ssh) more(text string) []string {
	// Without the first it would make a connection of its own.
	return slices.Concat([]string{s.program}, s.config(), []string{"-o", "ControlMaster=no", "-S", s.socket(), "-o", "ProxyCommand=false"},
		s.settings(), s.place.words(), []string{text})
}

// ssh has one exit status for everything that goes wrong before the board's own commands run. Its
// messages are the same in every language (fatal and error in its sources are not translated).
type cause struct {
	says    string
	outcome result.Outcome
	reason  string // %s: the machine
	hint    string // %s: how to connect by hand
}

var causes = []cause{
	{"REMOTE HOST IDENTIFICATION HAS CHANGED", result.Refused, "the host key of %s is not the one that it had before",
		"if the board was made anew, forget its old key (ssh-keygen -R HOST) and check the new one by connecting once by hand: %s"},
	{"Host key verification failed", result.Refused, "the host key of %s is not known", "connect once by hand and check the key: %s"},
	{"Permission denied (", result.Refused, "%s refuses the login",
		"whichfs never asks for passwords: give the board a key of yours (ssh-copy-id), or name the key in ~/.ssh/config, until this works without a question: %s"},
	{"Too many authentication failures", result.Refused, "%s refuses the login", "name the key in ~/.ssh/config, with IdentitiesOnly yes, until this works without a question: %s"},
	{"Could not resolve hostname", result.Refused, "no host is known by the name in %s", "is it spelt as for: %s"},
	{"Bad configuration option", result.Refused, "ssh refuses its configuration for %s", "by hand: %s"},
	{"Can't open user config file", result.Refused, "ssh cannot read its configuration for %s", "by hand: %s"},
	{"Unable to negotiate", result.Refused, "ssh and the board of %s have no method in common", "allow one that the board has in ~/.ssh/config, until this works: %s"},
	{"Connection refused", result.LabFailed, "%s cannot be reached", "does an ssh server run on the board? By hand: %s"},
	{"timed out", result.LabFailed, "%s cannot be reached", "is the board switched on? By hand: %s"},
	{"No route to host", result.LabFailed, "%s cannot be reached", "is the board switched on? By hand: %s"},
	{"Network is unreachable", result.LabFailed, "%s cannot be reached", "by hand: %s"},
}

// refusal explains why the first ssh process ended before the board said what was expected. lines
// are what it did say.
func (s *ssh) refusal(lines []string) error {
	said := s.words.Last()
	for _, c := range causes {
		for _, text := range said {
			if strings.Contains(text, c.says) {
				reason := fmt.Sprintf(c.reason, s.place.Name) + ": " + last(said)
				if len(said) == 1 {
					said = nil // the reason quotes it
				}
				return &result.Failure{Outcome: c.outcome, Reason: reason, Console: said,
					Hint: fmt.Sprintf(c.hint, s.place.typed())}
			}
		}
	}
	f := &result.Failure{Outcome: result.LabFailed, Reason: "the connection to " + s.place.Name + " ended", Hint: "by hand: " + s.place.typed(), Console: append(said, lines...)}
	if len(said) > 0 {
		f.Reason += ": " + last(said)
	} else if len(lines) > 0 { // a login shell that runs no commands says so here
		f.Reason += " without an answer from /bin/sh; it said: " + last(lines)
	}
	return f
}

func (s *ssh) gone(first process) string {
	if text := last(s.words.Last()); text != "" {
		return text
	}
	if err := first.Err(); err != nil {
		return err.Error()
	}
	return "ssh ended"
}
