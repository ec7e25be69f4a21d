package filesystem

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"whichfs/internal/result"
)

// fixture is the evidence of a superblock made by Debian 12's tool, cut out of its image at offset.
func fixture(t testing.TB, name string, offset int64) Evidence {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata/super", name+".bin"))
	if err != nil {
		t.Fatal(err)
	}
	return image(b, offset)
}

func image(b []byte, offset int64) Evidence {
	return Evidence{Device: "vda", Mount: []string{"rw", "rw"}, Read: func(at int64, length int) ([]byte, error) {
		out := make([]byte, length)
		if at < offset {
			return nil, errors.New("before the piece")
		}
		if at-offset < int64(len(b)) {
			copy(out, b[at-offset:])
		}
		return out, nil
	}}
}

// blankEvidence is a device full of 0xff; all other evidence is missing.
var blankEvidence = Evidence{Device: "vda", Mount: []string{"rw"}, Read: func(_ int64, length int) ([]byte, error) {
	return []byte(strings.Repeat("\xff", length)), nil
}}

// offset is the first place of a filesystem's superblock, and so where the pieces in testdata/super
// begin.
func offset(name string) int64 {
	at := int64(-1)
	fs, _ := ByName(name)
	fs.Verify(Candidate{FS: name, words: join([]string{"-q"})}, Evidence{Read: func(offset int64, _ int) ([]byte, error) {
		if at < 0 {
			at = offset
		}
		return nil, errors.New("input/output error")
	}})
	return at
}

const (
	yes = result.InForce
	alt = result.Altered
	ign = result.Ignored
	unv = result.Unverified
)

