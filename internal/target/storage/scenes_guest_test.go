package storage_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"whichfs/internal/host/lab/labtest"
	"whichfs/internal/host/machine/qemu/qemutest"
)

// leastScenes is the minimum number of scenes: a guest that ends early has proven nothing.
var leastScenes = map[string]int{"common": 94, "drivers": 69}

// A guest's kernel has every driver, and its disks belong to no user: all scenes run there, in this
// very program.
func TestScenesInGuest(t *testing.T) {
	t.Parallel()
	program := labtest.Program(t, "whichfs/internal/target/storage")
	total := 0
	t.Run("guests", func(t *testing.T) {
		var mu sync.Mutex
		for which, least := range leastScenes {
			if which == "common" && os.Geteuid() == 0 {
				continue // TestScenes plays them on this machine's kernel
			}
			t.Run(which, func(t *testing.T) {
				t.Parallel()
				script := "modprobe -a loop btrfs\nWHICHFS_TEST_SCENES=" + which + " /tmp/t -test.run '^TestScenes$' -test.v </dev/null\n"
				cases := scenesPassed(t, qemutest.Play(t, program, "disk:16M,bps=1T,iops=1000000", script), least)
				mu.Lock()
				total += cases
				mu.Unlock()
			})
		}
	})
	t.Logf("%d cases, 0 wrong writes", total)
}

// scenesPassed reads the results of a guest's scenes, and returns their number.
func scenesPassed(t *testing.T, said string, least int) int {
	t.Helper()
	cases, wrong := -1, -1
	if m := regexp.MustCompile(`(\d+) cases, (\d+) wrong writes\n`).FindStringSubmatch(said); m != nil {
		_, _ = fmt.Sscan(m[1]+" "+m[2], &cases, &wrong)
	}
	if cases < least || wrong != 0 || strings.Contains(said, "--- FAIL") || !strings.Contains(said, "\n--- PASS: TestScenes ") {
		t.Fatalf("%d cases, %d wrong writes; the same by hand: whichfs lab shell\n%s", cases, wrong, said)
	}
	return cases
}
