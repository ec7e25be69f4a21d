package wire

import (
	"whichfs/internal/filesystem"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/probe"
	"whichfs/internal/result"
)

// Kinds of message. The host sends requests, one at a time; the agent answers each with any number
// of events and exactly one final answer (Facts, Ready, Support, Done, Failed, ...) that carries
// the request's number.
const (
	KindHello      = "hello"      // host: who are you? → KindFacts
	KindFacts      = "facts"      // agent: Facts
	KindList       = "list"       // host: which storage is there? → KindListed
	KindListed     = "listed"     // agent: Listed
	KindPrepare    = "prepare"    // host: Prepare → KindReady
	KindReady      = "ready"      // agent: Ready
	KindCandidates = "candidates" // host: Candidates → KindSupport
	KindSupport    = "support"    // agent: Support
	KindTrial      = "trial"      // host: Trial → events, KindDone
	KindPhase      = "phase"      // agent, event: PhaseBegun; of a trial that is paced → KindGo
	KindGo         = "go"         // host: what the agent has said so far was received
	KindFigures    = "figures"    // agent, event: Figures
	KindSafe       = "safe"       // agent, event: Safe
	KindPlace      = "place"      // agent, event: where the simulated raw chip is, a kernelmemory.ChipPlace
	KindDone       = "done"       // agent: Done
	KindProbe      = "probe"      // host: Probe → events, KindProbed
	KindProgress   = "progress"   // agent, event: Progress
	KindProbed     = "probed"     // agent: Probed
	KindStop       = "stop"       // host: end the probe of that number early → its KindProbed
	KindFailed     = "failed"     // agent: result.Failure, in place of any final answer
	KindBye        = "bye"        // host: finish; the agent releases everything, answers KindBye and ends
)

// Asks reports whether a message of the host asks for a final answer.
func Asks(kind string) bool {
	switch kind {
	case KindHello, KindList, KindPrepare, KindCandidates, KindTrial, KindProbe, KindBye, KindGive, KindExplore:
		return true
	}
	return false
}

// Answers reports whether a message of the agent is a final answer: it then does nothing until the
// next request.
func Answers(kind string) bool {
	switch kind {
	case KindFacts, KindListed, KindReady, KindSupport, KindDone, KindProbed, KindFailed, KindBye, KindGiven, KindExplored:
		return true
	}
	return false
}

// Facts are what the agent knows of its machine.
type Facts struct {
	Version    string             `json:"version"` // of the agent, padded with spaces
	Kernel     string             `json:"kernel"`  // uname -r
	Arch       string             `json:"arch"`    // GOARCH
	Processors int                `json:"processors"`
	Memory     int64              `json:"memory"` // B
	Uptime     float64            `json:"uptime"` // s since the kernel started
	Root       bool               `json:"root"`   // effective user is root
	Conditions []result.Condition `json:"conditions"`
}

// Listed answers KindList: the storage that the machine has.
type Listed struct {
	Devices []Device `json:"devices"`
}

// Device is storage that a machine has.
type Device struct {
	Path   string `json:"path"` // as --storage takes it
	Size   int64  `json:"size"` // B
	Kind   string `json:"kind"` // what the kernel says of its medium
	ID     string `json:"id"`   // for --destroy
	Usable string `json:"usable"`
	// Takes: --storage accepts it, if need be with --destroy ID.
	Takes bool `json:"takes"`
}

// Prepare names the storage and the data sets of a run. It is answered before
// any trial; storage stays claimed until the next Prepare, KindBye or the end
// of the stream.
type Prepare struct {
	// Storage as media.Parse reads it; in lab guests "serial:NAME".
	Storage string `json:"storage"`
	// Destroy is what the user named with --destroy.
	Destroy string `json:"destroy,omitempty"`
	// RiskKernel: broken filesystems may be mounted on a kernel outside a guest.
	RiskKernel bool `json:"risk_kernel,omitempty"`
	// ReadOnly storage is claimed for reading only, by a probe; nothing writes to it.
	ReadOnly bool `json:"read_only,omitempty"`
	// InUse allows reading a device that is in use; only with ReadOnly.
	InUse bool `json:"in_use,omitempty"`
	// Instructions: the machine's clock counts instructions.
	Instructions bool `json:"instructions,omitempty"`
	// Virtual: time passes only while the machine waits, and for the work that its kernel charges.
	Virtual bool `json:"virtual,omitempty"`
	// Load asks for the machine's load during every phase: its clock is the real one, and it may have
	// other work.
	Load bool `json:"load,omitempty"`
	// Modules are kernel modules from outside the kernel's own tree.
	Modules []Module `json:"modules,omitempty"`
	// Programs are archives of programs that take the place of the machine's (toolbox.Unpack): paths, or
	// "serial:NAME" for block devices.
	Programs []string        `json:"programs,omitempty"`
	Data     []scenario.Data `json:"data"`
	// Work is a directory for mount points and loop files; empty: the agent
	// makes one and removes it.
	Work string `json:"work,omitempty"`
}

