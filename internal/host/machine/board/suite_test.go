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
	b := boardtest.Start(t, boardtest.Options{})
	agent := labtest.Agent(t, runtime.GOARCH)
	machinetest.Suite(t, func(t *testing.T) (machine.Machine, machine.Spec) {
		m, err := board.New(b.Name, board.Options{Config: b.Config, Agent: agent, Progress: func(text string) { t.Log(text) }})
		must.Do(t, err)
		return m, machine.Spec{Storage: "loop:64M", Work: t.TempDir()}
	})
}
