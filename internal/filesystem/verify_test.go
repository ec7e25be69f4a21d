package filesystem

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"whichfs/internal/result"
	"whichfs/internal/testing/golden"
)

// shown parses a line of mountinfo like the agent.
func shown(line string) []string {
	head, tail, _ := strings.Cut(line, " - ")
	return append(strings.Split(strings.Fields(head)[5], ","), strings.Split(strings.Fields(tail)[2], ",")...)
}

// TestVerifyMount judges options by what a real kernel showed after mounting with them.
func TestVerifyMount(t *testing.T) {
	var b strings.Builder
	for line := range strings.Lines(readText(t, "mountinfo.txt")) {
		line = strings.TrimSpace(line)
		candidate, info, ok := strings.Cut(line, "\t")
		if !ok {
			continue
		}
		c := parse(t, candidate)
		fmt.Fprintf(&b, "# %s\n", c)
		for _, o := range verifyWithout(c, shown(info)) {
			fmt.Fprintf(&b, "%-13s %s: %s\n", o.State, o.Text, o.Evidence)
		}
	}
	golden.Check(t, "mount.golden", b.String())
}

func verifyWithout(c Candidate, mount []string) []result.Option {
	return c.Filesystem().Verify(c, Evidence{Mount: mount, Device: "vda"})
}

// TestVerifyMountStates fails each option on purpose: the kernel shows something other than
// requested.
func TestVerifyMountStates(t *testing.T) {
	const (
		ext4  = "rw,relatime,rw"
		btrfs = "rw,relatime,rw,ssd,space_cache=v2,subvolid=5,subvol=/"
		f2fs  = "rw,relatime,rw,lazytime,background_gc=on,discard,no_heap,user_xattr,acl,inline_data,mode=adaptive,active_logs=6,alloc_mode=reuse,fsync_mode=posix"
	)
	for _, tc := range []struct {
		candidate, mount string
		want             result.OptionState
	}{
		{"btrfs -o compress=lzo", btrfs, result.Ignored},
		{"btrfs -o compress=lzo", btrfs + ",compress=zstd:3", result.Altered},
		{"btrfs -o compress=lzo:3", btrfs + ",compress=lzo", result.Altered},
		{"btrfs -o compress=zlib", btrfs + ",compress=zlib:3", result.InForce},
		{"btrfs -o compress=zst", btrfs + ",compress=zstd:3", result.Altered},
		{"btrfs -o compress=none", btrfs, result.InForce},
		{"btrfs -o compress=none", btrfs + ",compress=zlib:3", result.Altered},
		{"btrfs -o nossd", btrfs, result.Altered},
		{"btrfs -o ssd_spread", btrfs, result.Ignored},
		{"btrfs -o ssd", "rw,rw,ssd_spread", result.InForce},
		{"btrfs -o quux", btrfs, result.Unverified},
		{"ext4 -o data=ordered", ext4, result.InForce},
		{"ext4 -o data=ordered", ext4 + ",data=writeback", result.Altered},
		{"ext4 -o data=journal", ext4, result.Ignored},
		{"ext4 -o nobarrier", ext4, result.Ignored},
		{"ext4 -o barrier=0", ext4 + ",nobarrier", result.InForce},
		{"ext4 -o barrier", ext4 + ",nobarrier", result.Altered},
		{"ext4 -o noatime", ext4, result.Ignored},
		{"ext4 -o noatime", "rw,noatime,rw", result.InForce},
		{"ext4 -o strictatime", ext4, result.Ignored},
		{"ext4 -o strictatime", "rw,rw", result.InForce},
		{"ext4 -o lazytime", ext4, result.Ignored},
		{"ext4 -o sync", ext4, result.Ignored},
		{"ext4 -o ro", ext4, result.Ignored},
		{"ext4 -o nofail", ext4, result.Ignored},
		{"ext4 -o commit=30", ext4 + ",commit=5", result.Altered},
		{"f2fs -o lazytime", f2fs, result.InForce},
		{"f2fs -o atgc", f2fs, result.Ignored},
		{"f2fs -o atgc", f2fs + ",atgc", result.InForce},
		{"f2fs -o compress_algorithm=lz4", f2fs, result.Ignored},
		{"f2fs -o compress_algorithm=zstd", f2fs + ",compress_algorithm=zstd:1", result.InForce},
		{"f2fs -o compress_algorithm=lz4", f2fs + ",compress_algorithm=lzo", result.Altered},
		{"f2fs -o nodiscard", f2fs, result.Altered},
		{"vfat -o umask=022", "rw,rw,fmask=0022,dmask=0022", result.InForce},
		{"vfat -o umask=077", "rw,rw,fmask=0022,dmask=0022", result.Altered},
		{"vfat -o umask=077", "rw,rw", result.Unverified},
		{"xfs -o logbsize=65536", "rw,rw,logbsize=64k", result.InForce},
		{"xfs -o logbsize=128k", "rw,rw,logbsize=64k", result.Altered},
		{"nilfs2 -o order=relaxed", "rw,rw", result.InForce},
		{"nilfs2 -o order=relaxed", "rw,rw,order=strict", result.Altered},
		{"erofs -o noacl", "ro,ro,user_xattr,acl", result.Altered},
		{"ext4 -o noatime", "", result.Unverified},
	} {
		c := parse(t, tc.candidate)
		var mount []string
		if tc.mount != "" {
			mount = strings.Split(tc.mount, ",")
		}
		got := verifyWithout(c, mount)
		if len(got) != 1 || got[0].State != tc.want || got[0].Evidence == "" {
			t.Errorf("%s with %s: %+v, want %s", tc.candidate, tc.mount, got, tc.want)
		}
	}
}

