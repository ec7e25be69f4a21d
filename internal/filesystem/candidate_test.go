package filesystem

import (
	"slices"
	"strings"
	"testing"
)

func TestCandidateParts(t *testing.T) {
	c := parse(t, `btrfs -m single -o compress=lzo,,ssd -L 'my disk' -o noatime`)
	if got, want := c.Make(), []string{"-m", "single", "-L", "my disk"}; !slices.Equal(got, want) {
		t.Errorf("Make() = %q, want %q", got, want)
	}
	if got, want := c.Mount(), []string{"compress=lzo", "ssd", "noatime"}; !slices.Equal(got, want) {
		t.Errorf("Mount() = %q, want %q", got, want)
	}
	if c.Filesystem().Title != "Btrfs" {
		t.Errorf("Filesystem() = %q", c.Filesystem().Title)
	}
}

func TestCandidatePrintedExactly(t *testing.T) {
	for _, line := range append(studyCandidates, flashCandidates...) {
		if got := parse(t, line).String(); got != line {
			t.Errorf("printed %q, want %q", got, line)
		}
	}
}

func TestCandidateErrors(t *testing.T) {
	for _, tc := range []struct{ line, want string }{
		{"", "candidate is empty"},
		{"  \t ", "candidate is empty"},
		{"zfs", "unknown filesystem \"zfs\"; known are ext2"},
		{"ext4,vfat", "unknown filesystem \"ext4,vfat\" (candidates are separated by semicolons); known are ext2"},
		{"ext4 -o", "-o needs the mount options"},
		{"ext4 'a", "quote ' is not closed"},
		{`ext4 \`, "nothing follows the last backslash"},
		// Words that would lead a tool to another device.
		{"ext4 /dev/sda", "somewhere else than on the storage"},
		{"ext4 -J device=/dev/sda", "somewhere else"},
		{"ext4 -J device=UUID=1", "somewhere else"},
		{"ext4 sda", "somewhere else"},
		{"xfs -l logdev=/dev/sda", "somewhere else"},
		{"btrfs -m single sdb", "somewhere else"},
		{"btrfs -o device=/dev/sdb", "somewhere else"},
		{"f2fs -c /dev/sdb", "somewhere else"},
		{"jfs -j /tmp/../dev/sdb", "somewhere else"},
		{"erofs --blobdev=x", "somewhere else"},
		{"xfs --new ../x", "somewhere else"},
		{"ubifs -o compr=lzo /dev/ubi1_0", "somewhere else"},
		{"ubifs -o auth_key=name=/dev/x", "somewhere else"},
		{"ubifs /tmp/x", "somewhere else"},
		{"ubifs -o", "-o needs the mount options"},
		{"ubifs --output=x", "somewhere else"},
		{"ubifs -x lzo -r /etc", "somewhere else"},
		{"jffs2@image -d /etc", "somewhere else"},
		{"jffs2@image --root=/etc -m none", "somewhere else"},
		{"jffs2@image -D table", "somewhere else"},
		{"jffs2@image -i other", "somewhere else"},
		{"zfs", "known are " + strings.Join(Names(), ", ")},
	} {
		_, err := Parse(tc.line)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("Parse(%q): error %v, want %q in it", tc.line, err, tc.want)
		}
	}
}

// An option that whichfs does not know may have a value all the same.
func TestCandidateUnknownOption(t *testing.T) {
	c := parse(t, "xfs --new value -Q other -m crc=1")
	if got, want := c.Make(), []string{"--new", "value", "-Q", "other", "-m", "crc=1"}; !slices.Equal(got, want) {
		t.Errorf("Make() = %q, want %q", got, want)
	}
}

func FuzzParse(f *testing.F) {
	for _, line := range slices.Concat(studyCandidates, flashCandidates) {
		f.Add(line)
	}
	f.Add(`ext4 -L 'it'\''s' -o "a b",c`)
	f.Add("ext4 -o ''")
	f.Add("squashfs -- - -")
	f.Add("vfat \xff\\\x00 'a")
	f.Fuzz(func(t *testing.T, line string) {
		c, err := Parse(line)
		if err != nil {
			return
		}
		again, err := Parse(c.String())
		if err != nil {
			t.Fatalf("%q was printed as %q, which is refused: %v", line, c, err)
		}
		if again.String() != c.String() || !slices.Equal(again.words, c.words) {
			t.Fatalf("%q was printed as %q and read back as %q", line, c, again)
		}
		fs := c.Filesystem()
		fs.MinSize(c)
		MountFlags(MountData(c))
		fs.Verify(c, Evidence{})
		fs.Verify(c, blankEvidence)
	})
}
