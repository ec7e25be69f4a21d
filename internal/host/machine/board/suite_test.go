package board_test

import (
	"runtime"
	"testing"

	"whichfs/internal/host/lab/labtest"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/board"
	"whichfs/internal/host/machine/board/boardtest"
	"whichfs/internal/host/machine/machinetest"
	"whichfs/internal/testing/must"
)

func TestContract(t *testing.T) {
	t.Parallel()
	machinetest.Suite(t, anyBoard(t))
}

// A board starts the user's programs in place of its own.
func TestGivenPrograms(t *testing.T) {
	t.Parallel()
	machinetest.GivenPrograms(t, anyBoard(t))
}

// anyBoard is a board over SSH with a loop device.
func anyBoard(t *testing.T) func(t *testing.T) (machine.Machine, machine.Spec) {
	b := boardtest.Start(t, boardtest.Options{})
	agent := labtest.Agent(t, runtime.GOARCH)
	return func(t *testing.T) (machine.Machine, machine.Spec) {
		m, err := board.New(b.Name, board.Options{Config: b.Config, Agent: agent, Progress: func(text string) { t.Log(text) }})
		must.Do(t, err)
		return m, machine.Spec{Storage: "loop:64M", Work: t.TempDir()}
	}
}
