package filesystem

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/testing/must"
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
		{"zfs", "unknown filesystem \"zfs\"; the filesystems are ext2"},
		{"ext4,vfat", "unknown filesystem \"ext4,vfat\" (candidates are separated by semicolons); the filesystems are ext2"},
		{"ext4 -o", "-o needs the mount options"},
		{"ext4 'a", "quote ' is not closed"},
		{`ext4 \`, "nothing follows the last backslash"},
		// Words that would direct a tool to another device.
		{"ext4 /dev/sda", "something other than the storage"},
		{"ext4 -J device=/dev/sda", "something other than"},
		{"ext4 -J device=UUID=1", "something other than"},
		{"ext4 -J device=memory1", "something other than"},
		{"ext4 -J device=memory,size=4", "something other than"},
		{"xfs -l device=memory", "something other than"},
		{"ext4 sda", "something other than"},
		{"xfs -l logdev=/dev/sda", "something other than"},
		{"btrfs -m single sdb", "something other than"},
		{"btrfs -o device=/dev/sdb", "something other than"},
		{"f2fs -c /dev/sdb", "something other than"},
		{"jfs -j /tmp/../dev/sdb", "something other than"},
		{"erofs --blobdev=x", "something other than"},
		{"xfs --new ../x", "something other than"},
		{"ubifs -o compr=lzo /dev/ubi1_0", "something other than"},
		{"ubifs -o auth_key=name=/dev/x", "something other than"},
		{"ubifs /tmp/x", "something other than"},
		{"ubifs -o", "-o needs the mount options"},
		{"ubifs --output=x", "something other than"},
		{"ubifs -x lzo -r /etc", "something other than"},
		{"jffs2@image -d /etc", "something other than"},
		{"jffs2@image --root=/etc -m none", "something other than"},
		{"jffs2@image -D table", "something other than"},
		{"jffs2@image -i other", "something other than"},
		{"zfs", "the filesystems are " + strings.Join(Names(), ", ")},
	} {
		_, err := Parse(tc.line)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("Parse(%q): error %v, want %q in it", tc.line, err, tc.want)
		}
	}
}

// An option that whichfs does not know may nevertheless have a value.
func TestCandidateUnknownOption(t *testing.T) {
	c := parse(t, "xfs --new value -Q other -m crc=1")
	if got, want := c.Make(), []string{"--new", "value", "-Q", "other", "-m", "crc=1"}; !slices.Equal(got, want) {
		t.Errorf("Make() = %q, want %q", got, want)
	}
}

// inJSON checks that a candidate survives a round trip through JSON, where it is the text that
// String writes.
func inJSON(t *testing.T, c Candidate) {
	t.Helper()
	text, err := json.Marshal(c)
	must.Do(t, err)
	plain, err := json.Marshal(c.String())
	must.Do(t, err)
	var back Candidate
	must.Do(t, json.Unmarshal(text, &back))
	if string(text) != string(plain) || back != c {
		t.Errorf("%q is %s in JSON, which is read as %q", c, text, back)
	}
}

// A record or a message may name a candidate that this version cannot read: Kept preserves the
// text, and Err gives the reason.
func TestKept(t *testing.T) {
	for _, line := range append(studyCandidates, flashCandidates...) {
		c := Kept(line)
		if c != parse(t, line) || c.Err() != nil {
			t.Errorf("%q is kept as %q: %v", line, c, c.Err())
		}
		inJSON(t, c)
	}
	for _, line := range []string{"", "zfs -o atime=off", "ext4 -o", "ext4 'a", "  zfs  ", "ext4 /dev/sda"} {
		_, err := Parse(line)
		c := Kept(line)
		if c.String() != line || c.Err() == nil || c.Err().Error() != err.Error() {
			t.Errorf("%q is kept as %q: %v, want %v", line, c, c.Err(), err)
		}
		if _, err := c.With(nil, nil); err == nil || err.Error() != c.Err().Error() {
			t.Errorf("%q with nothing more: error %v", line, err)
		}
		if _, err := c.With([]string{"-x"}, nil); err == nil || err.Error() != c.Err().Error() {
			t.Errorf("%q with an option: error %v", line, err)
		}
		if len(c.Make())+len(c.Mount()) > 0 || c.Imaged() || c.Filesystem().Name != "" {
			t.Errorf("%q has options or a filesystem", line)
		}
		inJSON(t, c)
	}
}

func TestCandidatesAreComparable(t *testing.T) {
	same := parse(t, ` ext4  -L "a b"  -o noatime`)
	for line, want := range map[string]bool{`ext4 -L 'a b' -o noatime`: true, `ext4 -L a\ b -o noatime`: true, `ext4 -L 'a  b' -o noatime`: false, "ext4": false} {
		if got := same == parse(t, line); got != want {
			t.Errorf("%q is %q: %v", same, line, got)
		}
	}
	if got := Texts([]Candidate{same, Kept("zfs")}); !slices.Equal(got, []string{"ext4 -L 'a b' -o noatime", "zfs"}) {
		t.Errorf("texts %q", got)
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
			if kept := Kept(line); kept.String() != line || kept.Err() == nil || kept.Err().Error() != err.Error() {
				t.Fatalf("%q was kept as %q: %v", line, kept, kept.Err())
			}
			return
		}
		again, err := Parse(c.String())
		if err != nil {
			t.Fatalf("%q was printed as %q, which is refused: %v", line, c, err)
		}
		if again != c || again.String() != c.String() {
			t.Fatalf("%q was printed as %q and read back as %q", line, c, again)
		}
		inJSON(t, c)
		fs := c.Filesystem()
		fs.MinSize(c)
		MountFlags(MountData(c))
		fs.Verify(c, Evidence{})
		fs.Verify(c, blankEvidence)
	})
}
