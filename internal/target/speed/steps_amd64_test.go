package speed

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"whichfs/internal/testing/needs"
	"whichfs/internal/testing/steps"
)

// TestCounts compares the constants of Pieces with the instructions that this processor
// executes, step by step. Another seed, and another version of the compiler, may differ a little.
func TestCounts(t *testing.T) {
	needs.Compiler(t)
	program := filepath.Join(t.TempDir(), "steps")
	build := exec.Command("go", "build", "-o", program, "./testdata/steps")
	build.Env = append(os.Environ(), "GOAMD64=v1", "GOFLAGS=-trimpath -buildvcs=false", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build, err, out)
	}
	for _, p := range Pieces {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			n := 0.0
			steps.Each(t, "main.work", func(*unix.PtraceRegs, func(uint64, int) []byte) { n++ }, program, p.Name, "101")
			t.Logf("%s: %.0f instructions", p.Name, n)
			if d := n/p.Instructions - 1; math.Abs(d) > 0.03 {
				t.Errorf("%.0f instructions, and the constant is %.0f: %+.1f %%", n, p.Instructions, 100*d)
			}
		})
	}
}
