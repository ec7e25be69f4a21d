// Package explore records what filesystems send to storage while scripts run,
// makes the states that a power cut can leave, mounts each and judges it. It
// runs where the storage is: in the agent.
package explore

import (
	"context"
	"errors"

	"whichfs/internal/fault"
	"whichfs/internal/fault/finding"
	"whichfs/internal/fault/script"
	"whichfs/internal/fault/writelog"
	"whichfs/internal/filesystem"
	"whichfs/internal/wire"
)

// Recording is what a filesystem sent to its storage while a script ran.
type Recording struct {
	Script script.Script
	Size   int64
	Base   fault.Image // after Setup was synced
	Log    writelog.Log
}

// Host is told what happens; each may be nil.
type Host struct {
	Looking  func(wire.Looking) error
	Found    func(number wire.Looking, f finding.Finding) error
	Recorded func(index int, r Recording) error
}

// Explore carries out an order. The filesystem's modules are loaded. given are
// the files that the order names.
func Explore(ctx context.Context, c filesystem.Candidate, order wire.Explore, given map[string][]byte, work string, host Host) (wire.Explored, error) {
	return wire.Explored{}, errors.New("not built yet")
}
