// Package scenario describes what a trial does, as data: an ordered list of steps on one freshly
// made filesystem. Studies write scenarios, plans carry them, the agent carries them out; none of
// them needs the code of another.
package scenario

import (
	"slices"
)

// Step is one step of a scenario.
type Step struct {
	// Work names the kind of work, one of Kinds.
	Work string `json:"work"`
	// Phase is the name that the step's figures are stored under. Empty: the step is not measured,
	// and counts as overhead.
	Phase string `json:"phase,omitempty"`
	// Data names the data set to work on.
	Data string `json:"data,omitempty"`
	// Dir is the directory to work in, below the mount point.
	Dir string `json:"dir,omitempty"`
	// Count is the number of copies or repetitions; 0 means 1.
	Count int `json:"count,omitempty"`
	// Only restricts the step to filesystems with a capability ("reflink", "offline-image"), of one type
	// ("fs:btrfs"), on UBI ("ubi"), beside which a program works ("daemon"), or to storage that is a
	// simulated raw chip ("chip"); elsewhere its figures are absent with that reason. If there are
	// several, separated by commas, all must hold.
	Only string `json:"only,omitempty"`

	// The following fields belong to only some kinds of work: see Kind.Takes.

	Size  int64   `json:"size,omitempty"`  // B, of a file or of all that is moved
	Block int64   `json:"block,omitempty"` // B, of one request
	Files int     `json:"files,omitempty"` // how many files
	Dirs  int     `json:"dirs,omitempty"`  // in how many directories
	Ops   int     `json:"ops,omitempty"`   // how many operations (seeks)
	Jobs  int     `json:"jobs,omitempty"`  // how many in parallel
	Order string  `json:"order,omitempty"` // OrderSequential or OrderRandom
	Share float64 `json:"share,omitempty"` // 0 to 1, of the space or of the operations
	Seed  uint64  `json:"seed,omitempty"`  // of random choices
	Job   string  `json:"job,omitempty"`   // the text of a fio job file, unchanged

	Options []string `json:"options,omitempty"` // mount options besides the candidate's
	Fault   string   `json:"fault,omitempty"`   // what is done to the storage: see package fault
	Byte    string   `json:"byte,omitempty"`    // what takes the place of a byte: see package fault
	Ability string   `json:"ability,omitempty"` // filesystem.Ability
}

// Orders of operations.
const (
	OrderSequential = "sequential"
	OrderRandom     = "random"
)

// Scenario is an ordered list of steps.
type Scenario []Step

// Phases returns the names of the measured phases in order, each once.
func (s Scenario) Phases() []string {
	var names []string
	seen := map[string]bool{}
	for _, step := range s {
		if step.Phase != "" && !seen[step.Phase] {
			seen[step.Phase] = true
			names = append(names, step.Phase)
		}
	}
	return names
}

// Anew is the index of the first step, at or after from, from which on a new filesystem takes the place
// of the mounted one, whatever state that is in: an "unmount" before "mkfs"; -1 if there is none.
func (s Scenario) Anew(from int) int {
	for i := from; i+1 < len(s); i++ {
		if s[i].Work == "unmount" && s[i].Phase == "" && s[i+1].Work == "mkfs" {
			return i
		}
	}
	return -1
}

// Data is a data set as a scenario needs it.
type Data struct {
	Name string `json:"name"` // as steps refer to it
	// Kind is "tree" (a tar archive that the machine brings to the agent) or
	// "stream" (incompressible bytes that the agent generates itself).
	Kind   string `json:"kind"`
	Size   int64  `json:"size"`            // B; of a stream exactly, of a tree its file contents
	Seed   uint64 `json:"seed,omitempty"`  // of a stream
	Digest string `json:"digest"`          // sha256 of the archive, or the stream's recipe
	Files  int    `json:"files,omitempty"` // regular files of a tree
	// Archive is the length of a tree's archive in bytes: a block device that
	// carries one is longer.
	Archive int64 `json:"archive,omitempty"`
	// Path is where the agent finds the archive: a file, or "serial:NAME" for
	// the block device with that serial number.
	Path string `json:"path,omitempty"`
	// Generated is the name of a tree that the agent can make itself (package
	// generated); without a Path it does.
	Generated string `json:"generated,omitempty"`
	// Skipped counts what the archive left out when it was made (sockets,
	// device nodes, ...), by kind.
	Skipped map[string]int `json:"skipped,omitempty"`
	// Notes are warnings that belong beside every figure taken with it.
	Notes []string `json:"notes,omitempty"`
}

// PreconditionPhase is the phase that brings storage to a steady speed.
const PreconditionPhase = "precondition"

// Precondition inserts the step that brings the storage to a steady speed after the first mount:
// making a filesystem discards the storage, which would undo an earlier one. A scenario that writes
// images (read-only filesystems) is returned unchanged.
func Precondition(s Scenario) Scenario {
	makes := slices.ContainsFunc(s, func(x Step) bool { return x.Work == "mkfs" })
	at := slices.IndexFunc(s, func(x Step) bool { return x.Work == "mount" })
	if !makes || at < 0 {
		return s
	}
	return slices.Insert(slices.Clone(s), at+1, Step{Work: "precondition", Phase: PreconditionPhase})
}
