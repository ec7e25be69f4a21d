// Package finding is one loss as a file: everything that is needed to see it
// again, on another machine or another kernel.
package finding

import (
	"whichfs/internal/fault"
	"whichfs/internal/fault/script"
	"whichfs/internal/fault/states"
	"whichfs/internal/fault/writelog"
)

// Finding is one crash state that broke a promise, did not mount, hung or
// killed the kernel.
type Finding struct {
	Format    int           `json:"format"` // 1
	Version   string        `json:"version"`
	Kernel    string        `json:"kernel"`
	Candidate string        `json:"candidate"`
	Size      int64         `json:"size"` // B, of the disk
	Script    script.Script `json:"script"`
	// Began and Acked are how many of the script's operations had begun and had
	// returned when the power went.
	Began    int            `json:"began"`
	Acked    int            `json:"acked"`
	Outcome  fault.Outcome  `json:"outcome"`
	Breaches []fault.Breach `json:"breaches,omitempty"`
	Check    string         `json:"check,omitempty"`    // what the check without repair said
	Messages []string       `json:"messages,omitempty"` // of the kernel
	Seed     uint64         `json:"seed"`
	Number   int64          `json:"number"` // of the state, with that seed
	State    states.State   `json:"state"`
	// Minimal: nothing can be left out any more; else why it was not tried.
	Minimal bool   `json:"minimal"`
	Whole   string `json:"whole,omitempty"`
	// How many states of the exploration showed the same (script, outcome and
	// promise).
	Same int64 `json:"same"`

	Base fault.Image  `json:"-"` // before the log
	Log  writelog.Log `json:"-"`
}