// TestVerifyMake: for every fixture, options that it was made with, and the same options with other
// values, which must be reported as not in force.
func TestVerifyMake(t *testing.T) {
	for _, tc := range []struct {
		fixture, options string
		want             []result.OptionState
	}{
		{"ext4", "-O has_journal,^has_journal,extent,64bit,^metadata_csum,casefold,nonsense,none", []result.OptionState{yes, ign, yes, yes, ign, ign, unv, unv}},
		{"ext4-nojournal", "-O ^has_journal,has_journal,^metadata_csum -E stride=2,stripe-width=4,stride=3,nodiscard,nonsense", []result.OptionState{yes, ign, yes, yes, yes, alt, unv, unv}},
		{"ext4-nojournal", "-b 4096 -b 1024 -I 512 -I 256 -m 1 -m 5 -L lab -L bal -G 32 -G 16 -N 5000 -N 90000 -e remount-ro -e panic -q -j", []result.OptionState{yes, alt, yes, alt, yes, alt, yes, alt, yes, alt, yes, alt, yes, alt, unv, ign}},
		{"ext4-journal8", "-J size=8 -J size=16 -J fast_commit_size=1 -i 8192 -i 65536", []result.OptionState{yes, alt, unv, alt, alt}},
		{"ext4", "-J device=memory", []result.OptionState{ign}}, // its journal is inside
		{"ext2", "-O has_journal,dir_index -J size=4", []result.OptionState{ign, yes, unv}},
		{"ext3", "-O has_journal,extent -j", []result.OptionState{yes, ign, yes}},
		{"xfs", "-m crc=1,reflink,rmapbt=1,bigtime=0 -b size=4k -b size=1k -n ftype=1 -i size=512", []result.OptionState{yes, yes, ign, ign, yes, alt, yes, yes}},
		{"xfs-v4", "-m crc=0,crc=1,finobt=0 -b size=1024 -n size=8192 -L lab -L x -d agcount=3,agcount=4", []result.OptionState{yes, ign, yes, yes, yes, yes, alt, yes, alt}},
		{"xfs-rmap", "-m reflink=0,rmapbt=1,bigtime=0 -i size=1024,maxpct=10 -l size=80m,size=20m -d su=64k,sw=2,sw=4 -K -p x", []result.OptionState{yes, yes, yes, yes, yes, yes, alt, yes, yes, alt, unv, unv}},
		{"btrfs", "--mixed -n 16384 -n 4k -s 4096 -O no-holes,^no-holes,zoned,quota --csum crc32c --csum xxhash -K", []result.OptionState{ign, yes, alt, yes, yes, ign, ign, unv, yes, alt, unv}},
		{"btrfs-mixed", "--mixed -M --nodesize=4096 -L lab --csum xxhash64 --csum crc32c -O ^no-holes -R free-space-tree", []result.OptionState{yes, yes, yes, yes, yes, alt, yes, yes}},
		{"f2fs", "-O extra_attr -s 1 -s 2 -l x -w 512", []result.OptionState{ign, yes, alt, alt, yes}},
		{"f2fs-compression", "-O extra_attr,compression,inode_checksum,verity,nonsense -s 2 -z 2 -z 1 -l lab -t 0", []result.OptionState{yes, yes, yes, ign, unv, yes, yes, alt, yes, unv}},
		{"nilfs2", "-b 4096 -b 1024 -B 2048 -B 16 -O block_count", []result.OptionState{yes, alt, yes, alt, ign}},
		{"nilfs2-small", "-b 1024 -B 16 -m 10 -m 5 -L lab -O block_count -K", []result.OptionState{yes, yes, yes, alt, yes, yes, unv}},
		{"jfs", "-O -L lab -s 4", []result.OptionState{ign, alt, unv}},
		{"jfs-os2", "-O -L lab -q", []result.OptionState{yes, yes, unv}},
		{"reiserfs", "-h r5 -h tea -b 4096 -s 8193 -s 1024", []result.OptionState{yes, alt, yes, yes, alt}},
		{"reiserfs-tea", "-h tea --hash r5 -s 1024 -l lab --format 3.6 --format 3.5 -f", []result.OptionState{yes, alt, yes, yes, yes, alt, unv}},
		{"vfat", "-F 16 -F 32 -s 4 -f 2 -f 1 -S 512", []result.OptionState{yes, alt, yes, yes, alt, yes}},
		{"vfat-32", "-F 32 -F 16 -s 1 -n lab -n LAB2 -i 12345678 -i 87654321 -f 1 -R 64 -R 32 -I", []result.OptionState{yes, alt, yes, yes, alt, yes, alt, yes, yes, alt, unv}},
		{"exfat", "-c 4K -c 32K -s 512 -f", []result.OptionState{yes, alt, yes, unv}},
		{"exfat-32k", "-c 32K -c 4K -b 4M -b 64M", []result.OptionState{yes, alt, yes, ign}},
		{"squashfs-gzip", "-comp gzip -comp lzo -b 131072 -b 64K -Xcompression-level 9 -Xcompression-level 5", []result.OptionState{yes, alt, yes, alt, yes, ign}},
		{"squashfs-lzo", "-comp lzo -comp gzip", []result.OptionState{yes, alt}},
		{"squashfs-xz", "-comp xz -Xdict-size 64K", []result.OptionState{yes, ign}},
		{"squashfs-lz4", "-comp lz4 -Xhc", []result.OptionState{yes, ign}},
		{"squashfs-zstd", "-comp zstd -Xcompression-level 15", []result.OptionState{yes, yes}},
		{"squashfs-lzma", "-comp lzma -comp xz", []result.OptionState{yes, alt}},
		{"squashfs-zstd22", "-Xcompression-level 22 -Xcompression-level 3 -b 1M -noI -noD -no-fragments -no-xattrs -no-exports -no-duplicates -processors 2", []result.OptionState{yes, alt, yes, yes, ign, yes, yes, yes, ign, unv}},
		{"squashfs-lz4hc", "-comp lz4 -Xhc", []result.OptionState{yes, yes}},
		{"squashfs-gzip5", "-Xcompression-level 5 -Xcompression-level 9 -Xwindow-size 14", []result.OptionState{yes, alt, yes}},
		{"squashfs-lzo3", "-Xcompression-level 3 -Xcompression-level 9", []result.OptionState{yes, alt}},
		{"squashfs-xz64", "-Xdict-size 64K -Xdict-size 128K", []result.OptionState{yes, alt}},
		{"erofs-none", "-zlz4 -zlz4hc,12 -C65536 -Eztailpacking", []result.OptionState{ign, ign, ign, ign}},
		{"erofs-lz4", "-zlz4 -zlz4,9 -zlzma -C65536", []result.OptionState{yes, unv, alt, ign}},
		{"erofs-lz4hc", "-zlz4hc -zlz4hc,12", []result.OptionState{unv, unv}},
		{"erofs-lz4hc12", "-zlz4hc,12", []result.OptionState{unv}},
		{"erofs-C65536", "-zlz4hc -C65536 -C1048576", []result.OptionState{unv, yes, alt}},
		{"erofs-ztail", "-Eztailpacking -Efragments -Edededup", []result.OptionState{yes, ign, ign}},
		{"erofs-bogus", "-Ebogus,nosbcrc,force-inode-compact", []result.OptionState{ign, yes, unv}},
		{"erofs-legacy", "-zlz4 -Elegacy-compress,nosbcrc", []result.OptionState{ign, yes, ign}},
		{"erofs-fragments", "-Efragments", []result.OptionState{ign}},
		{"erofs-dedupe", "-Ededupe", []result.OptionState{ign}},
		{"erofs-label", "--all-root -T0 -T1", []result.OptionState{unv, yes, alt}},
	} {
		t.Run(tc.fixture, func(t *testing.T) { verifyFixture(t, tc.fixture, tc.options, tc.want...) })
	}
}

