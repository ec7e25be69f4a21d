package filesystem

import (
	"os"
	"testing"

	"whichfs/internal/result"
)

// A usage type is in force where the superblock has what mke2fs.conf says of it, and no other option
// has set all of that.
func TestVerifyExtUsage(t *testing.T) {
	conf, err := os.ReadFile("testdata/mke2fs.conf")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		fixture, options string
		want             result.OptionState
	}{
		{"ext4-news", "-T news", yes},
		{"ext4-news", "-T largefile4", alt},
		{"ext4-news", "-T default", unv},
		{"ext4-small", "-T small", yes},
		{"ext4-small", "-T news", alt}, // the same ratio, and another block size
		{"ext4-small", "-T news,small", yes},
		{"ext4-small", "-T small,news", yes}, // which says nothing of block sizes
		{"ext4-small", "-T small,largefile", alt},
		{"ext4-largefile4", "-T largefile4", yes},
		{"ext4-largefile4", "-T largefile", alt},
		{"ext4-hurd", "-T hurd", yes},
		{"ext4", "-T hurd", alt},
		{"ext4-news", "-T news -b 4096 -N 262144", yes}, // the inode size
		{"ext4-news", "-T small -b 4096 -i 4096 -I 256", ign},
		{"ext4-news", "-T nonsense", ign}, // mke2fs makes the filesystem nevertheless
	} {
		c, err := Parse("ext4 " + x.options)
		if err != nil {
			t.Fatal(err)
		}
		seen := fixture(t, x.fixture, 1024)
		seen.File = func(path string) (string, error) {
			if path != extConfig {
				return "", os.ErrNotExist
			}
			return string(conf), nil
		}
		if got := c.Filesystem().Verify(c, seen)[0]; got.State != x.want {
			t.Errorf("%s: %s: %s: %s", x.fixture, x.options, got.State, got.Evidence)
		}
		seen.File = func(string) (string, error) { return "", os.ErrNotExist }
		if got := c.Filesystem().Verify(c, seen)[0]; got.State != unv {
			t.Errorf("without mke2fs.conf, %s: %s", x.options, got.State)
		}
	}
}
