package usermode

import (
	"testing"

	"whichfs/internal/host/lab"
	"whichfs/internal/host/lab/labtest"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/machinetest"
	"whichfs/internal/testing/wait"
)

func theLab(t *testing.T, o Options) *Machine {
	t.Helper()
	o.Agent, o.Handshake = labtest.Guest(t, lab.Native()), wait.Patience
	return New(o)
}

func TestContract(t *testing.T) {
	machinetest.Suite(t, func(t *testing.T) (machine.Machine, machine.Spec) {
		return theLab(t, Options{}), machine.Spec{Storage: "sim:sd-basic,256M", Work: t.TempDir(), Seed: 1}
	})
}
