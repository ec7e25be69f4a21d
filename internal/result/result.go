// Package result says what a measurement is, and everything that travels with
// one: trials, notes, conditions. It holds types only and performs no I/O; the
// SQLite store is in result/store.
//
// Units are base units throughout: seconds ("s"), bytes ("B"), counts ("1").
// They are converted only where they are printed.
package result

import "time"

// Outcome is how a trial ended. The zero value is invalid: a trial that was
// begun and never concluded has none, and is run again.
type Outcome string

const (
	// Done: every phase of the scenario was measured.
	Done Outcome = "done"
	// SubjectFailed: the filesystem under test, or one of its tools, failed.
	// That is a result.
	SubjectFailed Outcome = "subject-failed"
	// LabFailed: our own machinery failed (a guest hung, the stream broke).
	// It says nothing about the filesystem; the trial is tried again once.
	LabFailed Outcome = "lab-failed"
	// Unsupported: this kernel or machine lacks what the candidate needs.
	Unsupported Outcome = "unsupported"
	// Refused: what was asked for is impossible (a bad option, a device that
	// is too small, a tree that does not fit).
	Refused Outcome = "refused"
)

// Valid reports whether o is one of the outcomes above.
func (o Outcome) Valid() bool {
	switch o {
	case Done, SubjectFailed, LabFailed, Unsupported, Refused:
		return true
	}
	return false
}

