package wire

import (
	"whichfs/internal/fault/finding"
	"whichfs/internal/fault/script"
	"whichfs/internal/fault/states"
	"whichfs/internal/filesystem"
)

// Kinds of message of an exploration of crash states.
const (
	KindExplore  = "explore"  // host: Explore → events, KindExplored
	KindGive     = "give"     // host: Give → KindGiven; before an Explore that needs it
	KindGiven    = "given"    // agent
	KindLooking  = "looking"  // agent, event: Looking; a state is about to be mounted
	KindFound    = "found"    // agent, event: Found
	KindRecorded = "recorded" // agent, event: Recorded; a part of a log or base image
	KindTallied  = "tallied"  // agent, event: Tallied
	KindExplored = "explored" // agent: Explored
)

// PieceSize is the maximum size of one piece of a file in transit, in bytes; encoding adds a third.
const PieceSize = 4 << 20

// Give sends the agent a piece of a file that the next Explore names ("log", "base", "finding"), in
// order; pieces with the same name are joined.
type Give struct {
	Name string `json:"name"`
	Data []byte `json:"data"`
}

// Explore asks the agent to record scripts and judge the crash states of each. It needs no storage,
// only memory.
type Explore struct {
	Candidate filesystem.Candidate `json:"candidate"`
	Size      int64                `json:"size"` // B, of the disk in memory; 0: as small as the filesystem allows, at least 16 MiB
	Scripts   []script.Script      `json:"scripts,omitempty"`
	// Given: instead of scripts, explore what was handed over: "log" with "base" (none: an empty
	// disk), or "finding", whose one state is judged again.
	Given  string         `json:"given,omitempty"`
	States states.Options `json:"states"`
	// Check: the filesystem's own tool checks every Nth state, without repair; 0: only those that
	// break a promise.
	Check int `json:"check,omitempty"`
	// RecordOnly: send logs and base images, and judge no state.
	RecordOnly bool `json:"record_only,omitempty"`
	// Send the logs and base images of recordings.
	Send bool `json:"send,omitempty"`
	// Minimise findings before they are sent.
	Minimise bool `json:"minimise,omitempty"`
	// Patience is the number of seconds after which a call counts as hung; default 20.
	Patience float64 `json:"patience,omitempty"`
	// Limit is the number of seconds after which no further state is started; the tallies report
	// what is left. 0: none.
	Limit float64 `json:"limit,omitempty"`
	// After says where to continue after a guest's death, in a given log: the states up to and
	// including this one were judged. The zero value: from the start.
	After Looking `json:"after"`
	// Skip are further states not to be judged: those that crashed guests.
	Skip []int64 `json:"skip,omitempty"`
}

// Looking is a state by its script (index in Explore.Scripts) and its number, from 1.
type Looking struct {
	Script int   `json:"script"`
	State  int64 `json:"state"`
}

// Tallied sums up all states of a script up to and including one, as far as this order had to
// explore them.
type Tallied struct {
	Looking
	Tally finding.Tally `json:"tally"`
	// Same is the number of states with the same symptoms as each finding, by explore.Key.
	Same map[string]int64 `json:"same,omitempty"`
}

// Found is a finding, in the form of its file (package finding).
type Found struct {
	Looking
	File []byte `json:"file"`
}

// Recorded is a piece of a recorded file: "log" or "base" of a script.
type Recorded struct {
	Script int    `json:"script"`
	Name   string `json:"name"`
	Data   []byte `json:"data"`
	Last   bool   `json:"last,omitempty"`
}

// Explored answers Explore: a tally per script, in order.
type Explored struct {
	Scripts []finding.Tally `json:"scripts"`
}
