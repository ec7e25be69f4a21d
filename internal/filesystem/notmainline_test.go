package filesystem

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/result"
)

// procYaffs is the driver's output for one mounted filesystem, in its format.
const procYaffs = "Multi-version YAFFS.\n\n\nDevice 0 \"NAND simulator partition 0\"\nstart_block.......... 0\nno_tags_ecc.......... 1\n" +
	"inband_tags.......... 0\nempty_lost_n_found... 1\nn_caches............. 10\n\nmax file size....... 2147479552\n"

func TestVerifyYaffs2(t *testing.T) {
	c := parse(t, "yaffs2 -x -o noatime,inband-tags,tags-ecc-off,no-cache,empty-lost-and-found-on,lazy-loading-on,no-checkpoint")
	asked := 0
	seen := Evidence{Mount: []string{"rw", "noatime"}, Device: "mtd0", File: func(path string) (string, error) {
		asked++
		if path != "/proc/yaffs" {
			return "", errors.New("not that one")
		}
		return procYaffs, nil
	}}
	states(t, c, seen, map[string]result.OptionState{
		"-x": result.Ignored, "-o noatime": result.InForce, "-o inband-tags": result.Altered, "-o tags-ecc-off": result.InForce,
		"-o no-cache": result.Altered, "-o empty-lost-and-found-on": result.InForce,
		"-o lazy-loading-on": result.Unverified, "-o no-checkpoint": result.Unverified,
	})
	if asked != 1 {
		t.Errorf("/proc/yaffs was read %d times", asked)
	}
	for name, file := range map[string]func(string) (string, error){
		"no file":     func(string) (string, error) { return "", errors.New("no such file") },
		"two of them": func(string) (string, error) { return procYaffs + strings.TrimPrefix(procYaffs, "Multi"), nil },
		"none":        func(string) (string, error) { return "Multi-version YAFFS.\n", nil },
	} {
		seen.File = file
		t.Run(name, func(t *testing.T) {
			states(t, parse(t, "yaffs2 -o no-cache"), seen, map[string]result.OptionState{"-o no-cache": result.Unverified})
		})
	}
}

func TestVerifyLogfs(t *testing.T) {
	super := make([]byte, 256)
	binary.BigEndian.PutUint64(super[24:], 0x7a3a8e5cb9d5bf67)
	super[39], super[41] = 17, 11
	binary.BigEndian.PutUint32(super[60:], 8)
	seen := Evidence{Mount: []string{"rw", "relatime"}, Device: "mtd0", Read: func(int64, int) ([]byte, error) { return super, nil }}
	states(t, parse(t, "logfs -c -s 16 --writeshift=11 --bad-segment-reserve 8 --non-interactive -o noatime,compr=zlib"), seen, map[string]result.OptionState{
		"-c": result.Unverified, "-s 16": result.Altered, "--writeshift=11": result.InForce, "--bad-segment-reserve 8": result.InForce,
		"--non-interactive": result.Unverified, "-o noatime": result.Ignored, "-o compr=zlib": result.Ignored,
	})
	super[24] = 0
	states(t, parse(t, "logfs -s 17"), seen, map[string]result.OptionState{"-s 17": result.Unverified})
}

func TestVerifyBcachefs(t *testing.T) {
	super := make([]byte, 256)
	copy(super[24:], "\xc6\x85\x73\xf6\x66\xce\x90\xa9")
	copy(super[56:], "\xc0\xff\xee\x00\x00\x00\x40\x00\x80\x00\x00\x00\x00\x00\x00\x01")
	copy(super[72:], "lab")
	super[120] = 8
	seen := Evidence{Mount: []string{"rw", "relatime", "compression=lz4", "nocow"}, Device: "vda", Read: func(at int64, _ int) ([]byte, error) {
		if at != 4096 {
			t.Errorf("reads at %d", at)
		}
		return super, nil
	}}
	c := parse(t, "bcachefs -L lab --uuid=C0FFEE00-0000-4000-8000-000000000001 --block_size=512 --compression=lz4 --nocow --data_checksum=xxhash -f -o noatime")
	states(t, c, seen, map[string]result.OptionState{
		"-L lab": result.InForce, "--uuid=C0FFEE00-0000-4000-8000-000000000001": result.InForce, "--block_size=512": result.Altered,
		"--compression=lz4": result.InForce, "--nocow": result.InForce, "--data_checksum=xxhash": result.Unverified, "-f": result.Unverified, "-o noatime": result.Ignored,
	})
	if p := c.Properties(); !p.Compression.Has || p.Checksums.Has || !p.MetaChecksums.Has {
		t.Errorf("%+v", p)
	}
	super[24] = 0
	states(t, parse(t, "bcachefs -L lab"), seen, map[string]result.OptionState{"-L lab": result.Unverified})
}

