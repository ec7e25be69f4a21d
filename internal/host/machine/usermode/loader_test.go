package usermode

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	kernels "whichfs/internal/host/lab/virtual"
	"whichfs/internal/host/machine"
	"whichfs/internal/testing/must"
)

// A host without the C library that the kernel is linked with runs it with that of the lab's image, which changes no
// figure.
func TestHostWithoutTheLibrary(t *testing.T) {
	t.Parallel()
	m := theLab(t, Options{})
	h, err := m.host(t.Context(), kernels.Choice{})
	must.Do(t, err)
	if h.carried != nil {
		t.Error("this host has the library, and is not used")
	}
	h.carried, err = h.fromImage()
	must.Do(t, err)
	got, _, err := m.knownRun(t.Context(), kernels.Choice{})
	must.Do(t, err)
	if other := differing(known, got); other != "" {
		t.Errorf("other figures:\n%s", other)
	}

	p, err := h.plan(machine.Spec{Storage: "sim:free,64M", Virtual: true}, nil)
	must.Do(t, err)
	g, err := start(h, p)
	must.Do(t, err)
	defer g.end() //nolint:errcheck // the test has its answer
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", g.process.Pid()))
	must.Do(t, err)
	if text := string(maps); strings.Contains(text, "libc.so") || strings.Contains(text, "ld-linux") || strings.Count(text, "/memfd:kernel") < 3 {
		t.Errorf("the kernel runs with files of this host:\n%s", text)
	}
}

// A kernel that this host cannot start is told from one that it can.
func TestKernelThatDoesNotStart(t *testing.T) {
	t.Parallel()
	m := theLab(t, Options{})
	var h host
	must.Do(t, h.find(kernels.Choice{Series: kernels.Default}, m.o.Agent))
	if c, err := h.carry(t.Context()); c != nil || err != nil {
		t.Errorf("%v, %v", c != nil, err)
	}
	text, err := os.ReadFile(h.kernel.Program)
	must.Do(t, err)
	h.kernel.Program = filepath.Join(t.TempDir(), "linux")
	// Its loader does not exist.
	must.Do(t, os.WriteFile(h.kernel.Program, slices.Concat(text[:0x2a8], []byte("/lib64/ld-nobdy-x86-64.so.2\x00"), text[0x2a8+28:]), 0o755))
	_, err = h.carry(t.Context())
	if err == nil || !strings.Contains(err.Error(), "nor with the C library of the lab's image") || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
