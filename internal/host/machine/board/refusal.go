package board

import (
	"errors"
	"strings"
	"time"

	"whichfs/internal/result"
)

// last is the last line that says something.
func last(lines []string) string {
	for i := len(lines) - 1; i >= 0; i-- {
		if text := strings.TrimSpace(lines[i]); text != "" {
			return text
		}
	}
	return ""
}

// goneNow says why there is no connection any more; "" if there is one.
func (l *line) goneNow() string {
	timer := time.NewTimer(2 * time.Second) // the processes that share it notice first
	defer timer.Stop()
	select {
	case <-l.master.Done():
		return l.gone(l.master)
	case <-timer.C:
		return ""
	}
}

// lost is the error of a process that the connection failed, or that failed by itself.
func (l *line) lost(err error) error {
	f := &result.Failure{Outcome: result.LabFailed, Reason: "cannot use the connection to " + l.place.Name, Err: err}
	if why := l.goneNow(); why != "" {
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
