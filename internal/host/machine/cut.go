package machine

import (
	"context"

	"whichfs/internal/filesystem"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/wire"
)

// Cutter is implemented by sessions that can take the power away while a
// filesystem is being written, and look at what is left of it. Each cut has
// storage of its own, unused but for it; the session's stays as it is. Events
// and errors are as for Trial: a filesystem that loses what it had promised to
// keep is no failure, but a finding among the figures of result.CutPhase, with a
// note for each loss.
type Cutter interface {
	Cut(ctx context.Context, c Cut, events Events) (wire.Done, error)
}

// Cut says what is cut off how often.
type Cut struct {
	Candidate filesystem.Candidate
	Variant   scenario.Variant
	Repeats   int
	// Seed of the instants and of what is written.
	Seed uint64
	// Keep is a directory on this host for the contents of storage that has lost
	// something; empty: they are thrown away, and the note says so.
	Keep string
	// Unsynced is the share of operations that are called safe without having
	// been synced, from 0 to 1: with it, losses are to be expected. It is the
	// proof that the check can see one.
	Unsynced float64
}