// verifyFixture: the findings about options in the superblock of a fixture, whose name begins with
// that of its filesystem.
func verifyFixture(t *testing.T, name, options string, want ...result.OptionState) {
	t.Helper()
	fs, _, _ := strings.Cut(name, "-")
	c := parse(t, fs+" "+options)
	got := c.Filesystem().Verify(c, fixture(t, name, offset(fs)))
	if len(got) != len(want) {
		t.Fatalf("%d options, want %d: %+v", len(got), len(want), got)
	}
	for i, o := range got {
		if o.State != want[i] || o.Evidence == "" {
			t.Errorf("%s: %s (%s), want %s", o.Text, o.State, o.Evidence, want[i])
		}
	}
}

// TestVerifyFlash: the same for raw flash.
func TestVerifyFlash(t *testing.T) {
	for _, tc := range []struct {
		fixture, line string
		want          []result.OptionState
	}{
		{"jffs2", "jffs2@image -m none -m size -x zlib -x lzo -X lzo -X zlib -v -q", []result.OptionState{ign, unv, ign, yes, ign, yes, unv, unv}},
		{"jffs2-none", "jffs2@image -m none -x zlib -X lzo", []result.OptionState{yes, yes, unv}},
		{"jffs2-lzo", "jffs2@image -m none -x zlib -X lzo -X zlib --enable-compressor=lzo", []result.OptionState{ign, yes, yes, ign, yes}},
		{"jffs2-summary", "jffs2@image+summary -m none", []result.OptionState{yes, yes}},
		{"jffs2", "jffs2@image+summary", []result.OptionState{ign}},
		{"jffs2", "jffs2 -m none", []result.OptionState{ign}},
		{"ubifs", "ubifs -x lzo -x zlib -x favor_lzo -f 8 -f 16 -k r5 -k test -y", []result.OptionState{yes, alt, unv, yes, alt, yes, alt, unv}},
		{"ubifs-none", "ubifs -x none -x zstd", []result.OptionState{yes, alt}},
		{"ubifs-zlib", "ubifs --compr=zlib -x favor_lzo", []result.OptionState{yes, alt}},
		{"ubifs-favor", "ubifs -x favor_lzo -X 30", []result.OptionState{unv, unv}},
		{"ubifs-zstd", "ubifs -x zstd -l 5 -l 4 -f 16 -p 2 -p 1 -k test -c 600 -c 498 -j 4MiB -j 8MiB -R 1MiB -F -a",
			[]result.OptionState{yes, yes, alt, yes, yes, alt, yes, yes, alt, yes, alt, alt, unv, unv}},
	} {
		t.Run(tc.fixture+"_"+tc.line, func(t *testing.T) {
			c := parse(t, tc.line)
			seen := fixture(t, tc.fixture, 0)
			seen.Device = "mtd0"
			seen.File = func(path string) (string, error) {
				if path != "/sys/class/mtd/mtd0/erasesize" {
					return "", errors.New("no such file")
				}
				return "8192\n", nil
			}
			got := c.Filesystem().Verify(c, seen)
			if len(got) != len(tc.want) {
				t.Fatalf("%d options, want %d: %+v", len(got), len(tc.want), got)
			}
			for i, o := range got {
				if o.State != tc.want[i] || o.Evidence == "" {
					t.Errorf("%s: %s (%s), want %s", o.Text, o.State, o.Evidence, tc.want[i])
				}
			}
		})
	}
	// Whatever a chip holds, the reader terminates.
	c := parse(t, "jffs2@image+summary -X lzo")
	for _, b := range []string{"\x85\x19\x02\xe0\x00\x00\x00\x00", "\x85\x19\x02\xe0\xff\xff\xff\xff", "\x85\x19\x01\xe0\x0c\x00\x00\x00"} {
		for _, o := range c.Filesystem().Verify(c, image([]byte(b), 0)) {
			if o.State != unv {
				t.Errorf("%q: %+v", b, o)
			}
		}
	}
}

