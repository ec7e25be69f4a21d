// Package fault is what can happen to storage under a filesystem, and what
// became of the filesystem: the words that power loss, corruption and crash
// states share. Its rooms: writelog (what a device was sent), states (what a
// fault can leave of it), script (workloads and what they were promised),
// blockdev (devices in memory that lose, fail and corrupt), aftermath (what is
// left is mounted, judged, checked and repaired), explore (that of every crash
// state), finding (one loss as a file).
package fault

import "fmt"

// Outcome is what became of a filesystem's data after a fault. The zero value is
// invalid: what was not judged has none.
type Outcome int

// The outcomes, in the order of what they cost; outcomes says what each is.
const (
	Whole Outcome = iota + 1
	Recovered
	Reported
	ReadOnly
	NeedsCheck
	Truncated
	Zeroed
	Lost
	IOError
	Wrong
	Unmountable
	Hang
	Died
)

// outcomes is all that is said of outcomes anywhere, the least costly first.
var outcomes = []struct {
	Outcome
	key    string // in metrics and files
	letter string // where there is no room: lower case where nothing promised is lost
	words  string // what it means for whoever has the data
	about  string // a clause
	// loss: not all that was promised could be had in the end; silent: reading
	// returned no error.
	loss, silent bool
}{
	{Whole, "whole", "✓", "whole", "everything promised is there and correct, and the kernel reported no damage", false, false},
	{Recovered, "recovered", "r", "recovered", "everything promised is there after a journal or log replay, or a repair by the kernel itself", false, false},
	{Reported, "reported", "s", "errors reported", "everything promised is there, but the kernel reported errors", false, false},
	{ReadOnly, "read-only", "o", "read-only", "everything promised is there, but nothing can be written any more", false, false},
	{NeedsCheck, "needs-check", "c", "needs repair", "it mounts with everything promised, but only after a repair by its own tool", false, false},
	{Truncated, "truncated", "T", "truncated", "a file is shorter than promised; its remaining contents are correct", true, true},
	{Zeroed, "zeroed", "Z", "zeroed", "zeros replace other contents, without an error", true, true},
	{Lost, "lost", "L", "lost", "a promised file or name is missing", true, true},
	{IOError, "io-error", "E", "I/O error", "reading fails with an error: the loss is reported", true, false},
	{Wrong, "wrong", "W", "wrong data", "reading returns wrong bytes, without an error", true, true},
	{Unmountable, "unmountable", "U", "unmountable", "it does not mount, not even after a repair with its own tool, if it has one", true, false},
	{Hang, "hang", "H", "hangs", "a call did not return", true, false},
	{Died, "died", "D", "kernel died", "the kernel failed (panic, BUG, oops)", true, false},
}

// Outcomes are all, the least costly first.
var Outcomes = func() (all []Outcome) {
	for _, o := range outcomes {
		all = append(all, o.Outcome)
	}
	return all
}()

// OutcomeOf finds an outcome by its key; without one of that key it is the zero
// value.
func OutcomeOf(key string) (Outcome, bool) {
	for _, o := range outcomes {
		if o.key == key {
			return o.Outcome, true
		}
	}
	return 0, false
}

// known reports whether there is such an outcome.
func (o Outcome) known() bool { return o >= Whole && o <= Died }

// Key is the outcome in metrics and files: "io-error".
func (o Outcome) Key() string {
	if !o.known() {
		return fmt.Sprintf("outcome-%d", int(o))
	}
	return outcomes[o-Whole].key
}

// Letter stands for the outcome where there is no room: lower case where all
// that was promised is there.
func (o Outcome) Letter() string {
	if !o.known() {
		return "?"
	}
	return outcomes[o-Whole].letter
}

// Words are what the outcome means for whoever has the data: "needs repair".
func (o Outcome) Words() string {
	if !o.known() {
		return o.Key()
	}
	return outcomes[o-Whole].words
}

// About explains the outcome in a clause.
func (o Outcome) About() string {
	if !o.known() {
		return "an outcome unknown to this version"
	}
	return outcomes[o-Whole].about
}

// Kept reports whether all that was promised could be had in the end.
func (o Outcome) Kept() bool { return o.known() && !outcomes[o-Whole].loss }

// Silent reports whether something was lost and reading returned no error.
func (o Outcome) Silent() bool { return o.known() && outcomes[o-Whole].silent }

// MarshalText writes the key, so that files and messages say "io-error" and not
// a number that changes its meaning when an outcome is added. The zero value is
// an empty text.
func (o Outcome) MarshalText() ([]byte, error) {
	switch {
	case o == 0:
		return nil, nil
	case !o.known():
		return nil, fmt.Errorf("there is no outcome %d", int(o))
	}
	return []byte(o.Key()), nil
}

// UnmarshalText reads what MarshalText wrote.
func (o *Outcome) UnmarshalText(text []byte) error {
	known, ok := OutcomeOf(string(text))
	if !ok && len(text) > 0 {
		return fmt.Errorf("there is no outcome %q", text)
	}
	*o = known
	return nil
}

// Kinds of work whose phases are cases of faults: the work is done again and
// again, and each iteration ends in one outcome.
const (
	PowerCut    = "power-cut"
	FlakyWrites = "flaky-writes"
	BitRot      = "bit-rot"
	CrashStates = "crash-states"
)

// What these kinds of work do to the storage, as steps name it (scenario.Step's
// Fault).
const (
	Kill = "kill" // of power-cut: nothing that was sent is lost

	// Of flaky-writes.
	CorruptAfter  = "corrupt-after"
	CorruptInTurn = "corrupt-in-turn"
	DropWrites    = "drop"
	FailWrites    = "fail"

	// Of bit-rot: where bits flip.
	InData     = "data"
	InMetadata = "metadata"
	InBoth     = "both"

	// Careless, of crash-states: scripts that rely on more than is promised.
	Careless = "careless"
)

// Metrics of a case of faults.
const (
	Tried = "fault.tried" // 1, iterations that were judged
	// OutcomePrefix is followed by an outcome's key: iterations that ended so.
	OutcomePrefix = "fault.outcome." // 1
	// AfterPrefix likewise, judged again after the filesystem's own tool was run to
	// repair; only iterations in which it was.
	AfterPrefix  = "fault.after-repair." // 1
	Mounted      = "fault.mounted"       // 1, iterations after which it could be mounted without repair
	CheckDirty   = "fault.check.dirty"   // 1, in which the check without repair complained
	CheckClean   = "fault.check.clean"   // 1, in which it did not
	Promises     = "fault.promises"      // 1, single promises that were judged
	Broken       = "fault.broken"        // 1, of them broken
	States       = "fault.states"        // 1, crash states that were judged
	Equal        = "fault.states.equal"  // 1, further ones that were equal to one of these
	Replayed     = "fault.said.replay"   // 1, iterations in which the kernel reported a replay or recovery
	Complained   = "fault.said.error"    // 1, iterations in which it reported errors
	MountMean    = "fault.mount.mean"    // s, mounts after the fault, before any repair, that succeeded
	MountLongest = "fault.mount.longest" // s, the longest of them
)

// Breach is one promise that was not kept.
type Breach struct {
	// Promise is its key (see script.Promises): "fsync", "atomic-replace"; empty:
	// nothing was promised, because an error had been reported.
	Promise string `json:"promise"`
	Path    string `json:"path,omitempty"`
	// Outcome that it amounts to: Lost, Truncated, Zeroed, Wrong, IOError …
	Outcome Outcome `json:"outcome"`
	// What says it in words: "the first 512 of 4096 bytes are right, the rest is
	// zeros".
	What string `json:"what"`
}
