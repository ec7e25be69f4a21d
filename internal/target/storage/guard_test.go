package storage

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func texts(found []finding) string {
	var all []string
	for _, f := range found {
		all = append(all, f.text)
	}
	return strings.Join(all, "; ")
}

func TestHeld(t *testing.T) {
	for _, c := range []struct{ fixture, name, want string }{
		{"sata", "sda1", "it is mounted at /boot (ext2)"},
		{"sata", "sda2", "it is held by LVM volume vg0-root (dm-0)"},
		{"sata", "sda3", "it is in use as swap"},
		{"sata", "sda", "DEV/sda1 is mounted at /boot (ext2); DEV/sda2 is held by LVM volume vg0-root (dm-0); DEV/sda3 is in use as swap"},
		{"sata", "sdb", "it is read-only"},
		{"sata", "dm-0", "it carries the root filesystem (ext4)"},
		{"nvme", "nvme0n1", ""},
		{"usb-twins", "sdc", ""},
		{"virtio", "vda", "it carries the root filesystem (ext4)"},
		{"virtio", "vdb", ""},
		{"stacked", "loop3", ""},
		{"stacked", "loop4", "it is a loop device on the block device /dev/sde"},
		{"stacked", "sde", "it is held by loop device loop4"},
		{"stacked", "sdf", "it is held by RAID array md0"},
		{"stacked", "sdg", "it is held by a mounted btrfs (0f6f1bd0-1111-4222-8333-944455556666)"},
		{"stacked", "sdh", "it carries the root filesystem (ext4)"},
	} {
		r := fixture(t, c.fixture)
		found, err := r.held(device(t, r, c.name))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := strings.ReplaceAll(texts(found), r.Dev, "DEV"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		for _, f := range found {
			if !f.always || f.hint == "" {
				t.Errorf("%s: %+v", c.name, f)
			}
		}
	}
}

// A disk that is used as a whole makes its partitions unusable; a mount in another namespace
// counts, and so does the device that the system was booted from.
func TestHeldElsewhere(t *testing.T) {
	r := fixture(t, "sd-card")
	put(t, r.Proc+"/5/ns/mnt", "", "mnt:[9]")
	put(t, r.Proc+"/5/mountinfo", "27 1 179:0 / /card rw - vfat /dev/mmcblk0 rw\n", "")
	found, err := r.held(device(t, r, "mmcblk0p1"))
	if err != nil || !strings.Contains(texts(found), "mmcblk0 is mounted at /card") {
		t.Errorf("%v %v", texts(found), err)
	}
	r = fixture(t, "sd-card")
	put(t, r.Proc+"/cmdline", "console=ttyS0 root=PARTUUID=1234-01 rootwait\n", "")
	put(t, r.Dev+"/disk/by-partuuid/1234-01", "", "../../mmcblk0p1")
	put(t, r.Dev+"/mmcblk0p1", "", "")
	found, err = r.held(device(t, r, "mmcblk0"))
	if err != nil || !strings.Contains(texts(found), "is the root device that this system was booted from") {
		t.Errorf("%v %v", texts(found), err)
	}
	// A filesystem with its own device number is identified by its source.
	r = fixture(t, "stacked")
	d := Device{Name: "sdb", Path: r.Dev + "/sdb", Major: 8, Minor: 16, dir: t.TempDir()}
	mounts, err := r.mounts()
	if err != nil || len(r.mountsOn(mounts, d)) != 1 {
		t.Errorf("%v %v", r.mountsOn(mounts, d), err)
	}
}

// Unreadable data prove nothing.
func TestUnreadableListsAreErrors(t *testing.T) {
	for _, broken := range []string{"self/mountinfo", "swaps"} {
		r := fixture(t, "virtio")
		d := device(t, r, "vdb")
		if err := os.WriteFile(filepath.Join(r.Proc, broken), []byte("what is this\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if found, err := r.held(d); err == nil {
			t.Errorf("%s: %v", broken, found)
		}
	}
	r := fixture(t, "virtio")
	d := device(t, r, "vdb")
	if err := os.Remove(filepath.Join(r.Proc, "self/mountinfo")); err != nil {
		t.Fatal(err)
	}
	if found, err := r.held(d); err == nil {
		t.Errorf("no list of mounts: %v", found)
	}
	r = fixture(t, "sata")
	d = device(t, r, "sda")
	if err := os.Remove(filepath.Join(r.Sys, "class/block/sda3")); err != nil {
		t.Fatal(err)
	}
	if found, err := r.held(d); err == nil {
		t.Errorf("a partition cannot be read: %v", found)
	}
}

// script makes a program to stand in for wipefs.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "wipefs")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestContents(t *testing.T) {
	const size = 2 << 20
	dir := t.TempDir()
	blank, ext4, data, short := filepath.Join(dir, "blank"), filepath.Join(dir, "ext4"), filepath.Join(dir, "data"), filepath.Join(dir, "short")
	for path, write := range map[string]func(image []byte){
		blank: func([]byte) {},
		ext4:  func(image []byte) { copy(image[0x438:], "\x53\xef") },
		data:  func(image []byte) { image[size-300] = 1 },
		short: func([]byte) {},
	} {
		image := make([]byte, size)
		write(image)
		if path == short {
			image = image[:size/2]
		}
		if err := os.WriteFile(path, image, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name, wipefs, image, want string
		limit                     time.Duration
		always                    bool
	}{
		{name: "nothing", wipefs: script(t, "exit 0"), image: blank, want: "it is blank in all 32 places that were sampled"},
		{name: "heading only", wipefs: script(t, "echo '# offset,uuid,label,type'"), image: blank, want: "it is blank in all 32 places"},
		{name: "no known signature", wipefs: script(t, "exit 0"), image: data, want: "it has no known signature, but 1 of 32 sampled places hold data"},
		{name: "signature", wipefs: script(t, `echo '0x438,1234-5,my, disk,ext4'`), image: blank,
			want: `it holds ext4 labelled "my, disk"`},
		{name: "several places", wipefs: script(t, "echo 0x0,12-34,PHOTOS,vfat; echo 0x36,12-34,PHOTOS,vfat"), image: blank, want: `it holds vfat labelled "PHOTOS"`},
		{name: "liar", wipefs: script(t, "exit 0"), image: ext4, want: "it holds an ext2, ext3 or ext4 superblock"},
		{name: "missing", wipefs: filepath.Join(t.TempDir(), "wipefs"), image: blank, want: "wipefs is missing"},
		{name: "failing", wipefs: script(t, "echo broken >&2; exit 1"), image: blank, want: "broken"},
		{name: "nonsense", wipefs: script(t, "echo hello"), image: blank, want: "wipefs answered nonsense"},
		{name: "hanging", wipefs: script(t, "exec sleep 1000"), image: blank, limit: 50 * time.Millisecond,
			want: "wipefs gave no answer within 50ms", always: true},
		{name: "unreadable", wipefs: script(t, "exit 0"), image: short, want: "it cannot be read", always: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := Roots{Wipefs: c.wipefs, WipefsLimit: c.limit}.filled()
			f, err := os.Open(c.image)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close() //nolint:errcheck // read only
			_, found := r.contents(context.Background(), c.image, f, Device{Size: size})
			if !strings.Contains(texts(found), c.want) {
				t.Errorf("%q, want %q", texts(found), c.want)
			}
			if len(found) != 1 || found[0].always != c.always {
				t.Errorf("%+v", found)
			}
		})
	}
}

// Partitions are described by what identifies them to a person, and so is the data before the first
// one.
func TestContentsOfPartitions(t *testing.T) {
	r := fixture(t, "sata")
	r.Wipefs = script(t, `case $3 in */sda1) echo 0x438,1234,my boot,ext2;; */sda) echo 0x1fe,,,dos;; esac`)
	d := device(t, r, "sda")
	put(t, filepath.Join(r.Sys, "class/block/sda1/start"), "2048\n", "")
	put(t, filepath.Join(r.Sys, "class/block/sda1/uevent"), "DEVTYPE=partition\nPARTNAME=EFI\n", "")
	image := make([]byte, 4<<20)
	for at := 0; at < len(image); at += 4096 {
		image[at] = 1
	}
	path := filepath.Join(t.TempDir(), "image")
	put(t, path, string(image), "")
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // read only
	d.Size = int64(len(image))
	seen, found := r.contents(context.Background(), r.Dev+"/sda", f, d)
	for _, want := range []string{`it has the partitions sda1 (512 MiB, "EFI", ext2 labelled "my boot"), sda2 (`, "it holds a partition table (dos)",
		"there is data before its first partition, where boot loaders are (16 of 16 sampled places hold data)"} {
		if !strings.Contains(texts(found), want) {
			t.Errorf("%q does not say %q", texts(found), want)
		}
	}
	if len(seen.fingerprint) != 12 || !strings.HasPrefix(seen.words[0], "has the partitions sda1") {
		t.Errorf("%+v", seen)
	}
}

// Every byte of both ends is in the fingerprint, and the same places are always read for the same
// size.
func TestFingerprintCoversBothEnds(t *testing.T) {
	for _, size := range []int64{512, 4096, 5120, 1 << 20, 1<<20 + 512, 8 << 20, 17 << 20, 1 << 40} {
		last := int64(-1)
		for _, p := range samplePlaces(size) {
			if p.at <= last || p.length <= 0 || p.at+p.length > size || p.at%512 != 0 || p.length%512 != 0 {
				t.Errorf("of %d bytes: %+v after %d", size, p, last)
			}
			last = p.at
		}
		places := samplePlaces(size)
		if end := places[len(places)-1]; end.at+end.length != size {
			t.Errorf("of %d bytes the last are not read: %+v", size, end)
		}
	}
	if n := len(samplePlaces(1 << 40)); n != 16+64+16 {
		t.Errorf("%d places", n)
	}
	const size = 8 << 20
	image := make([]byte, size)
	path := filepath.Join(t.TempDir(), "image")
	prints := map[string]int{}
	for _, at := range []int{-1, 0, 511, 70000, 1<<20 - 1, size - 1<<20, size - 1} {
		if at >= 0 {
			image[at] ^= 0x80
		}
		put(t, path, string(image), "")
		if at >= 0 {
			image[at] ^= 0x80
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		seen, err := look(f, size)
		_ = f.Close()
		if had, twice := prints[seen.fingerprint]; err != nil || twice {
			t.Errorf("a change at %d looks like one at %d: %v", at, had, err)
		}
		prints[seen.fingerprint] = at
		if want := min(at+1, 1); seen.filled(0, size) != want {
			t.Errorf("a change at %d: %d places hold data", at, seen.filled(0, size))
		}
	}
}

func TestOwnSigns(t *testing.T) {
	for magic, offset := range map[string]int{"\x55\xaa": 510, "EFI PART": 512, "\x53\xef": 0x438, "XFSB": 0, "_BHRfS_M": 0x10040,
		"SWAPSPACE2": 4086, "LUKS\xba\xbe": 0} {
		image := make([]byte, 0x11000)
		copy(image[offset:], magic)
		if signs := ownSigns(image); len(signs) != 1 {
			t.Errorf("%q: %v", magic, signs)
		}
		if signs := ownSigns(image[:offset]); len(signs) != 0 {
			t.Errorf("%q cut off: %v", magic, signs)
		}
	}
}

func TestJudge(t *testing.T) {
	d := device(t, fixture(t, "sata"), "sda")
	holds := finding{text: "it holds x"}
	mounted := finding{text: "it is mounted", always: true, hint: "unmount it"}
	odd := Device{Serial: "it's a disk"}
	for _, c := range []struct {
		name    string
		d       Device
		destroy string
		found   []finding
		want    string
		typed   string
	}{
		{"empty", d, "", nil, "", ""},
		{"holds", d, "", []finding{holds}, "nothing is written to /dev/x: it holds x; to destroy everything on it, add --destroy S3Z8NB0K000001A",
			"--destroy S3Z8NB0K000001A"},
		{"named", d, "S3Z8NB0K000001A", []finding{holds}, "", ""},
		{"mounted and named", d, "S3Z8NB0K000001A", []finding{holds, mounted}, "nothing is written to /dev/x: it is mounted; unmount it", ""},
		{"mounted and not named", d, "", []finding{holds, mounted}, "nothing is written to /dev/x: it is mounted; unmount it", ""},
		{"to be quoted", odd, "", []finding{holds}, `nothing is written to /dev/x: it holds x; to destroy everything on it, add --destroy 'it'\''s a disk'`,
			`--destroy 'it'\''s a disk'`},
	} {
		err := judge("/dev/x", c.d.IDs()[0], c.found, c.destroy != "")
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		var r *Refusal
		if !errors.As(err, &r) || said(r) != c.want || r.Type != c.typed {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestParseSwaps(t *testing.T) {
	got, err := parseSwaps("Filename\tType\tSize\tUsed\tPriority\n/swap\\040file\\040(deleted) file 1 0 -2\n/dev/sda\\134x partition 1 0 -3\n")
	if err != nil || len(got) != 2 || got[0] != "/swap file" || got[1] != `/dev/sda\x` {
		t.Errorf("%q %v", got, err)
	}
	for _, bad := range []string{"", "nonsense", "Filename Type\n/dev/sda", "Filename Type\nsda partition 1 0 -2"} {
		if got, err := parseSwaps(bad); err == nil {
			t.Errorf("%q: %q", bad, got)
		}
	}
}

func FuzzParseSwaps(f *testing.F) {
	f.Add("Filename\tType\tSize\tUsed\tPriority\n/a\\040b file 1 0 -2\n")
	f.Add("Filename Type\n\\")
	f.Fuzz(func(t *testing.T, text string) {
		paths, _ := parseSwaps(text)
		for _, p := range paths {
			if !strings.HasPrefix(p, "/") {
				t.Fatalf("path %q", p)
			}
		}
	})
}

func FuzzParseSignatures(f *testing.F) {
	f.Add("0x438,99660a91,a,b\\x20\"c,ext4\n")
	f.Add("# offset,uuid,label,type\n0x0,,,LVM2_member")
	f.Fuzz(func(t *testing.T, text string) {
		found, err := parseSignatures(text)
		if err == nil && len(found) == 0 && strings.Contains(text, "0x") && !strings.Contains(text, "#") {
			t.Fatalf("%q holds nothing", text)
		}
		for _, s := range found {
			if s.Type == "" || s.Offset == "" {
				t.Fatalf("%+v", s)
			}
		}
	})
}

func FuzzLockHolder(f *testing.F) {
	f.Add("1: FLOCK  ADVISORY  WRITE 1234 00:17:5678 0 EOF\n2: -> FLOCK ADVISORY WRITE 7 00:17:5678 0 EOF\n")
	f.Fuzz(func(t *testing.T, text string) { lockHolder(text, 0, 0x17, 5678) })
}

func TestLockHolder(t *testing.T) {
	text := "1: POSIX  ADVISORY  WRITE 9 00:1f:5678 0 EOF\n2: -> FLOCK  ADVISORY  WRITE 7 00:1f:5678 0 EOF\n3: FLOCK  ADVISORY  WRITE 1234 00:1f:5678 0 EOF\n"
	if got := lockHolder(text, 0, 0x1f, 5678); got != 1234 {
		t.Error(got)
	}
	if got := lockHolder(text, 0, 0x1f, 5679); got != 0 {
		t.Error(got)
	}
}
