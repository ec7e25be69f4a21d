// Package fault describes what can happen to storage under a filesystem and what
// then becomes of the filesystem: the vocabulary that power loss, corruption and
// crash states share. Its subpackages: writelog (the requests sent to a device),
// states (what a fault can leave of them), script (workloads and the promises they
// were given), blockdev (devices in memory that lose, fail and corrupt), aftermath
// (mounts, judges, checks and repairs what is left), explore (does so for every
// crash state), finding (one loss as a file).
package fault

import "fmt"

// Outcome is what became of a filesystem's data after a fault. The zero value is
// invalid: a state that was not judged has no outcome.
type Outcome int

// The outcomes in order of severity; the table outcomes explains each.
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

// outcomes is the only description of the outcomes, the least severe first.
var outcomes = []struct {
	Outcome
	key    string // in metrics and files
	letter string // where space is short: lower case if nothing promised is lost
	words  string // what it means for the owner of the data
	about  string // a clause
	// loss: something promised could not be recovered in the end; silent: reading
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

// Outcomes returns all outcomes, the least severe first.
var Outcomes = func() (all []Outcome) {
	for _, o := range outcomes {
		all = append(all, o.Outcome)
	}
	return all
}()

// OutcomeOf finds an outcome by its key. It returns the zero value and false for an
// unknown key.
func OutcomeOf(key string) (Outcome, bool) {
	for _, o := range outcomes {
		if o.key == key {
			return o.Outcome, true
		}
	}
	return 0, false
}

// known reports whether the outcome exists.
func (o Outcome) known() bool { return o >= Whole && o <= Died }

// Key is the outcome's name in metrics and files: "io-error".
func (o Outcome) Key() string {
	if !o.known() {
		return fmt.Sprintf("outcome-%d", int(o))
	}
	return outcomes[o-Whole].key
}

// Letter abbreviates the outcome where space is short: lower case if everything
// promised is there.
func (o Outcome) Letter() string {
	if !o.known() {
		return "?"
	}
	return outcomes[o-Whole].letter
}

// Words are what the outcome means for the owner of the data: "needs repair".
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

// Kept reports whether everything promised could be recovered in the end.
func (o Outcome) Kept() bool { return o.known() && !outcomes[o-Whole].loss }

// Silent reports whether data were lost although reading returned no error.
func (o Outcome) Silent() bool { return o.known() && outcomes[o-Whole].silent }

// MarshalText writes the key, so that files and messages say "io-error" and not a
// number whose meaning changes when an outcome is added. The zero value is the
// empty text.
func (o Outcome) MarshalText() ([]byte, error) {
	switch {
	case o == 0:
		return nil, nil
	case !o.known():
		return nil, fmt.Errorf("there is no outcome %d", int(o))
	}
	return []byte(o.Key()), nil
}

// UnmarshalText reads the output of MarshalText.
func (o *Outcome) UnmarshalText(text []byte) error {
	known, ok := OutcomeOf(string(text))
	if !ok && len(text) > 0 {
		return fmt.Errorf("there is no outcome %q", text)
	}
	*o = known
	return nil
}

// Kinds of work whose phases are fault cases: the work is repeated, and each
// iteration ends in one outcome.
const (
	PowerCut    = "power-cut"
	FlakyWrites = "flaky-writes"
	FlakyReads  = "flaky-reads"
	BitRot      = "bit-rot"
	BadSectors  = "bad-sectors"
	CrashStates = "crash-states"
)

// What these kinds of work do to the storage, as steps name it (scenario.Step's
// Fault).
const (
	Kill = "kill" // of power-cut: no request that was sent is lost

	// Of flaky-writes:
	CorruptAfter  = "corrupt-after"
	CorruptInTurn = "corrupt-in-turn"
	CorruptEither = "corrupt-either" // the two above by turns, one an iteration
	DropWrites    = "drop"
	FailWrites    = "fail"

	// Of bit-rot and bad-sectors: where.
	InData     = "data"
	InMetadata = "metadata"
	InBoth     = "both"

	// Careless, of crash-states: scripts that rely on more than is promised.
	Careless = "careless"
)

// The byte that takes the place of another, as steps of flaky-writes and flaky-reads name it (Step's
// Byte). By default it is zero.
const (
	ByteZero   = "0x00"
	ByteOnes   = "0xff"
	ByteRandom = "random" // one of the others, drawn for each iteration
)

// Metrics of a fault case.
const (
	Tried = "fault.tried" // 1, iterations that were judged
	// OutcomePrefix precedes an outcome's key: iterations that ended with this
	// outcome.
	OutcomePrefix = "fault.outcome." // 1
	// AfterPrefix is the same for the judgement after a repair by the filesystem's
	// own tool; it counts only iterations that were repaired.
	AfterPrefix  = "fault.after-repair." // 1
	Mounted      = "fault.mounted"       // 1, iterations after which the filesystem mounted without repair
	CheckDirty   = "fault.check.dirty"   // 1, iterations in which the check without repair found errors
	CheckClean   = "fault.check.clean"   // 1, iterations in which it found none
	Promises     = "fault.promises"      // 1, individual promises that were judged
	Broken       = "fault.broken"        // 1, those that were broken
	States       = "fault.states"        // 1, crash states that were judged
	Equal        = "fault.states.equal"  // 1, further states with the same contents as one of these
	Replayed     = "fault.said.replay"   // 1, iterations in which the kernel reported a replay or recovery
	Complained   = "fault.said.error"    // 1, iterations in which it reported errors
	Stopped      = "fault.read-only"     // 1, iterations after which nothing could be written any more, whatever was lost
	MountMean    = "fault.mount.mean"    // s, mean of the successful mounts after the fault, before any repair
	MountMedian  = "fault.mount.median"  // s, their median
	MountLongest = "fault.mount.longest" // s, the longest of them
)

// Breach is one promise that was not kept.
type Breach struct {
	// Promise is its key (see script.Promises): "fsync", "atomic-replace". It is
	// empty if nothing was promised because an error had been reported.
	Promise string `json:"promise"`
	Path    string `json:"path,omitempty"`
	// Outcome is what the breach amounts to: Lost, Truncated, Zeroed, Wrong,
	// IOError …
	Outcome Outcome `json:"outcome"`
	// What describes it: "the first 512 of 4096 bytes are right, the rest is
	// zeros".
	What string `json:"what"`
}
