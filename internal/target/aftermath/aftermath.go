// Package aftermath finds out what a fault left of a filesystem. A run is recorded on a disk in
// memory; a state that a fault can leave is written to such a disk, mounted, judged, unmounted,
// checked by the filesystem's own tool and repaired if needed; the result is one outcome. The
// caller chooses the states and what was promised in them: power cuts and bit flips drawn at
// random, dropped writes, enumerated crash states.
//
// It runs where the storage is: in the agent. An error is always one of our own machinery; whatever
// the filesystem does is an outcome.
package aftermath

import (
	"fmt"
	"strings"
	"time"

	"whichfs/internal/fault"
	"whichfs/internal/fault/script"
	"whichfs/internal/filesystem"
)

// Judge compares the promises with the tree below a directory, which it may write to. If it hangs
// it is left alone.
type Judge func(root string) Found

// Found is the result of a judge.
type Found struct {
	Promises int // number of single promises judged
	// Breaches are the broken promises, and losses that had been reported before the fault, which
	// break none (script.PromiseNone).
	Breaches []fault.Breach
	// ReadOnly is why nothing more can be written; empty if writing works or was not tried.
	ReadOnly string
	// Stopped: it had become read-only while the fault lasted, whether it still is or not.
	Stopped bool
}

// Broken is the number of broken promises.
func (f Found) Broken() int {
	n := 0
	for _, b := range f.Breaches {
		if b.Promise != script.PromiseNone {
			n++
		}
	}
	return n
}

// Stages of an examination, by which tallies count time.
const (
	Make = iota // of the state
	Mount
	Judging
	Unmount
	Check
	stages
)

// StageNames are the names of the stages.
var StageNames = [stages]string{"make", "mount", "judge", "unmount", "check"}

var began = time.Now()

// Now is the time since the program's start. It reads the clock once, and time.Now twice: in the
// virtual lab, reading it is a system call, of which an examination has few.
func Now() time.Duration { return time.Since(began) }

// Diagnosis is the state of a filesystem after a fault.
type Diagnosis struct {
	Outcome fault.Outcome
	// Found is the result for the filesystem as finally mounted, after a repair if necessary.
	Found
	Mounted bool          // without repair
	Took    time.Duration // to mount then
	why     string        // it did not mount
	hung    string        // the call that did not return
	died    string        // the kernel's message when it gave up
	// Said are the kernel's messages about the filesystem, before any repair.
	Said filesystem.Said
	// Messages of the kernel, from all mounts, and what prevented a repair.
	Messages []string

	Checked   bool // by the filesystem's own tool
	Dirty     bool // of Checked: the tool complained
	Check     string
	Unchecked string // why a required check did not take place

	// After is the outcome after a repair by the tool; 0: no repair.
	After      fault.Outcome
	Unrepaired string // why a required repair did not take place

	Stages [stages]time.Duration
}

// settle derives the outcome: the worst observation. alone: only this filesystem can have crashed
// the kernel.
func (s *Diagnosis) settle(alone bool) {
	switch {
	case s.died != "" && (alone || s.hung != ""):
		s.Outcome = fault.Died
		return
	case s.hung != "":
		s.Outcome = fault.Hang
		return
	case !s.Mounted:
		s.Outcome = fault.Unmountable
		return
	}
	switch {
	case s.ReadOnly != "":
		s.Outcome = fault.ReadOnly
	case len(s.Said.Errors) > 0:
		s.Outcome = fault.Reported
	case len(s.Said.Replay) > 0:
		s.Outcome = fault.Recovered
	default:
		s.Outcome = fault.Whole
	}
	for _, b := range s.Breaches {
		s.Outcome = max(s.Outcome, b.Outcome)
	}
}

// damaged reports whether more is wrong than a journal that had to be replayed.
func (s *Diagnosis) damaged() bool { return s.Outcome > fault.Recovered }

// Words describe what was lost, for the first losses only, and the result of the check.
func (s *Diagnosis) Words() string {
	const most = 2
	var out []string
	switch {
	case s.died != "":
		out = append(out, "the kernel: "+s.died)
	case s.hung != "":
		out = append(out, s.hung)
	case !s.Mounted:
		out = append(out, s.why)
	}
	for i, b := range s.Breaches {
		if i == most {
			out = append(out, fmt.Sprintf("and %d more", len(s.Breaches)-i))
			break
		}
		out = append(out, b.What)
	}
	if s.ReadOnly != "" {
		out = append(out, "it accepts no more writes: "+s.ReadOnly)
	}
	if len(s.Said.Errors) > 0 {
		out = append(out, "kernel: "+s.Said.Errors[0])
	}
	if s.Dirty {
		out = append(out, "the check: "+s.Check)
	}
	return strings.Join(out, "; ")
}

// Hanging is the diagnosis if a call before the examination did not return.
func Hanging(h *Hung) Diagnosis {
	return Diagnosis{Outcome: fault.Hang, hung: h.Error(), Messages: h.messages()}
}
