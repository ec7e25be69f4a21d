package storage_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"whichfs/internal/host/lab/labtest"
	"whichfs/internal/host/machine/qemu/qemutest"
	"whichfs/internal/host/machine/usermode/usermodetest"
)

// Guests' kernels have every driver, and their disks belong to no user: all scenes run there, in this
// very program. The least number of scenes is given: a guest that ends early has proven nothing.
func TestScenesInGuest(t *testing.T) {
	t.Parallel()
	program := labtest.Program(t, "whichfs/internal/target/storage")
	for _, x := range []struct {
		which   string
		least   int
		play    func(t testing.TB, program, storage, script string) string
		storage string
	}{
		{"common", 94, qemutest.Play, "disk:16M,bps=1T,iops=1000000"},
		{"drivers", 35, qemutest.Play, "disk:16M,bps=1T,iops=1000000"},
		{"virtual", 34, usermodetest.Play, "sim:free,16M"},
	} {
		if x.which == "common" && os.Geteuid() == 0 {
			continue // TestScenes plays them on this machine's kernel
		}
		t.Run(x.which, func(t *testing.T) {
			t.Parallel()
			script := "modprobe -a loop btrfs\nWHICHFS_TEST_SCENES=" + x.which + " /tmp/t -test.run '^TestScenes$' -test.v </dev/null\n"
			scenesPassed(t, x.play(t, program, x.storage, script), x.least)
		})
	}
}

// scenesPassed reads the results of a guest's scenes.
func scenesPassed(t *testing.T, said string, least int) {
	t.Helper()
	cases, wrong := -1, -1
	if m := regexp.MustCompile(`(\d+) cases, (\d+) wrong writes\n`).FindStringSubmatch(said); m != nil {
		_, _ = fmt.Sscan(m[1]+" "+m[2], &cases, &wrong)
	}
	if cases < least || wrong != 0 || strings.Contains(said, "--- FAIL") || !strings.Contains(said, "\n--- PASS: TestScenes ") {
		t.Fatalf("%d cases, %d wrong writes\n%s", cases, wrong, said)
	}
	t.Logf("%d cases, 0 wrong writes", cases)
}
