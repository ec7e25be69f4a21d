package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"whichfs/internal/plan/media"
	"whichfs/internal/target/mtd"
)

func mtdOf(t *testing.T, r Roots, number int) MTD {
	t.Helper()
	m, err := r.mtd(number)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMTDIdentity(t *testing.T) {
	r := fixture(t, "mtd")
	for number, want := range map[int]MTD{
		0: {Name: "mtd0", Label: "NAND simulator partition 0", Type: "nand", Size: 8 << 20, Erase: 128 << 10, Page: 2048, Sub: 512, OOB: 64,
			Flags: 0x400, Major: 90},
		3: {Name: "mtd3", Number: 3, Label: "NAND simulator partition 3", Type: "nand", Size: 72 << 20, Erase: 128 << 10, Page: 2048, Sub: 512,
			OOB: 64, Flags: 0x400, Offset: 56 << 20, Major: 90, Minor: 6},
		4: {Name: "mtd4", Number: 4, Label: "mtdram test device", Type: "ram", Size: 4 << 20, Erase: 128 << 10, Page: 1, Sub: 1, Flags: 0x1c00,
			Offset: -1, Major: 90, Minor: 8},
	} {
		got := mtdOf(t, r, number)
		want.Path = filepath.Join(r.Dev, want.Name)
		if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(MTD{})); d != "" {
			t.Error(d)
		}
		if got.Simulated() != (number < 4) {
			t.Errorf("%s: simulated: %v", got.Name, got.Simulated())
		}
	}
	if all, err := r.mtds(); err != nil || len(all) != 5 {
		t.Errorf("%d, %v", len(all), err)
	}
	if _, err := r.mtd(7); !errors.Is(err, errNoMTD) {
		t.Error(err)
	}
	// A system without flash has no such directory.
	if all, err := fixture(t, "virtio").mtds(); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
	// An unreadable device is not skipped: it may be the one that was named.
	put(t, r.Sys+"/class/mtd/mtd9/dev", "90:18\n", "")
	if _, err := r.mtds(); err == nil {
		t.Error("flash without a size is listed")
	}
}

