package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"whichfs/internal/machine"
	"whichfs/internal/result"
	"whichfs/internal/result/store"
	"whichfs/internal/storage"
)

// Exit statuses. The table below is also what the help text prints.
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
	{exitOK, "ok", "what was asked for was done"},
	{exitLab, "lab", "our own machinery failed: a guest, the store, a program that we need"},
	{exitRefused, "refused", "what was asked for is impossible, unsafe or misspelt"},
	{exitUnsupported, "unsupported", "nothing of what was asked for can run on this machine"},
	{exitSubject, "subject", "what was under test failed: every filesystem, or the storage of a probe"},
	{exitFindings, "findings", "crash states were found that break what was promised"},
	{exitInterrupted, "interrupted", "ended by the user; whichfs resume goes on"},
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

// problem is an error as a user meets it: what failed and what to type next.
type problem struct {
	code    int
	text    string
	hint    string
	console []string
	more    string // what else can be done
}

func (p *problem) Error() string { return p.text }

// refuse is an error whose cause is what the user asked for.
func refuse(hint, format string, args ...any) error {
	return &problem{code: exitRefused, text: fmt.Sprintf(format, args...), hint: hint}
}

// explain turns any error into a problem.
func explain(err error) *problem {
	var p *problem
	var m *machine.Error
	var r *storage.Refusal
	var s *store.Error
	switch {
	case errors.As(err, &p):
		return p
	case errors.Is(err, errInterrupted), errors.Is(err, context.Canceled):
		return &problem{code: exitInterrupted, text: "interrupted"}
	case errors.As(err, &s):
		return &problem{code: codeOfStore(s), text: strings.TrimSuffix(err.Error(), "; "+s.Hint), hint: s.Hint}
	case errors.Is(err, store.ErrNoRun), errors.Is(err, store.ErrNoProbe):
		text, hint := err.Error(), ""
		if i := strings.LastIndex(text, "; "); i > 0 {
			text, hint = text[:i], text[i+2:]
		}
		return &problem{code: exitRefused, text: text, hint: hint}
	case errors.As(err, &r):
		return &problem{code: exitRefused, text: r.Reason(), hint: r.Advice()}
	case errors.As(err, &m):
		return &problem{code: codeOf(m.Outcome), text: err.Error(), hint: m.Hint, console: m.Console}
	}
	code := exitLab
	if errors.Is(err, fs.ErrPermission) {
		code = exitRefused // for the user to grant
	}
	return &problem{code: code, text: err.Error()}
}

// codeOfStore: a file that was named and cannot be used is the user's to
// change; what happens to a good one is our own trouble.
func codeOfStore(e *store.Error) int {
	for _, kind := range []error{store.ErrMissing, store.ErrNotWritable, store.ErrNotReadable, store.ErrForeign, store.ErrVersion} {
		if errors.Is(e, kind) {
			return exitRefused
		}
	}
	return exitLab
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