// TestVerifyBtrfsProfile: the profile is in sysfs, below the filesystem's UUID.
func TestVerifyBtrfsProfile(t *testing.T) {
	for _, tc := range []struct {
		options string
		have    []string
		want    result.OptionState
	}{
		{"-m single", []string{"metadata/single"}, yes},
		{"-m dup", []string{"metadata/dup"}, yes},
		{"-m DUP", []string{"metadata/dup"}, yes},
		{"-m single", []string{"metadata/dup"}, alt},
		{"-m single", []string{"metadata/dup", "metadata/single"}, alt},
		{"-d single", []string{"data/single", "metadata/dup"}, yes},
		{"-m single", nil, unv},
	} {
		seen := fixture(t, "btrfs", 65536)
		s, err := readSuper(seen, 65536, 1024, nil, 64, "_BHRfS_M")
		if err != nil {
			t.Fatal(err)
		}
		seen.File = func(path string) (string, error) {
			for _, h := range tc.have {
				if path == "/sys/fs/btrfs/"+s.uuid(32)+"/allocation/"+h+"/total_bytes" {
					return "8388608\n", nil
				}
			}
			return "", errors.New("no such file")
		}
		c := parse(t, "btrfs "+tc.options)
		if got := c.Filesystem().Verify(c, seen); got[0].State != tc.want {
			t.Errorf("%s with %v: %+v, want %s", tc.options, tc.have, got, tc.want)
		}
	}
}

// A superblock that cannot be read proves nothing, for any filesystem.
func TestVerifyWithoutSuperblock(t *testing.T) {
	broken := map[string]Evidence{
		"no reader":     {},
		"read error":    {Read: func(int64, int) ([]byte, error) { return nil, errors.New("input/output error") }},
		"short":         {Read: func(int64, int) ([]byte, error) { return []byte("short"), nil }},
		"another magic": blankEvidence,
	}
	for _, fs := range All {
		if fs.Made != "" || fs.FlashImage != nil {
			continue // made in place, it has no options to verify
		}
		for what, seen := range broken {
			c := Candidate{FS: fs.Name, words: join([]string{"-q", "-L", "x"})}
			for _, o := range fs.Verify(c, seen) {
				if o.State != result.Unverified {
					t.Errorf("%s, %s: %+v", fs.Name, what, o)
				}
			}
		}
	}
}

// FuzzSuper gives every reader a superblock with the right magic and anything
// else around it.
func FuzzSuper(f *testing.F) {
	names, err := filepath.Glob("testdata/super/*.bin")
	if err != nil || len(names) < 40 {
		f.Fatalf("%d fixtures, %v", len(names), err)
	}
	for _, file := range names {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, "-b 4k -O a,^b -m crc=1 -n 1 -s 2 -z lz4 -C65536 -comp lzo -Xhc -J size=4 -i 1024 -N 1 -G 2 -I 256 -F 32 -f 1 -c 4k --mixed -d su=4k,sw=2 -E stride=2")
	}
	f.Fuzz(func(t *testing.T, b []byte, options string) {
		for _, fs := range All {
			c := Candidate{FS: fs.Name, words: join(strings.Fields(options))}
			for _, o := range fs.Verify(c, image(b, offset(fs.Name))) {
				if o.State == "" || o.Evidence == "" {
					t.Fatalf("%s: %+v", fs.Name, o)
				}
			}
		}
	})
}
