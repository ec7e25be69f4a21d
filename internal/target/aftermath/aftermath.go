// Package aftermath finds out what a fault left of a filesystem. A run is
// recorded on a disk in memory; a state that a fault can leave is put onto such a
// disk, mounted, judged, unmounted, checked by the filesystem's own tool and
// repaired where that is needed; and what became of it is one outcome. Which
// states, and what was promised in them, is the caller's business: power cuts and
// flipped bits drawn at random, writes that were dropped, enumerated crash states.
//
// It runs where the storage is: in the agent. An error is always one of our own
// machinery; whatever the filesystem does is an outcome.
package aftermath

import (
	"fmt"
	"strings"
	"time"

	"whichfs/internal/fault"
	"whichfs/internal/fault/script"
	"whichfs/internal/filesystem"
)

// Judge says what of what was promised is below a directory, which it may write
// to. Where it hangs it is left alone.
type Judge func(root string) Found

// Found is what a judge found.
type Found struct {
	Promises int // single ones that were judged
	// Breaches are the promises that are broken, and losses that had been reported
	// before the fault, which break none (script.PromiseNone).
	Breaches []fault.Breach
	// ReadOnly is why nothing can be written any more; empty: it can, or that was
	// not tried.
	ReadOnly string
}

// Broken is how many promises are.
func (f Found) Broken() int {
	n := 0
	for _, b := range f.Breaches {
		if b.Promise != script.PromiseNone {
			n++
		}
	}
	return n
}

// Stages of an examination, as tallies name them.
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

// Diagnosis is what became of a filesystem after a fault.
type Diagnosis struct {
	Outcome fault.Outcome
	// Found is of what mounted in the end, after a repair if need be.
	Found
	Mounted bool          // without repair
	Took    time.Duration // to mount then
	why     string        // it did not mount
	hung    string        // the call that did not return
	died    string        // what the kernel said when it gave up
	// Said is what the kernel said, in words of the filesystem, before any repair.
	Said filesystem.Said
	// Messages of the kernel, of all mounts, and what hindered a repair.
	Messages []string

	Checked   bool // by the filesystem's own tool
	Dirty     bool // of Checked: the tool complained
	Check     string
	Unchecked string // why there was no check although there should have been one

	// After is the outcome after the tool was run to repair; 0: it was not.
	After      fault.Outcome
	Unrepaired string // why it was not although it should have been

	Stages [stages]time.Duration
}

// settle works out the outcome: the worst of what was seen. alone: only this
// filesystem can have made the kernel give up.
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

// Words say what was lost, of the first losses alone, and what the check said.
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
		out = append(out, "it takes no more writes: "+s.ReadOnly)
	}
	if len(s.Said.Errors) > 0 {
		out = append(out, "kernel: "+s.Said.Errors[0])
	}
	if s.Dirty {
		out = append(out, "the check: "+s.Check)
	}
	return strings.Join(out, "; ")
}

// Hanging is the diagnosis where a call before the examination did not return.
func Hanging(h *Hung) Diagnosis {
	return Diagnosis{Outcome: fault.Hang, hung: h.Error(), Messages: h.messages()}
}
