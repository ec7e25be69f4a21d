package workload

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestLoadFor(t *testing.T) {
	if err := LoadFor(nil, "loop"); err != nil {
		t.Error(err)
	}
	root := t.TempDir()
	dir := filepath.Join(root, "lib/modules/1")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "modules.dep"), []byte("md/dm-flakey.ko: md/dm-mod.ko\nmd/dm-mod.ko:\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := ReadModules(root, "1")
	if err != nil {
		t.Fatal(err)
	}
	if err := LoadFor(m, "loop"); err != nil { // neither file nor error
		t.Error(err)
	}
	if err := LoadFor(m, "dm-flakey"); !errors.Is(err, os.ErrNotExist) || err.Error() != "loading md/dm-mod.ko: no such file or directory" {
		t.Error(err)
	}
}
