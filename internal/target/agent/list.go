package agent

import (
	"context"

	"whichfs/internal/target/storage"
	"whichfs/internal/wire"
)

// list lists this machine's storage, with the guard's verdict on each device.
func list(ctx context.Context) (wire.Listed, error) {
	devices, err := storage.List(ctx, storage.System)
	if err != nil {
		return wire.Listed{}, err
	}
	out := wire.Listed{Devices: []wire.Device{}}
	for _, d := range devices {
		out.Devices = append(out.Devices, d.Said())
	}
	return out, nil
}
