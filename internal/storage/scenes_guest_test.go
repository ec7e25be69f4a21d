package storage_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"whichfs/internal/lab"
	"whichfs/internal/machine"
	"whichfs/internal/machine/qemu"
	"whichfs/internal/scenario"
)

// leastScenes is how many scenes are played at least: a guest that ends early has
// proven nothing.
var leastScenes = map[string]int{"common": 94, "drivers": 69}

// The kernel of a guest has every driver, and its disks are nobody's: all scenes
// are played there, by this very program.
func TestScenesInGuest(t *testing.T) {
	if _, err := lab.Build(t.Context(), lab.Native(), nil); err != nil {
		t.Fatalf("%v\nthe same by hand: whichfs lab build", err)
	}
	dir := t.TempDir()
	agent, program := filepath.Join(dir, "whichfs-agent"), filepath.Join(dir, "storage.test")
	build(t, "build", "-o", agent, "whichfs/cmd/whichfs-agent")
	build(t, "test", "-c", "-o", program, "whichfs/internal/storage")
	t.Setenv(machine.AgentVariable, agent)
	st, err := os.Stat(program)
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	t.Run("guests", func(t *testing.T) {
		var mu sync.Mutex
		for which, least := range leastScenes {
			if which == "common" && os.Geteuid() == 0 {
				continue // TestScenes plays them on this machine's kernel
			}
			t.Run(which, func(t *testing.T) {
				t.Parallel()
				// The disk with the program is /dev/vdb, that of the storage comes behind it.
				script := fmt.Sprintf("head -c %d /dev/vdb > /tmp/t; chmod +x /tmp/t; cd /tmp; modprobe -a loop btrfs\n", st.Size()) +
					"WHICHFS_TEST_SCENES=" + which + " /tmp/t -test.run '^TestScenes$' -test.v </dev/null\n"
				var screen bytes.Buffer
				spec := machine.Spec{Storage: "disk:16M,bps=1T,iops=1000000", Work: dir,
					Data: []scenario.Data{{Name: "program", Kind: "tree", Path: program, Size: st.Size()}}}
				if err := qemu.Shell(t.Context(), strings.NewReader(script), &screen, spec); err != nil {
					t.Fatal(err)
				}
				cases := scenesPassed(t, screen.String(), least)
				mu.Lock()
				total += cases
				mu.Unlock()
			})
		}
	})
	t.Logf("%d cases, 0 wrong writes", total)
}

// scenesPassed reads how a guest's scenes went, and returns how many there were.
func scenesPassed(t *testing.T, screen string, least int) int {
	t.Helper()
	said := strings.ReplaceAll(screen, "\r", "")
	cases, wrong := -1, -1
	if m := regexp.MustCompile(`(\d+) cases, (\d+) wrong writes\n`).FindStringSubmatch(said); m != nil {
		_, _ = fmt.Sscan(m[1]+" "+m[2], &cases, &wrong)
	}
	if cases < least || wrong != 0 || strings.Contains(said, "--- FAIL") || !strings.Contains(said, "\n--- PASS: TestScenes ") {
		t.Fatalf("%d cases, %d wrong writes; the same by hand: whichfs lab shell\n%s", cases, wrong, said)
	}
	return cases
}
