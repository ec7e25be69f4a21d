package machine

import (
	"context"

	"whichfs/internal/filesystem"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/wire"
)

// Cutter is implemented by sessions that can cut the power while a filesystem is being written, and
// examine what is left of it. Each cut has its own, unused storage; the session's stays as it is.
// Events and errors are as for Trial: a filesystem that loses data it had promised to keep is not a
// failure, but a finding among the figures of result.CutPhase, with a note for each loss.
type Cutter interface {
	Cut(ctx context.Context, c Cut, events Events) (wire.Done, error)
}

// Cut says what is cut off how often.
type Cut struct {
	Candidate filesystem.Candidate
	Variant   scenario.Variant
	Repeats   int
	// Seed determines the instants of the cuts and the written data.
	Seed uint64
	// Keep is a directory on this host for the contents of storage that has lost something; empty:
	// they are discarded, and the note says so.
	Keep string
	// Unsynced is the share of operations that are reported safe without a sync, from 0 to 1: with
	// it, losses are expected. It proves that the check can detect one.
	Unsynced float64
}
