package workload

import (
	"testing"

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