// The full list of ext4 proves defaults, and their opposites, by name.
func TestVerifyExtFullList(t *testing.T) {
	list := readText(t, "ext4-options.txt")
	seen := Evidence{Mount: []string{"rw", "relatime", "rw"}, Device: "vda", File: func(path string) (string, error) {
		if path != "/proc/fs/ext4/vda/options" {
			return "", errors.New("no such file")
		}
		return list, nil
	}}
	c := parse(t, "ext4 -o delalloc,nodelalloc,data=ordered,data=journal,max_dir_size_kb=0,inode_readahead_blks=64")
	want := []result.OptionState{result.InForce, result.Altered, result.InForce, result.Altered, result.InForce, result.Altered}
	for i, o := range c.Filesystem().Verify(c, seen) {
		if o.State != want[i] {
			t.Errorf("%+v, want %s", o, want[i])
		}
	}
}

// TestVerifyF2fsWithoutFeature: the kernel drops compress_ words silently.
func TestVerifyF2fsWithoutFeature(t *testing.T) {
	c := parse(t, "f2fs -o compress_algorithm=lz4")
	seen := fixture(t, "f2fs", 1024)
	seen.Mount = []string{"rw", "rw", "lazytime"}
	got := c.Filesystem().Verify(c, seen)
	if len(got) != 1 || got[0].State != result.Ignored || !strings.Contains(got[0].Evidence, "made without -O extra_attr,compression") {
		t.Errorf("%+v", got)
	}
}

func FuzzVerifyMount(f *testing.F) {
	f.Add("compress=zlib", "rw,compress=zlib:3")
	f.Add("no", "nono=1,=,no")
	f.Add("umask=", "fmask=,dmask=0")
	f.Fuzz(func(t *testing.T, option, mount string) {
		for _, fs := range All {
			c := Candidate{FS: fs.Name, words: join([]string{"-o", option})}
			for _, o := range fs.Verify(c, Evidence{Mount: strings.Split(mount, ",")}) {
				if o.State == "" || o.Evidence == "" || o.Text == "" {
					t.Fatalf("%s %q: %+v", fs.Name, option, o)
				}
			}
		}
	})
}

// Options of the program beside NILFS2 never reach the kernel, and are in force only while it runs.
func TestDaemonOptions(t *testing.T) {
	c, err := Parse("nilfs2 -o cleanerd=on,protection_period=0,order=strict")
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(MountData(c), ","); got != "order=strict" {
		t.Errorf("mounted with %q", got)
	}
	d, asked := c.Daemon()
	if !asked || d.Settings(c) != "protection_period 0\n" {
		t.Errorf("%v, settings %q", asked, d.Settings(c))
	}
	for _, x := range []struct {
		word string
		runs bool
		want result.OptionState
	}{
		{"cleanerd=on", true, result.InForce},
		{"cleanerd=on", false, result.Altered},
		{"cleanerd=off", false, result.InForce},
		{"cleanerd=off", true, result.Altered},
		{"cleanerd=maybe", true, result.Ignored},
		{"protection_period=0", true, result.Unverified},
		{"protection_period=0", false, result.Ignored},
	} {
		if f := d.judge(x.word, Evidence{Daemon: x.runs}); f.State != x.want {
			t.Errorf("%s, running %v: %+v", x.word, x.runs, f)
		}
	}
	if ext4, _ := Parse("ext4 -o cleanerd=on"); strings.Join(MountData(ext4), ",") != "cleanerd=on" {
		t.Error("a filesystem without such a program takes its options")
	}
}
