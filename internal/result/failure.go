package result

import (
	"errors"
	"fmt"

	"whichfs/internal/sys/harmless"
)

// Failure is an error that states whose fault it is. It is passed on unchanged from its origin to
// the exit status of the program.
type Failure struct {
	Outcome Outcome  `json:"outcome,omitempty"` // whose fault it is
	Reason  string   `json:"reason,omitempty"`  // what failed, without a final period
	Hint    string   `json:"hint,omitempty"`    // what to type or install
	Err     error    `json:"-"`                 // the cause; may be nil
	Console []string `json:"-"`                 // last lines, where there is a console
}

// Fail makes a Failure; hint may be empty.
func Fail(o Outcome, hint, format string, args ...any) *Failure {
	return &Failure{Outcome: o, Reason: fmt.Sprintf(format, args...), Hint: hint}
}

// Refuse makes one of Outcome Refused.
func Refuse(hint, format string, args ...any) *Failure {
	return Fail(Refused, hint, format, args...)
}

// Support states whether a candidate can run somewhere: Reason is empty if it can. Outcome is
// Unsupported or Refused otherwise.
type Support struct {
	Candidate string  `json:"candidate"`
	Outcome   Outcome `json:"outcome,omitempty"`
	Reason    string  `json:"reason,omitempty"`
	Hint      string  `json:"hint,omitempty"` // what would help: a package, a module
}

// longestFailure in bytes.
const longestFailure = 8 << 10

// Error is the reason on one line; it may quote a guest or a program, at any length.
func (f *Failure) Error() string {
	text := f.Reason
	if f.Err != nil {
		text += ": " + f.Err.Error()
	}
	return harmless.Cut(text, longestFailure)
}

func (f *Failure) Unwrap() error { return f.Err }

// FailureOf returns the failure that err is or wraps; nil if the fault is unknown.
func FailureOf(err error) *Failure {
	var f *Failure
	if errors.As(err, &f) {
		return f
	}
	return nil
}

// Advised is an error with further advice.
type Advised struct {
	error
	More string
}

// Also adds advice to err, in addition to the hint that it may have.
func Also(err error, more string) error { return &Advised{err, more} }

func (a *Advised) Unwrap() error { return a.error }
