package plan

import (
	"os"
	"path/filepath"
	"testing"

	"whichfs/internal/testing/must"
)

func TestOwnKernel(t *testing.T) {
	for name, own := range map[string]bool{"lab": false, "fake": false, "local": true, "ssh:root@board": true, "": false} {
		if (Plan{Machine: name}).OwnKernel() != own || OnBoard(name) != (own && name != "local") {
			t.Errorf("%q", name)
		}
	}
}

func TestBoardInPlanFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plan.toml")
	must.Do(t, os.WriteFile(path, []byte("machine = \"ssh:root@board\"\n"), 0o600))
	if f, err := Load(path); err != nil || f.Machine == nil || *f.Machine != "ssh:root@board" {
		t.Errorf("%v %v", f.Machine, err)
	}
}
