package board_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"whichfs/internal/host/dataset"
	"whichfs/internal/host/lab/labtest"
	"whichfs/internal/host/machine/board"
	"whichfs/internal/host/machine/board/boardtest"
	"whichfs/internal/host/machine/machinetest"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/testing/must"
)

// generated is machinetest.Data with a tree that a board makes itself.
func generated(t *testing.T) []scenario.Data {
	t.Helper()
	data := machinetest.Data(t)
	d, err := dataset.Get(t.Context(), "gen:build-small,64K", nil)
	must.Do(t, err)
	d.Name = data[0].Name
	data[0] = d
	return data
}

// A board keeps the agent and the data set where its file says so, and is sent them again when they were damaged
// meanwhile or are not those of the run. A generated data set it makes itself. Nothing else is left.
func TestKeeps(t *testing.T) {
	t.Parallel()
	b := boardtest.Start(t, boardtest.Options{})
	at, file := filepath.Join(t.TempDir(), "agent"), filepath.Join(t.TempDir(), "board.toml")
	must.Do(t, os.WriteFile(file, fmt.Appendf(nil, "connect = %q\n[agent]\npath = %q\n", b.Name, at), 0o644))
	with := spec(t)
	session := func(agent, data string) {
		t.Helper()
		told := ""
		m, err := board.New(file, board.Options{Config: b.Config, Agent: labtest.Agent(t, runtime.GOARCH), Progress: func(text string) { told += text + "\n" }})
		must.Do(t, err)
		s, err := m.Start(t.Context(), with)
		if err != nil {
			t.Fatal(machinetest.Explain(err))
		}
		for what, want := range map[string]string{"agent": agent, "data set": data} {
			how := "kept"
			switch {
			case strings.Contains(told, "cannot keep it as "+at) && what == "agent":
				how = "not kept"
			case strings.Contains(told, "sending the "+what), strings.Contains(told, "sending "+what):
				how = "sent"
			case strings.Contains(told, "generates "+what):
				how = "generated"
			}
			if how != want {
				t.Errorf("the %s was %s, want %s:\n%s", what, how, want, told)
			}
		}
		if d := machinetest.CarryOut(t, s, "ext4", trial.Scenario).Done; d.Outcome != result.Done {
			t.Errorf("%+v", d)
		}
		for _, one := range s.Facts().Conditions {
			if one.Name == "agent" && strings.Contains(one.Value, "kept as "+at) != (agent == "kept") {
				t.Errorf("%+v", one)
			}
		}
		must.Do(t, s.Close())
		nothingLeft(t, b)
	}
	session("sent", "sent")
	session("kept", "kept")
	must.Do(t, os.WriteFile(at, []byte("torn"), 0o600))
	must.Do(t, os.Truncate(at+".data-0", 1000))
	session("sent", "sent")
	with.Data = generated(t)
	session("kept", "generated")
	must.Do(t, os.Remove(at))
	must.Do(t, os.Mkdir(at+"~", 0o755)) // where it would be written
	session("not kept", "generated")
	must.Do(t, os.Remove(at+"~"))
	left, err := filepath.Glob(at + "*")
	if must.Do(t, err); len(left) != 1 || left[0] != at+".data-0" {
		t.Errorf("left: %q", left)
	}
}
