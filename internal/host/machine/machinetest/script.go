package machinetest

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"whichfs/internal/host/machine"
	"whichfs/internal/testing/must"
)

// Scripter is a machine whose guests carry scripts out.
type Scripter interface {
	Script(ctx context.Context, path string, stdout io.Writer, spec machine.Spec) error
}

// Script has the shell of a guest carry a script out, and returns what it printed.
func Script(t testing.TB, m Scripter, spec machine.Spec, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script")
	must.Do(t, os.WriteFile(path, []byte(script), 0o600))
	var screen strings.Builder
	if err := m.Script(t.Context(), path, &screen, spec); err != nil {
		t.Fatalf("%s\n%s", Explain(err), screen.String())
	}
	return screen.String()
}
