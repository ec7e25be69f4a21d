package usermode

import (
	"testing"

	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/machinetest"
)

func TestCuts(t *testing.T) {
	t.Parallel()
	m := theLab(t, Options{})
	machinetest.Cuts(t, func(t *testing.T, storage string) machine.Cutter {
		return begin(t, m, machine.Spec{Storage: storage, Seed: 1}).(machine.Cutter)
	})
}
