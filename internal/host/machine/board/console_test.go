package board_test

import (
	"runtime"
	"testing"

	"whichfs/internal/host/lab/labtest"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/board"
	"whichfs/internal/host/machine/board/boardtest"
	"whichfs/internal/host/machine/machinetest"
	"whichfs/internal/result"
	"whichfs/internal/testing/must"
	"whichfs/internal/testing/wait"
)

// at makes the machine of a board at a serial port.
func at(t *testing.T, c *boardtest.Console, o board.Options) *board.Machine {
	t.Helper()
	o.Agent = labtest.Agent(t, runtime.GOARCH)
	if o.Progress == nil {
		o.Progress = func(text string) { t.Log(text) }
	}
	m, err := board.New(c.Name, o)
	must.Do(t, err)
	return m
}

// installed is where the agent is on a board on which it is installed.
func installed(t *testing.T) string { return labtest.Agent(t, runtime.GOARCH) }

func TestConsole(t *testing.T) {
	c := boardtest.StartConsole(t, boardtest.ConsoleOptions{})
	s, err := at(t, c, board.Options{}).Start(t.Context(), spec(t))
	if err != nil {
		t.Fatal(machinetest.Explain(err))
	}
	d, err := s.Trial(t.Context(), trial, machine.Events{})
	if err != nil || d.Outcome != result.Done {
		t.Fatalf("%+v %v", d, err)
	}
	must.Do(t, s.Close())
	wait.Until(t, "nothing is left", func() bool { return len(c.Left()) == 0 })
}
