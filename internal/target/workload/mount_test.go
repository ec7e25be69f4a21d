package workload

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/scenario"
	"whichfs/internal/testing/needs"
)

// A driver says which options it takes; one that is not there leaves it to the mount.
func TestTakes(t *testing.T) {
	needs.Devices(t)
	for _, x := range []struct {
		fs, option string
		want       bool
	}{
		{"tmpfs", "size=1M", true}, {"tmpfs", "inode64", true},
		{"tmpfs", "threads=single", false}, {"tmpfs", "nosuch", false},
		{"nosuchfs", "threads=single", true},
	} {
		if got := Takes(x.fs, x.option); got != x.want {
			t.Errorf("%s -o %s: %v", x.fs, x.option, got)
		}
	}
}

// Further options of a remount hold until the next one.
func TestRemountOptions(t *testing.T) {
	needs.Devices(t)
	env := makeEnv(t, mountTmpfs(t, "size=1m"), nil)
	env.FS.Name, env.Device = "tmpfs", filepath.Join(t.TempDir(), "device")
	if err := os.WriteFile(env.Device, nil, 0o600); err != nil { // which is synced
		t.Fatal(err)
	}
	for _, c := range []struct {
		step scenario.Step
		want bool
	}{{scenario.Step{Options: []string{"noatime"}}, true}, {scenario.Step{}, false}} {
		must(t, env, Remount, c.step)
		var st unix.Statfs_t
		if err := unix.Statfs(env.Mount, &st); err != nil {
			t.Fatal(err)
		}
		if got := st.Flags&unix.ST_NOATIME != 0; got != c.want {
			t.Errorf("noatime is %v with %v", got, c.step.Options)
		}
	}
}
