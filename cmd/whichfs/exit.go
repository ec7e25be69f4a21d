package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"whichfs/internal/result"
)

// Exit statuses. The help text prints the table below.
const (
	exitOK          = 0
	exitLab         = 1
	exitRefused     = 2
	exitUnsupported = 3
	exitSubject     = 4
	exitFindings    = 5
	exitInterrupted = 130
)

var exits = []struct {
	code       int
	kind, text string
}{
	{exitOK, "ok", "success"},
	{exitLab, "lab", "whichfs itself failed: a guest, the store, or a program that it needs"},
	{exitRefused, "refused", "the request is impossible, unsafe or misspelt"},
	{exitUnsupported, "unsupported", "nothing that was requested can run on this machine"},
	{exitSubject, "subject", "the subject of the test failed: every filesystem, or the storage of a probe"},
	{exitFindings, "findings", "some crash states break what was promised, or compare --fail-on worse found something worse"},
	{exitInterrupted, "interrupted", "interrupted by the user; whichfs resume continues"},
}

func exitHelp() string {
	var b strings.Builder
	b.WriteString("Exit status:\n")
	for _, e := range exits {
		fmt.Fprintf(&b, "  %3d  %s\n", e.code, e.text)
	}
	return b.String()
}

func exitKind(code int) string {
	for _, e := range exits {
		if e.code == code {
			return e.kind
		}
	}
	return ""
}

// problem is an error as a user meets it: a failure with the exit status and what else can be done.
// An empty reason means that the error has already been reported.
type problem struct {
	result.Failure
	code int
	more string
}

// explain turns any error into a problem.
func explain(err error) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	if errors.Is(err, errInterrupted) || errors.Is(err, context.Canceled) {
		return &problem{code: exitInterrupted, Failure: result.Failure{Reason: "interrupted"}}
	}
	p := &problem{code: exitLab, Failure: result.Failure{Reason: err.Error()}}
	if advised, ok := errors.AsType[*result.Advised](err); ok {
		p.more = advised.More
	}
	if known, ok := errors.AsType[*result.Failure](err); ok {
		p.code, p.Hint, p.Console = codeOf(known.Outcome), known.Hint, known.Console
	} else if errors.Is(err, fs.ErrPermission) {
		p.code = exitRefused // the user can grant it
	}
	return p
}

func codeOf(o result.Outcome) int {
	switch o {
	case result.Refused:
		return exitRefused
	case result.Unsupported:
		return exitUnsupported
	case result.SubjectFailed:
		return exitSubject
	case result.Done, result.LabFailed:
	}
	return exitLab
}
