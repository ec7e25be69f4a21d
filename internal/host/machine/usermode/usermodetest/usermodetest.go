// Package usermodetest has tests use guests of the virtual lab.
package usermodetest

import (
	"fmt"
	"os"
	"testing"

	"whichfs/internal/host/lab/labtest"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/machinetest"
	"whichfs/internal/host/machine/usermode"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/testing/wait"
)

// Lab is the machine "lab" with the virtual clock, with its image, its kernel and an agent made.
func Lab(t testing.TB) *usermode.Machine {
	t.Helper()
	return usermode.New(usermode.Options{Agent: labtest.Virtual(t), Handshake: wait.Patience})
}

// Play starts a guest with this storage, which is $disk there, puts a program at
// /tmp/t in it, carries a script of its shell out and returns what was printed.
func Play(t testing.TB, program, storage, script string) string {
	t.Helper()
	st, err := os.Stat(program)
	if err != nil {
		t.Fatal(err)
	}
	spec := machine.Spec{Storage: storage, Virtual: true, Data: []scenario.Data{{Name: "program", Kind: "tree", Path: program, Size: st.Size()}}}
	script = "node() { echo /dev/$(basename $(dirname $(grep -lx $1 /sys/block/*/serial))); }\ndisk=$(node lab0)\n" +
		fmt.Sprintf("head -c %d $(node data0) > /tmp/t; chmod +x /tmp/t; cd /tmp\n", st.Size()) + script
	return machinetest.Script(t, Lab(t), spec, script)
}