func states(t *testing.T, c Candidate, seen Evidence, want map[string]result.OptionState) {
	t.Helper()
	got := c.Filesystem().Verify(c, seen)
	for _, o := range got {
		if w, ok := want[o.Text]; !ok || w != o.State || o.Evidence == "" {
			t.Errorf("%s: %s (%s), want %s", o.Text, o.State, o.Evidence, w)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d options, want %d: %v", len(got), len(want), got)
	}
}

// Drivers that Linux lacks are reported as such, and get the arguments that they expect.
func TestNotMainline(t *testing.T) {
	for name, source := range map[string]string{"yaffs2": "/dev/mtdblock3", "logfs": ""} {
		fs, _ := ByName(name)
		if fs.NotMainline == "" || !fs.Raw || len(fs.Ways) != 1 || fs.Ways[0] != WayMTD {
			t.Errorf("%s: %+v", name, fs)
		}
		if got := ""; fs.Source != nil {
			got = fs.Source("mtd3")
			if got != source {
				t.Errorf("%s is mounted from %q, want %q", name, got, source)
			}
		} else if source != "" {
			t.Errorf("%s is mounted from the device itself", name)
		}
	}
	if p := parse(t, "logfs").Properties(); p.Compression.Has || p.Compression.With != "-c" {
		t.Errorf("logfs: %+v", p.Compression)
	}
	for _, line := range []string{"logfs -c", "logfs --compress"} {
		if p := parse(t, line).Properties(); !p.Compression.Has {
			t.Errorf("%s: %+v", line, p.Compression)
		}
	}
}

// What yaffs2's source needs to be built depends on the source alone.
func TestYaffs2Kbuild(t *testing.T) {
	published := map[string]string{"core/yaffs_guts.c": "x", "linux/yaffs_vfs_multi.c": ".readpage = yaffs_readpage,"}
	for name, c := range map[string]struct {
		driver string
		want   []string
	}{
		"as published": {published["linux/yaffs_vfs_multi.c"], []string{"Kbuild", "since-5.19.h"}},
		"adapted":      {".read_folio = yaffs_read_folio,", []string{"Kbuild"}},
		"another tree": {"", nil},
	} {
		published["linux/yaffs_vfs_multi.c"] = c.driver
		files := Yaffs2().Kbuild(func(name string) string { return published[name] })
		if got := slices.Sorted(maps.Keys(files)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
		if strings.Contains(files["Kbuild"], "since-5.19.h") != slices.Contains(c.want, "since-5.19.h") {
			t.Errorf("%s: %s", name, files["Kbuild"])
		}
	}
}

func TestYaffs2Chip(t *testing.T) {
	for _, c := range []struct {
		line         string
		chip         Chip
		reason, hint string
	}{
		{"yaffs2", Chip{64 << 20, 128 << 10, 2048}, "", ""},
		{"yaffs2", Chip{9 * 128 << 10, 128 << 10, 2048}, "", ""},
		{"yaffs2", Chip{8 * 128 << 10, 128 << 10, 2048}, "yaffs2 needs at least 9 erase blocks, and this storage has 8", "give storage of 1152 KiB or more"},
		{"yaffs2", Chip{16 << 20, 16 << 10, 512}, "yaffs2 does not keep its tags beside pages of 512 B", "with the option -o inband-tags"},
		{"yaffs2 -o noatime,inband-tags", Chip{16 << 20, 16 << 10, 512}, "", ""},
		{"jffs2", Chip{8 * 128 << 10, 128 << 10, 512}, "", ""},
		{"jffs2", Chip{16 << 10, 16 << 10, 512}, "jffs2 needs at least 80 KiB, this storage has 16 KiB", ""},
	} {
		reason, hint := parse(t, c.line).Unfit(c.chip)
		if reason != c.reason || !strings.HasPrefix(hint, c.hint) {
			t.Errorf("%s on %+v: %q, %q", c.line, c.chip, reason, hint)
		}
	}
}

// Every candidate's first way may be named.
func TestYaffs2Way(t *testing.T) {
	if c := parse(t, "yaffs2@mtd -o noatime"); c.String() != "yaffs2 -o noatime" {
		t.Errorf("%q", c)
	}
}
