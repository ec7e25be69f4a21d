// Package finding stores one loss as a file: everything needed to reproduce it on
// another machine or another kernel.
package finding

import (
	"fmt"
	"slices"
	"strings"

	"whichfs/internal/fault"
	"whichfs/internal/fault/script"
	"whichfs/internal/fault/states"
	"whichfs/internal/fault/writelog"
)

// Finding is one crash state that broke a promise, did not mount, hung or killed
// the kernel.
type Finding struct {
	Format    int           `json:"format"` // 1
	Version   string        `json:"version"`
	Kernel    string        `json:"kernel"`
	Candidate string        `json:"candidate"`
	Size      int64         `json:"size"` // B, of the disk
	Script    script.Script `json:"script"`
	// Began and Acked are how many of the script's operations had begun and had
	// returned when the power failed.
	Began    int            `json:"began"`
	Acked    int            `json:"acked"`
	Outcome  fault.Outcome  `json:"outcome"`
	Breaches []fault.Breach `json:"breaches,omitempty"`
	Check    string         `json:"check,omitempty"`    // what the check without repair said
	Messages []string       `json:"messages,omitempty"` // of the kernel
	Seed     uint64         `json:"seed"`
	Number   int64          `json:"number"` // of the state, for that seed
	State    states.State   `json:"state"`
	// Minimal: the state cannot be reduced further; Whole says why no reduction was
	// tried.
	Minimal bool   `json:"minimal"`
	Whole   string `json:"whole,omitempty"`
	// Same is the number of states of the exploration with the same script, outcome
	// and promise.
	Same int64 `json:"same"`

	Base fault.Image  `json:"-"` // before the log
	Log  writelog.Log `json:"-"`
}

// Summary is the finding as a clause that begins with the script.
func (f Finding) Summary() string {
	what := f.Outcome.Key()
	if len(f.Breaches) > 0 {
		b := f.Breaches[0]
		what = fmt.Sprintf("%s is broken for %q: %s", b.Promise, b.Path, b.What)
	}
	text := fmt.Sprintf("%s: %s (%d states, the first is state %d, after %d of %d operations)",
		f.Script.Name, what, f.Same, f.Number, f.Acked, max(len(f.Script.Ops), f.Began))
	if f.Script.Careless {
		text += "; the script relies on more than is promised"
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// Mended reports whether everything promised could be recovered in the end, even if
// only with errors or a repair.
func (f Finding) Mended() bool { return len(f.Breaches) == 0 && f.Outcome.Kept() }

// Excused reports whether the loss concerns only what a careless script assumed and
// the filesystem did not promise either.
func (f Finding) Excused(promised script.Promises) bool {
	if !f.Script.Careless || len(f.Breaches) == 0 || f.Outcome >= fault.Unmountable {
		return false
	}
	claimed := map[string]bool{script.PromiseClaimed: true}
	for key, both := range map[string][2]bool{
		script.PromiseNewName:       {f.Script.Claims.NewName, promised.NewName},
		script.PromiseAtomicReplace: {f.Script.Claims.AtomicReplace, promised.AtomicReplace},
		script.PromiseReplaceSyncs:  {f.Script.Claims.ReplaceSyncs, promised.ReplaceSyncs},
		script.PromiseOrdered:       {f.Script.Claims.Ordered, promised.Ordered},
		script.PromiseNoStale:       {f.Script.Claims.NoStale, promised.NoStale},
	} {
		claimed[key] = both[0] && !both[1]
	}
	return !slices.ContainsFunc(f.Breaches, func(b fault.Breach) bool { return !claimed[b.Promise] })
}
