package workload

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"whichfs/internal/filesystem"
)

// captured is the module tree of Debian's kernel 6.1, reduced, with a /proc that the caller fills.
func captured(t *testing.T) (m *Modules, show func(file string)) {
	t.Helper()
	m, err := ReadModules("testdata/brought", "6.1.0-56-amd64")
	if err != nil || len(m.deps) == 0 {
		t.Fatalf("%d modules, %v", len(m.deps), err)
	}
	m.proc = t.TempDir()
	return m, func(file string) {
		text, err := os.ReadFile(filepath.Join("testdata/brought", file))
		if err == nil {
			err = os.WriteFile(filepath.Join(m.proc, "modules"), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// While btrfs was mounted another program loaded zram, mtdram and dm-flakey: a trial must not
// unload those, and a trial of ext4 must not unload btrfs.
func TestBrought(t *testing.T) {
	anyones := []string{"blake2b_generic", "crc32c_intel", "raid6_pq", "xor", "zstd_compress"}
	for candidate, want := range map[string][]string{
		"btrfs": append([]string{"btrfs"}, anyones...),
		"ext4":  anyones,
		"ubifs": append([]string{"mtd"}, anyones...), // which mtdram uses, so that it stays
	} {
		c, err := filesystem.Parse(candidate)
		if err != nil {
			t.Fatal(err)
		}
		m, show := captured(t)
		env := &Env{Candidate: c, FS: c.Filesystem(), Modules: m}
		show("before")
		failed := errors.New("a step that fails after the mount")
		if err := env.Watch(func() error { show("after"); return failed }); !errors.Is(err, failed) {
			t.Error(err)
		}
		slices.Sort(want)
		if got := slices.Sorted(maps.Keys(m.brought)); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", candidate, got, want)
		}
		// A module that was unloaded meanwhile is no longer ours if it is loaded again.
		show("before")
		if err := m.Unload(); err != nil || len(m.brought) > 0 {
			t.Errorf("%v, %v", m.brought, err)
		}
	}
}

func TestNoModules(t *testing.T) {
	var none *Modules
	ran := false
	if err := errors.Join((&Env{}).Watch(func() error { ran = true; return nil }), none.Unload()); err != nil || !ran {
		t.Error(ran, err)
	}
}

func TestFamily(t *testing.T) {
	m, _ := captured(t)
	m.deps["deep"] = []string{"kernel/arch/x86/platform/crypto/deep.ko"}
	for name, want := range map[string]bool{
		"nls_cp437": true, "ccm": true, "crc32c_intel": true, "crc16": true,
		"btrfs": false, "zram": false, "mtd": false, "virtio_blk": false, "deep": false, "no_such": false,
	} {
		if got := m.inFamily(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