// Module is a kernel module supplied by the user.
type Module struct {
	Name string `json:"name"` // of its file: "yaffs2.ko"
	// Path is where the agent finds it: a file, or "serial:NAME" for the block
	// device with that serial number, which is Size bytes or longer.
	Path string `json:"path"`
	Size int64  `json:"size"` // B
}

// Ready answers Prepare: the identity of the storage, and everything about it that belongs in the
// report.
type Ready struct {
	Identity   string             `json:"identity"` // serial, by-id name, or a description
	Size       int64              `json:"size"`     // B
	Conditions []result.Condition `json:"conditions"`
	Notes      []result.Note      `json:"notes,omitempty"`
}

// Candidates asks which candidates can run here.
type Candidates struct {
	Candidates []filesystem.Candidate `json:"candidates"`
}

// Support answers Candidates, one entry per candidate in order.
type Support struct {
	Candidates []result.Support   `json:"candidates"`
	Conditions []result.Condition `json:"conditions"` // tool versions, module files
}

// Trial is one scenario to carry out on the prepared storage.
type Trial struct {
	Candidate filesystem.Candidate `json:"candidate"`
	Variant   scenario.Variant     `json:"variant"`
	Scenario  scenario.Scenario    `json:"scenario"`
	// StepLimit is the number of seconds after which the agent abandons a single step; 0: never.
	StepLimit float64 `json:"step_limit,omitempty"`
	// Chip is the serial number of a block device with the initial contents of the simulated raw
	// chip (package rawimage); empty: none.
	Chip string `json:"chip,omitempty"`
	// Paced has the agent wait for KindGo before each step: no message is in transit, and the host handles none,
	// while a phase is timed.
	Paced bool `json:"paced,omitempty"`
	// Place asks for KindPlace before the first step.
	Place bool `json:"place,omitempty"`
}

// PhaseBegun tells the host which phase has begun.
type PhaseBegun struct {
	Phase string `json:"phase"`
}

// Figures are the measurements of one finished phase, which the host writes into each of them.
type Figures struct {
	Phase        string               `json:"phase"`
	Measurements []result.Measurement `json:"measurements"`
	Notes        []result.Note        `json:"notes,omitempty"`
	Options      []result.Option      `json:"options,omitempty"`
	Artifacts    []result.Artifact    `json:"artifacts,omitempty"`
}

// Safe tells the host that the filesystem has promised to keep what a step's operations up to
// Number (from 1) have written, whatever happens.
type Safe struct {
	Number int64 `json:"number"`
}

// Done ends a trial. A stream that ends without it is a lab failure.
type Done struct {
	Outcome result.Outcome `json:"outcome"`
	Phase   string         `json:"phase,omitempty"`
	Reason  string         `json:"reason,omitempty"`
	Hint    string         `json:"hint,omitempty"`
	// Hangs: a call on the storage does not return, so the session runs no further trial on it.
	Hangs bool `json:"hangs,omitempty"`
}

// Probe asks for a probe of the prepared storage.
type Probe struct {
	Effort string   `json:"effort"`
	Limit  float64  `json:"limit"` // s; 0: as long as it needs
	Seed   uint64   `json:"seed"`
	Only   []string `json:"only,omitempty"`
}

// Progress tells the host how far a probe has progressed.
type Progress struct {
	What  string  `json:"what"`
	Share float64 `json:"share"` // 0 to 1
}

// Probed answers Probe. The host fills in storage, identity, machine and version.
type Probed struct {
	Report probe.Report `json:"report"`
	// Failed says why the probe ended early; the report then has the results so far.
	Failed *result.Failure `json:"failed,omitempty"`
}
