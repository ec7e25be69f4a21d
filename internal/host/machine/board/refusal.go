package board

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"whichfs/internal/result"
)

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
func (l *line) refusal(lines []string) error {
	said := l.words.Last()
	for _, c := range causes {
		for _, text := range said {
			if strings.Contains(text, c.says) {
				reason := fmt.Sprintf(c.reason, l.place.Name) + ": " + last(said)
				if len(said) == 1 {
					said = nil // the reason quotes it
				}
				return &result.Failure{Outcome: c.outcome, Reason: reason, Console: said,
					Hint: fmt.Sprintf(c.hint, l.place.typed())}
			}
		}
	}
	f := &result.Failure{Outcome: result.LabFailed, Reason: "the connection to " + l.place.Name + " ended", Hint: "by hand: " + l.place.typed(), Console: append(said, lines...)}
	if len(said) > 0 {
		f.Reason += ": " + last(said)
	} else if len(lines) > 0 { // a login shell that runs no commands says so here
		f.Reason += " without an answer from /bin/sh; it said: " + last(lines)
	}
	return f
}

// last is the last line that says something.
func last(lines []string) string {
	for i := len(lines) - 1; i >= 0; i-- {
		if text := strings.TrimSpace(lines[i]); text != "" {
			return text
		}
	}
	return ""
}

// gone says why there is no connection any more; "" if there is one.
func (l *line) gone() string {
	timer := time.NewTimer(2 * time.Second) // the processes that share it notice first
	defer timer.Stop()
	select {
	case <-l.master.Done():
	case <-timer.C:
		return ""
	}
	if text := last(l.words.Last()); text != "" {
		return text
	}
	if err := l.master.Err(); err != nil {
		return err.Error()
	}
	return "ssh ended"
}

// lost is the error of a process that the connection failed, or that failed by itself.
func (l *line) lost(err error) error {
	f := &result.Failure{Outcome: result.LabFailed, Reason: "ssh cannot use the connection to " + l.place.Name, Err: err}
	if why := l.gone(); why != "" {
		f.Reason, f.Err = "the connection to "+l.place.Name+" was lost: "+why, nil
	}
	f.Console = l.words.Last()
	return f
}

// failed is a failure of the lab where a command on the board failed.
func (l *line) failed(doing string, err error) error {
	if there, ok := errors.AsType[*remoteError](err); ok {
		return &result.Failure{Outcome: result.LabFailed, Reason: doing + " on " + l.place.Name, Err: there}
	}
	return err
}