// Measurement is one figure of one phase of one trial. If Absent is not empty
// the figure could not be had, Absent says why, and Value means nothing: an
// absent figure is never a zero.
type Measurement struct {
	Phase  string  `json:"phase"`
	Metric string  `json:"metric"`
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`
	Absent string  `json:"absent,omitempty"`
}

// Metrics taken around every phase. A phase may add its own (the space and
// module figures below).
const (
	Wall           = "wall"               // s, monotonic clock
	CPUUser        = "cpu.user"           // s, agent and its finished children
	CPUSystem      = "cpu.system"         // s, likewise
	CPUFilesystem  = "cpu.fs-threads"     // s, kernel threads named after the filesystem
	CPUKernel      = "cpu.kernel-threads" // s, all kernel threads, workers included
	DeviceRead     = "dev.read"           // B
	DeviceWritten  = "dev.written"        // B
	DeviceReads    = "dev.reads"          // 1, requests completed
	DeviceWrites   = "dev.writes"         // 1
	DeviceFlushes  = "dev.flushes"        // 1
	DeviceDiscards = "dev.discards"       // 1
	DeviceDiscard  = "dev.discarded"      // B
	DeviceBusy     = "dev.busy"           // s, time with at least one request under way
	MemFreeBefore  = "mem.free.before"    // B
	MemFreeAfter   = "mem.free.after"     // B
	MemSlabBefore  = "mem.slab.before"    // B
	MemSlabAfter   = "mem.slab.after"     // B
	KernelMessages = "kernel.messages"    // 1, new lines in the kernel log
	AgentMallocs   = "agent.mallocs"      // 1, allocations inside the timed section
	DataBytes      = "data"               // B, what the workload read or wrote itself
	DataFiles      = "files"              // 1, files, directories and links handled

	// What simulated storage did inside during a phase: no real card tells.
	FlashWritten    = "flash.written"    // B that the device was sent
	FlashProgrammed = "flash.programmed" // B programmed, copies included
	FlashCopied     = "flash.copied"     // B of those that only moved data about
	FlashErased     = "flash.erased"     // 1, erase blocks erased
	FlashMerges     = "flash.merges"     // 1, segments or log blocks closed by copying
	FlashSpread     = "flash.spread"     // 1, most erases of a block over the mean, since the card was new
	FlashBlocks     = "flash.blocks"     // 1, erase blocks of the medium
	FlashBlock      = "flash.block"      // B, size of one
	FlashCycles     = "flash.cycles"     // 1, erases that a block is rated for

	// Of a clock that counts instructions.
	Instructions     = "instructions"      // 1, executed for the phase
	InstructionsOp   = "instructions.op"   // 1, per request or file
	InstructionsByte = "instructions.byte" // 1/B, per byte of data

	SpaceUsed   = "space.used"    // B, statfs blocks - free
	SpaceTotal  = "space.total"   // B, statfs blocks
	SpaceFree   = "space.free"    // B, statfs available to root
	SpaceSaved  = "space.saved"   // B, saved by compression where statfs does not show it
	ImageSize   = "image.size"    // B
	ModuleSize  = "module.size"   // B, module file and those it pulls in, as stored
	ModuleOwn   = "module.own"    // B, the filesystem's own module file
	ModuleRAM   = "module.memory" // B, as /proc/modules shows it, dependencies included
	ModuleCount = "module.count"  // 1, modules that had to be loaded

	LeftOutLinks    = "left-out.symlinks" // 1, entries that this filesystem cannot hold
	LeftOutNames    = "left-out.names"
	LeftOutOwners   = "left-out.owners"
	LeftOutSpecials = "left-out.specials"

	SentinelWrite = "sentinel.write" // s, the fixed raw write before a trial
	SentinelRead  = "sentinel.read"  // s
)

// Level of a note.
type Level string

const (
	Info    Level = "info"
	Warning Level = "warning"
)

// Note is something a reader of the figures must know: a kernel message, an
// option that did not take effect, data that was left out.
type Note struct {
	Phase string `json:"phase,omitempty"`
	Level Level  `json:"level"`
	Text  string `json:"text"`
}

// OptionState says whether an option that was asked for is in force.
type OptionState string

const (
	InForce    OptionState = "in force"     // the mounted filesystem or the image shows it
	Altered    OptionState = "altered"      // it shows something else instead
	Ignored    OptionState = "ignored"      // it was accepted and is not in force
	Unverified OptionState = "not verified" // nothing shows it either way
)

// Option is one option of a candidate with the proof of its state.
type Option struct {
	Text     string      `json:"text"`
	State    OptionState `json:"state"`
	Evidence string      `json:"evidence"`
}

// Trial is one scenario of one candidate on one storage, once.
type Trial struct {
	ID        int64     `json:"id"`    // in the store
	Round     int       `json:"round"` // from 1
	Place     int       `json:"place"` // position in the round, from 1
	Candidate string    `json:"candidate"`
	Attempt   int       `json:"attempt"` // from 1; 0 for a trial not yet begun
	Outcome   Outcome   `json:"outcome,omitempty"`
	Phase     string    `json:"phase,omitempty"`  // where it ended, unless Done
	Reason    string    `json:"reason,omitempty"` // why, unless Done
	Hint      string    `json:"hint,omitempty"`   // what would help
	Started   time.Time `json:"started"`
	Ended     time.Time `json:"ended"`
	// Overhead is the wall time of the trial outside its measured phases, in
	// seconds, guest start included.
	Overhead     float64       `json:"overhead"`
	Measurements []Measurement `json:"measurements,omitempty"`
	Notes        []Note        `json:"notes,omitempty"`
	Options      []Option      `json:"options,omitempty"`
	Console      []string      `json:"console,omitempty"` // last lines, when the lab failed
}

// Condition is one fact under which a run was made: kernel, tools, storage,
// digest of a data set. Group orders them in reports.
type Condition struct {
	Group string `json:"group"` // "machine", "storage", "tools", "data", "run"
	Name  string `json:"name"`
	Value string `json:"value"`
	// Matters: two runs that differ in it must not be compared silently.
	Matters bool `json:"matters,omitempty"`
}

// Run is a plan carried out.
type Run struct {
	ID      string `json:"id"`
	Study   string `json:"study"`
	Scale   string `json:"scale"` // "quick", "full"
	Machine string `json:"machine"`
	Storage string `json:"storage"` // as the user wrote it
	// Clock that figures were taken with; empty in runs before there were two:
	// ClockWall.
	Clock      string      `json:"clock,omitempty"`
	Seed       uint64      `json:"seed"`
	Rounds     int         `json:"rounds"`     // planned
	Candidates []string    `json:"candidates"` // in plan order
	Margin     float64     `json:"margin"`     // of interest, 0.10 is 10 %
	Plan       []byte      `json:"-"`          // the whole plan, JSON
	Version    string      `json:"version"`    // of whichfs
	Emulated   bool        `json:"emulated"`
	Started    time.Time   `json:"started"`
	Ended      time.Time   `json:"ended"` // zero while unfinished
	State      RunState    `json:"state"`
	Conditions []Condition `json:"conditions"`
	Notes      []Note      `json:"notes,omitempty"`
	// Active is the wall time spent running so far, in seconds; a run that was
	// resumed has several stretches of it.
	Active float64 `json:"active"`
}

// RunState is how far a run has come.
type RunState string

const (
	Running     RunState = "running"     // or killed: nobody said otherwise
	Interrupted RunState = "interrupted" // ended by the user or its budget
	Finished    RunState = "finished"
)
