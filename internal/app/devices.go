package app

import (
	"context"

	"whichfs/internal/host/machine"
	"whichfs/internal/result"
	"whichfs/internal/target/storage"
	"whichfs/internal/wire"
)

// Devices lists the storage of this host, for which it needs no root, or of another machine.
func (a *App) Devices(ctx context.Context, on string) ([]wire.Device, error) {
	if on == "local" {
		return storage.Devices(ctx, storage.System)
	}
	m, err := a.machine(on, result.ClockWall)
	if err != nil {
		return nil, err
	}
	lister, ok := m.(machine.Lister)
	if !ok {
		return nil, result.Refuse("leave --machine out for this host's devices", "machine %s has no storage of its own: whichfs makes it", on)
	}
	defer a.giveBack(m)
	return lister.List(ctx)
}
