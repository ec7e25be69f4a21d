package filesystem

import (
	"strings"
	"testing"
)

func TestTune(t *testing.T) {
	card := Geometry{Page: 16 * kib, Segment: 4 * mib, Size: 1024 * mib}
	odd := Geometry{Page: 8 * kib, Segment: 3 * mib, Size: 1024 * mib}
	coarse := Geometry{Page: 32 * kib, Segment: 8 * mib, Size: 1024 * mib}
	for _, c := range []struct {
		fs    string
		g     Geometry
		words string
		says  string
	}{
		{"ext4", card, "-E stride=4,stripe_width=1024", "4 MiB"},
		{"ext3", odd, "-E stride=2,stripe_width=768", "3 MiB"},
		{"ext2", Geometry{Segment: 4 * mib, Size: 256 * mib}, "-b 4096 -E stride=1,stripe_width=1024", "page of 4 KiB"},
		{"ext4", Geometry{Page: 12 * kib, Segment: 4 * mib, Size: 1024 * mib}, "-E stride=1,stripe_width=1024", ""},
		{"ext4", Geometry{Page: 16 * kib, Size: 1024 * mib}, "", "unknown"},
		{"f2fs", card, "-s 2 -z 1", "2 of its own"},
		{"f2fs", odd, "-s 3 -z 1", "6 MiB"},
		{"f2fs", Geometry{Segment: mib, Size: 1024 * mib}, "", "default fits"},
		{"f2fs", Geometry{Segment: 64 * mib, Size: 128 * mib}, "", "is impossible"},
		{"f2fs", Geometry{Page: 4096, Size: 1024 * mib}, "", "unknown"},
		{"nilfs2", card, "-B 1024", "4 MiB"},
		{"nilfs2", card, "-B 1024", "Blocks of 16 KiB, as large as the storage's pages, would exceed the kernel's pages, 4 KiB on most processors: no kernel mounts these."},
		{"nilfs2", coarse, "", "Blocks of 32 KiB"},
		{"nilfs2", coarse, "", "default segment of 8 MiB"},
		{"nilfs2", odd, "", "powers of two"},
		{"btrfs", card, "", "default node"},
		{"btrfs", coarse, "-n 32768", "32 KiB"},
		{"btrfs", Geometry{Segment: 4 * mib}, "", "unknown"},
		{"btrfs", Geometry{Page: 128 * kib}, "", "cannot be as large"},
		{"xfs", card, "-d su=4194304,sw=1", "4 MiB"},
		{"xfs", card, "-d su=4194304,sw=1", "only Linux 6.12 or later with transparent huge pages mounts these."},
		{"xfs", Geometry{}, "", "unknown"},
		{"exfat", card, "-b 4194304", "4 MiB"},
		{"exfat", odd, "", "power of two"},
		{"exfat", Geometry{Segment: 512 * kib}, "", "by default"},
		{"vfat", card, "", "no option"},
		{"squashfs", card, "", "written once"},
	} {
		fs, _ := ByName(c.fs)
		got := fs.Tuned(c.g)
		if words := strings.Join(got.Words, " "); words != c.words || !strings.Contains(got.Reason, c.says) {
			t.Errorf("%s %+v: %q, %q; want %q and %q", c.fs, c.g, words, got.Reason, c.words, c.says)
		}
		if len(got.Words) > 0 { // the advised option can be used
			if _, err := Parse(c.fs + " " + strings.Join(got.Words, " ")); err != nil {
				t.Error(err)
			}
		}
	}
}

// The block size is what the last option asks for, in every notation of the tool.
func TestBlock(t *testing.T) {
	for line, want := range map[string]int64{
		"xfs": 0, "xfs -b size=1024": 1024, "xfs -b size=16k": 16 * kib, "xfs -bsize=2k -b size=4096": 4096, "xfs -i size=512": 0,
		"nilfs2": 0, "nilfs2 -b 8192": 8192, "nilfs2 -b2048 -B 1024": 2048,
	} {
		c, err := Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := c.Filesystem().Block(c); got != want {
			t.Errorf("%s: %d, want %d", line, got, want)
		}
	}
}
