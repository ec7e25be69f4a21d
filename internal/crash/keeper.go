package crash

import (
	"context"

	"whichfs/internal/machine"
	"whichfs/internal/result"
	"whichfs/internal/wire"
)

// keeper has a session on a machine, and a new one where that was closed.
type keeper struct {
	place    Place
	session  machine.Session
	left     int // deaths that are still outlived
	facts    wire.Facts
	emulated bool
}

// explorer starts a session, if there is none.
func (k *keeper) explorer(ctx context.Context) (machine.Explorer, error) {
	if k.session == nil {
		s, err := k.place.Machine.Start(ctx, k.place.Spec)
		if err != nil {
			return nil, err
		}
		k.session, k.facts = s, s.Facts()
		if e, ok := s.(machine.Emulator); ok {
			k.emulated = e.Emulated()
		}
	}
	e, ok := k.session.(machine.Explorer)
	if !ok {
		return nil, &machine.Error{Outcome: result.Unsupported, Reason: "machine " + k.place.Machine.Name() + " cannot explore crash states",
			Hint: "use --machine lab or --machine local"}
	}
	return e, nil
}

// close ends the session, if there is one.
func (k *keeper) close() error {
	if k.session == nil {
		return nil
	}
	s := k.session
	k.session = nil
	return s.Close()
}

// lasting: the machine is this host, whose kernel's end nobody outlives.
func (k *keeper) lasting() bool {
	l, ok := k.place.Machine.(machine.Lasting)
	return ok && l.Lasting()
}
