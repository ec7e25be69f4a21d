// Package fault is what can happen to storage under a filesystem, and what
// became of the filesystem: the words that power cuts, corruption and crash
// states have in common. Its rooms: writelog (what a device was sent), states
// (what a cut can leave of it), script (workloads and what they were promised),
// blockdev (devices in memory that lose, fail and corrupt), explore (states
// mounted and judged), finding (one loss as a file).
package fault

import "fmt"

// Outcome is what became of a filesystem's data after a fault, worst last. The
// zero value is invalid: what was not looked at has none.
type Outcome int

// The outcomes, in the order of what they cost. Up to Repaired nothing is lost.
const (
	// Whole: it mounts, everything that was promised is there and right, and the
	// kernel said nothing of damage.
	Whole Outcome = iota + 1
	// Recovered: the same, after a journal or log was replayed or the kernel
	// mended something by itself.
	Recovered
	// Reported: everything promised is there, and the kernel reports errors.
	Reported
	// ReadOnly: everything promised is there, and nothing can be written any
	// more.
	ReadOnly
	// NeedsCheck: it does not mount, and does after its own tool repaired it,
	// with everything that was promised.
	NeedsCheck
	// Truncated: a file is shorter than promised; what is there is right.
	Truncated
	// Zeroed: a file has zeros where there was something else, without an error.
	Zeroed
	// Lost: a file or name that was promised is not there.
	Lost
	// IOError: reading ends in an error: the loss is reported.
	IOError
	// Wrong: other bytes come back, without an error.
	Wrong
	// Unmountable: it does not mount, and its own tool, if it has one, does not
	// help.
	Unmountable
	// Hang: a call did not return.
	Hang
	// Died: the kernel gave up (panic, BUG, oops).
	Died
)

// Outcomes are all, the least costly first.
var Outcomes = []Outcome{Whole, Recovered, Reported, ReadOnly, NeedsCheck, Truncated, Zeroed, Lost, IOError, Wrong, Unmountable, Hang, Died}

var outcomeKeys = map[Outcome]string{
	Whole: "whole", Recovered: "recovered", Reported: "reported", ReadOnly: "read-only", NeedsCheck: "needs-check",
	Truncated: "truncated", Zeroed: "zeroed", Lost: "lost", IOError: "io-error", Wrong: "wrong",
	Unmountable: "unmountable", Hang: "hang", Died: "died",
}

// Key is the outcome in metrics and files: "io-error".
func (o Outcome) Key() string {
	if k, ok := outcomeKeys[o]; ok {
		return k
	}
	return fmt.Sprintf("outcome-%d", int(o))
}

// Kept reports whether all that was promised could be had in the end.
func (o Outcome) Kept() bool { return o >= Whole && o <= NeedsCheck }

// Metrics of a case of faults: a phase whose work was done Tried times, each
// time ending in one outcome.
const (
	Tried = "fault.tried" // 1, iterations that were judged
	// OutcomePrefix is followed by an outcome's key: iterations that ended so.
	OutcomePrefix = "fault.outcome." // 1
	// AfterPrefix likewise, judged again after the filesystem's own tool was let
	// to repair; only iterations in which it was run.
	AfterPrefix = "fault.after-repair." // 1
	Mounted     = "fault.mounted"       // 1, iterations after which it could be mounted without repair
	CheckDirty  = "fault.check.dirty"   // 1, in which the check without repair complained
	CheckClean  = "fault.check.clean"   // 1, in which it did not
	Promises    = "fault.promises"      // 1, single promises that were looked at
	Broken      = "fault.broken"        // 1, of them broken
	States      = "fault.states"        // 1, crash states that were looked at
	Equal       = "fault.states.equal"  // 1, further ones that were equal to one of these
	Replayed    = "fault.said.replay"   // 1, iterations in which the kernel told of a replay or recovery
	Complained  = "fault.said.error"    // 1, iterations in which it told of errors
)

// Breach is one promise that was not kept.
type Breach struct {
	// Promise is its key (see script.Promises): "fsync", "atomic-replace".
	Promise string `json:"promise"`
	Path    string `json:"path,omitempty"`
	// Outcome that it amounts to: Lost, Truncated, Zeroed, Wrong, IOError …
	Outcome Outcome `json:"outcome"`
	// What says it in words: "the first 512 of 4096 bytes are right, the rest is
	// zeros".
	What string `json:"what"`
}