func TestMTDNames(t *testing.T) {
	r := fixture(t, "mtd")
	m := mtdOf(t, r, 4)
	if got := strings.Join(m.IDs(), " | "); got != "mtd:mtdram test device/4M | mtd4:mtdram test device/4M" {
		t.Error(got)
	}
	for _, id := range []string{"mtd:mtdram test device/4M", "mtd4:mtdram test device/4M"} {
		if !m.Is(id) {
			t.Errorf("%s does not name it", id)
		}
	}
	for _, id := range []string{"", "mtd4", "mtd:mtdram test device", "mtd:mtdram test device/8M", "mtd3:mtdram test device/4M", "/dev/mtd4"} {
		if m.Is(id) {
			t.Errorf("%q names it", id)
		}
	}
	// Two with the same name and size: the name alone is ambiguous.
	for _, f := range []struct{ file, text string }{{"name", "mtdram test device"}, {"size", "4194304"}} {
		if err := os.WriteFile(filepath.Join(mtdOf(t, r, 3).dir, f.file), []byte(f.text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	m = mtdOf(t, r, 4)
	if got := strings.Join(m.IDs(), " | "); got != "mtd4:mtdram test device/4M" || m.Is("mtd:mtdram test device/4M") {
		t.Error(got)
	}
}

func TestMTDConditions(t *testing.T) {
	r := fixture(t, "mtd")
	var lines []string
	for _, c := range mtdOf(t, r, 0).Conditions() {
		lines = append(lines, c.Name+": "+c.Value)
	}
	text := strings.Join(lines, "\n")
	for _, want := range []string{"size: 8388608 B", "kind: raw NAND flash", "page: 2048 B and 64 spare", "sub-page: 512 B", "erase block: 131072 B",
		"error correction: 1 bit per 256 B", "bad blocks: 2", "label: NAND simulator partition 0", "offset on its chip: 0 B"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

func TestHeldMTD(t *testing.T) {
	for _, c := range []struct {
		name   string
		number int
		change func(t *testing.T, r Roots)
		want   string
	}{
		{name: "free", number: 0},
		{name: "jffs2 mounted", number: 1, want: "it is mounted at /m (jffs2)"},
		{name: "attached", number: 2, want: "it is attached to UBI as ubi0, with a volume mounted at /u"},
		{name: "beside both", number: 3},
		{name: "read-only", number: 0, want: "it is read-only", change: func(t *testing.T, r Roots) { change(t, r, 0, "flags", "0x0") }},
		{name: "volume as flash", number: 0, want: "it is a UBI volume exported as flash (gluebi)",
			change: func(t *testing.T, r Roots) { change(t, r, 0, "type", "ubi") }},
		{name: "mounted by name", number: 0, want: "it is mounted at /x (yaffs2)", change: func(t *testing.T, r Roots) {
			mounted(t, r, "36 29 0:77 / /x rw - yaffs2 mtd:NAND\\040simulator\\040partition\\0400 rw")
		}},
		{name: "mounted over mtdblock", number: 0, want: "it is mounted at /x (squashfs)", change: func(t *testing.T, r Roots) {
			mounted(t, r, "36 29 31:0 / /x ro - squashfs /dev/mtdblock0 ro")
		}},
		{name: "root", number: 0, want: "it carries the root filesystem (jffs2)", change: func(t *testing.T, r Roots) {
			mounted(t, r, "36 1 31:0 / / rw - jffs2 /dev/root rw")
		}},
		{name: "started from", number: 0, want: "it is the root device that this system was booted from (mtd0)", change: func(t *testing.T, r Roots) {
			rewrite(t, r.Proc+"/cmdline", "root=mtd0 rootfstype=jffs2\n")
		}},
		{name: "started from its block device", number: 0, want: "it is the root device that this system was booted from (/dev/mtdblock0)",
			change: func(t *testing.T, r Roots) { rewrite(t, r.Proc+"/cmdline", "root=/dev/mtdblock0\n") }},
		{name: "swap", number: 0, want: "it is in use as swap", change: func(t *testing.T, r Roots) {
			rewrite(t, r.Proc+"/swaps", "Filename Type Size Used Priority\n/dev/mtdblock0 partition 1 0 -2\n")
		}},
		{name: "held", number: 0, want: "it is held by device-mapper device (dm-3)", change: func(t *testing.T, r Roots) {
			put(t, r.Sys+"/devices/virtual/mtd/mtd0/mtdblock0/holders/dm-3", "", "")
		}},
		// The whole chip is shown, too, and a partition of it is mounted.
		{name: "chip of a mounted partition", number: 3, want: "DEV/mtd1, which shares blocks with it, is mounted at /m (jffs2)",
			change: func(t *testing.T, r Roots) { change(t, r, 3, "offset", "16777216"); change(t, r, 3, "size", "8388608") }},
		{name: "partition below its chip", number: 4, want: "DEV/mtd5, which shares blocks with it, is mounted at /x (jffs2)",
			change: func(t *testing.T, r Roots) {
				whole := "devices/virtual/mtd/mtd4"
				put(t, r.Sys+"/class/mtd/mtd5", "", "../../"+whole+"/mtd5")
				for file, text := range map[string]string{"dev": "90:10", "name": "part", "type": "ram", "size": "131072", "erasesize": "131072",
					"writesize": "1", "flags": "0x1c00", "offset": "0"} {
					put(t, r.Sys+"/"+whole+"/mtd5/"+file, text+"\n", "")
				}
				mounted(t, r, "36 29 31:5 / /x rw - jffs2 mtd5 rw")
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := fixture(t, "mtd")
			if c.change != nil {
				c.change(t, r)
			}
			found, err := r.heldMTD(mtdOf(t, r, c.number))
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.ReplaceAll(texts(found), r.Dev, "DEV"); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			for _, f := range found {
				if !f.always || f.hint == "" {
					t.Errorf("%+v", f)
				}
			}
		})
	}
	r := fixture(t, "mtd")
	m := mtdOf(t, r, 0)
	rewrite(t, r.Proc+"/self/mountinfo", "what is this\n")
	if found, err := r.heldMTD(m); err == nil {
		t.Errorf("mounts that cannot be read: %v", found)
	}
}

func change(t *testing.T, r Roots, number int, file, text string) {
	rewrite(t, fmt.Sprintf("%s/devices/virtual/mtd/mtd%d/%s", r.Sys, number, file), text+"\n")
}

func rewrite(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func mounted(t *testing.T, r Roots, line string) {
	t.Helper()
	b, err := os.ReadFile(r.Proc + "/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	rewrite(t, r.Proc+"/self/mountinfo", string(b)+line+"\n")
}

// memoryFlash is flash in memory.
type memoryFlash struct {
	data  []byte
	block int64
	bad   map[int]bool
	fails error
}

func (f memoryFlash) Bad(block int) (bool, error) { return f.bad[block], nil }
func (f memoryFlash) Close() error                { return nil }
func (f memoryFlash) ReadAt(b []byte, at int64) (int, error) {
	if f.bad[int(at/f.block)] {
		return 0, errors.New("a bad block is read")
	}
	if at >= int64(len(f.data)) {
		return 0, io.EOF
	}
	return copy(b, f.data[at:]), f.fails
}

func erasedFlash(m MTD) memoryFlash {
	f := memoryFlash{data: make([]byte, m.Size), block: m.Erase, bad: map[int]bool{}}
	for i := range f.data {
		f.data[i] = 0xff
	}
	return f
}

func TestContentsMTD(t *testing.T) {
	r := fixture(t, "mtd")
	nand, nor := mtdOf(t, r, 0), mtdOf(t, r, 4)
	for _, c := range []struct {
		name   string
		m      MTD
		write  map[int64]string // by block
		bad    []int
		fails  error
		want   string
		always bool
	}{
		{name: "erased", m: nand, want: "it is blank as far as the first pages of its 64 good erase blocks show"},
		{name: "erased NOR", m: nor, want: "it is blank as far as the first pages of its 32 good erase blocks show"},
		{name: "UBI", m: nand, write: map[int64]string{0: "UBI#\x01", 1: "UBI#\x01"}, want: "it holds UBI (in 2 of 64 good erase blocks, the first is number 0)"},
		{name: "jffs2", m: nand, write: map[int64]string{7: "\x85\x19\x02\xe0"}, want: "it holds jffs2 (in 1 of 64 good erase blocks, the first is number 7)"},
		{name: "jffs2, big-endian NOR", m: nor, write: map[int64]string{31: "\x19\x85\x20\x03"},
			want: "it holds jffs2 in the other byte order (in 1 of 32 good erase blocks, the first is number 31)"},
		{name: "squashfs behind a bad block", m: nand, bad: []int{0}, write: map[int64]string{1: "hsqs"},
			want: "it holds squashfs (in 1 of 63 good erase blocks, the first is number 1)"},
		{name: "erofs", m: nand, write: map[int64]string{0: strings.Repeat("\x00", 1024) + "\xe2\xe1\xf5\xe0"}, want: "it holds erofs ("},
		{name: "ext on NOR", m: nor, write: map[int64]string{0: strings.Repeat("\x00", 0x438) + "\x53\xef"}, want: "it holds ext2, ext3 or ext4 ("},
		{name: "anything", m: nand, write: map[int64]string{63: "x"}, want: "it holds data of an unknown kind (in 1 of 64 good erase blocks, the first is number 63)"},
		{name: "zeros", m: nand, write: map[int64]string{3: "\x00"}, want: "it holds data of an unknown kind"},
		{name: "unreadable", m: nand, fails: errors.New("input/output error"), want: "it cannot be read (erase block 0: input/output error)", always: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := erasedFlash(c.m)
			f.fails = c.fails
			for _, b := range c.bad {
				f.bad[b] = true
			}
			for block, text := range c.write {
				copy(f.data[block*c.m.Erase:], text)
			}
			found := contentsMTD(context.Background(), f, c.m)
			if c.want == "" && len(found) > 0 || !strings.Contains(texts(found), c.want) {
				t.Errorf("%q, want %q", texts(found), c.want)
			}
			if c.want != "" && (len(found) != 1 || found[0].always != c.always) {
				t.Errorf("%+v", found)
			}
		})
	}
	f := erasedFlash(nor)
	for b := range nor.Blocks() {
		f.bad[int(b)] = true
	}
	if found := contentsMTD(context.Background(), f, nor); texts(found) != "all of its 32 erase blocks are bad" || !found[0].always {
		t.Error(texts(found))
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if found := contentsMTD(ctx, erasedFlash(nor), nor); len(found) != 1 {
		t.Error(texts(found))
	}
}

func TestGuardMTD(t *testing.T) {
	const id = "mtd:NAND simulator partition 0/8M"
	r := fixture(t, "mtd")
	empty, full := erasedFlash(mtdOf(t, r, 0)), erasedFlash(mtdOf(t, r, 0))
	copy(full.data, "UBI#")
	for _, c := range []struct {
		name    string
		number  int
		f       flash
		destroy string
		want    string
		typed   string
	}{
		{name: "empty", f: empty, want: "nothing is written to mtd:/dev/mtd0: it is blank as far", typed: "--destroy '" + id + "'"},
		{name: "empty and named", f: empty, destroy: id},
		{name: "empty and wrongly named", f: empty, destroy: "mtd:rootfs/8M",
			want: "nothing is written to mtd:/dev/mtd0: --destroy mtd:rootfs/8M does not name this flash", typed: "--destroy '" + id + "'"},
		{name: "full", f: full, typed: "--destroy '" + id + "'",
			want: "nothing is written to mtd:/dev/mtd0: it holds UBI (in 1 of 64 good erase blocks, the first is number 0); " +
				"to destroy everything on it, add --destroy 'mtd:NAND simulator partition 0/8M'"},
		{name: "full and named", f: full, destroy: id},
		{name: "full and wrongly named", f: full, destroy: "mtd1:NAND simulator partition 0/8M", want: "does not name this flash", typed: "--destroy '" + id + "'"},
		// Nothing helps if it is in use.
		{name: "mounted and named", number: 1, f: full, destroy: "mtd:NAND simulator partition 1/16M",
			want: "nothing is written to mtd:/dev/mtd1: it is mounted at /m (jffs2); unmount it first: umount /m"},
		{name: "attached and named", number: 2, f: full, destroy: "mtd:NAND simulator partition 2/32M",
			want: "is attached to UBI as ubi0, with a volume mounted at /u; unmount its volumes and detach it first: ubidetach -m 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := mtdOf(t, r, c.number)
			opened := 0
			err := r.guardMTD(context.Background(), fmt.Sprintf("mtd:/dev/mtd%d", c.number), c.destroy, m,
				func(string) (flash, *finding) { opened++; return c.f, nil })
			var refusal *Refusal
			switch {
			case c.want == "":
				if err != nil || opened != 1 {
					t.Errorf("%v, opened %d times", err, opened)
				}
			case !errors.As(err, &refusal) || !strings.Contains(said(err), c.want) || refusal.Type != c.typed:
				t.Errorf("%v", err)
			case c.number != 0 && opened != 0:
				t.Error("flash in use was opened")
			}
		})
	}
	m := mtdOf(t, r, 0)
	err := r.guardMTD(context.Background(), "mtd:/dev/mtd0", id, m, func(string) (flash, *finding) {
		return nil, &finding{text: "no permission to open it", always: true, hint: "run whichfs as root (sudo)"}
	})
	if err == nil || !strings.Contains(err.Error(), "no permission") {
		t.Error(err)
	}
}

// The block device over flash, and flash given as a block device.
func TestPathsThatAreNotFlash(t *testing.T) {
	r := fixture(t, "mtd")
	l := r.list(context.Background(), device(t, r, "mtdblock0"))
	if l.Usable {
		t.Errorf("%+v", l)
	}
	for path, want := range map[string]string{
		"/dev/null": "it is not raw flash",
		"/dev/none": "no such device",
		"/etc":      "it is not raw flash",
		os.Args[0]:  "it is not raw flash",
	} {
		if _, err := r.findMTD(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestListMTD(t *testing.T) {
	r := fixture(t, "mtd")
	l := r.listMTD(context.Background(), mtdOf(t, r, 0), func(string) (flash, *finding) { return erasedFlash(mtdOf(t, r, 0)), nil })
	if !strings.HasPrefix(l.Verdict(), "with --destroy 'mtd:NAND simulator partition 0/8M': it is blank") || l.Path != "mtd:"+r.Dev+"/mtd0" || l.Rotation != "raw NAND flash" {
		t.Errorf("%+v", l)
	}
	l = r.listMTD(context.Background(), mtdOf(t, r, 1), nil)
	if l.Verdict() != "no: it is mounted at /m (jffs2); unmount it first: umount /m" {
		t.Error(l.Verdict())
	}
	all, err := List(context.Background(), r)
	if err != nil || len(all) != 7 {
		t.Errorf("%d, %v", len(all), err)
	}
}

// A chip that is recreated between two trials, perhaps with another partition, stays the claimed
// one; anything else in its place does not.
func TestSimulatorRenewed(t *testing.T) {
	r := fixture(t, "mtd")
	spec, err := media.Parse("nand:128M")
	if err != nil {
		t.Fatal(err)
	}
	c, err := Open(context.Background(), spec, "", Options{Roots: r, Lab: true})
	if err != nil {
		t.Fatal(err)
	}
	if !c.Raw() || c.Name() != "mtd0" || c.Path() != r.Dev+"/mtd0" || c.Uncounted() != MTDUncounted ||
		c.Identity() != "raw NAND chip of 128M in the guest's memory" {
		t.Errorf("%+v", c)
	}
	change(t, r, 0, "size", "16777216")
	if err := c.Recheck(); err != nil {
		t.Error(err)
	}
	change(t, r, 0, "erasesize", "16384")
	var gone *Gone
	if err := c.Recheck(); !errors.As(err, &gone) {
		t.Error(err)
	}
	change(t, r, 0, "erasesize", "131072")
	change(t, r, 0, "name", "rootfs")
	if err := c.Recheck(); !errors.As(err, &gone) {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	var refusal *Refusal
	if _, err := Open(context.Background(), spec, "", Options{Roots: r, Lab: true}); !errors.As(err, &refusal) || !strings.Contains(said(refusal), "use --machine lab") {
		t.Errorf("a user's flash: %v", err)
	}
	if _, err := Open(context.Background(), spec, "", Options{Roots: fixture(t, "mtd")}); !errors.As(err, &refusal) || !strings.Contains(err.Error(), "only in the lab's own guests") {
		t.Errorf("outside the lab: %v", err)
	}
	if _, err := Open(context.Background(), spec, "", Options{Roots: fixture(t, "virtio"), Lab: true}); !errors.As(err, &refusal) {
		t.Errorf("no flash: %v", err)
	}
	r = fixture(t, "mtd")
	mounted(t, r, "36 29 31:0 / /x rw - jffs2 mtd0 rw")
	if _, err := Open(context.Background(), spec, "", Options{Roots: r, Lab: true}); !errors.As(err, &refusal) || !strings.Contains(err.Error(), "mounted at /x") {
		t.Errorf("a mounted one: %v", err)
	}
	spec.Options = map[string]string{"page": "512"}
	if _, err := Open(context.Background(), spec, "", Options{Roots: fixture(t, "mtd"), Lab: true}); err == nil || errors.As(err, &refusal) {
		t.Errorf("another chip: %v", err)
	}
}

func TestEmptied(t *testing.T) {
	for want, e := range map[string]mtd.Emptied{
		"":                                       {Erased: 64},
		"62 erase blocks were erased, 2 are bad": {Erased: 62, Bad: 2},
		"63 erase blocks were erased, 1 could not be erased and keep their contents (the first: block 7)": {Erased: 63, Failed: []int{7}, First: errors.New("block 7")},
	} {
		if got := emptied(e); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
