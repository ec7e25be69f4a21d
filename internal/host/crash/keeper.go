package crash

import (
	"context"

	"whichfs/internal/host/machine"
	"whichfs/internal/result"
	"whichfs/internal/wire"
)

// keeper has a session on a machine, and a new one if that was closed.
type keeper struct {
	place    Place
	session  machine.Session
	facts    wire.Facts
	emulated bool
	warmed   chan struct{} // closed when an early start has ended; nil: there was none
}

// warm starts a session ahead of time, on its own goroutine. If that fails, the first user tries
// again and gets the error.
func (k *keeper) warm(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = k.start(ctx)
	}()
	k.warmed = done
}

// awaitWarm waits for an early start: only its goroutine uses the keeper until then.
func (k *keeper) awaitWarm() {
	if k.warmed != nil {
		<-k.warmed
		k.warmed = nil
	}
}

// explorer starts a session, if there is none.
func (k *keeper) explorer(ctx context.Context) (machine.Explorer, error) {
	k.awaitWarm()
	return k.start(ctx)
}

func (k *keeper) start(ctx context.Context) (machine.Explorer, error) {
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
		return nil, result.Fail(result.Unsupported, "use --machine lab or --machine local",
			"%s", "machine "+k.place.Machine.Name()+" cannot explore crash states")
	}
	return e, nil
}

// close ends the session, if there is one.
func (k *keeper) close() error {
	k.awaitWarm()
	if k.session == nil {
		return nil
	}
	s := k.session
	k.session = nil
	return s.Close()
}

// lasting: the machine is this host, which does not survive a crash of its kernel.
func (k *keeper) lasting() bool { return lasting(k.place.Machine) }

func lasting(m machine.Machine) bool {
	l, ok := m.(machine.Lasting)
	return ok && l.Lasting()
}
