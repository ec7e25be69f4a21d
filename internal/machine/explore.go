package machine

import (
	"context"

	"whichfs/internal/wire"
)

// Explorer is implemented by sessions that can look at crash states. Errors are
// as for Trial. Cancelling ctx ends the session. given are the files that the
// order names: "log", "base", "finding".
type Explorer interface {
	Explore(ctx context.Context, order wire.Explore, given map[string][]byte, events ExploreEvents) (wire.Explored, error)
}

// ExploreEvents are called on the calling goroutine; each may be nil.
type ExploreEvents struct {
	Looking  func(wire.Looking)
	Found    func(wire.Found)
	Recorded func(wire.Recorded)
	Tallied  func(wire.Tallied)
}
