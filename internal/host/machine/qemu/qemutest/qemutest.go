// Package qemutest has tests use lab guests.
package qemutest

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"whichfs/internal/host/lab"
	"whichfs/internal/host/lab/labtest"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/qemu"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/testing/wait"
)

// Lab is the machine "lab", with its image and an agent made. Its guests may come
// up slowly.
func Lab(t testing.TB) *qemu.Machine {
	t.Helper()
	return qemu.New(qemu.Options{Agent: labtest.Guest(t, lab.Native()), Handshake: wait.Patience})
}

// Play starts a guest with this storage, puts a program at /tmp/t in it, carries
// a script of its shell out and returns what was on the screen.
func Play(t testing.TB, program, storage, script string) string {
	t.Helper()
	st, err := os.Stat(program)
	if err != nil {
		t.Fatal(err)
	}
	spec := machine.Spec{Storage: storage, Work: t.TempDir(), Data: []scenario.Data{{Name: "program", Kind: "tree", Path: program, Size: st.Size()}}}
	// The disk with the program is /dev/vdb, that of the storage comes behind it.
	script = fmt.Sprintf("head -c %d /dev/vdb > /tmp/t; chmod +x /tmp/t; cd /tmp\n", st.Size()) + script
	var screen bytes.Buffer
	if err := Lab(t).Shell(t.Context(), strings.NewReader(script), &screen, spec); err != nil {
		t.Fatalf("%v\n%s", err, screen.String())
	}
	return strings.ReplaceAll(screen.String(), "\r", "")
}
