package blockdev

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"whichfs/internal/fault"
	"whichfs/internal/fault/states"
	"whichfs/internal/sys/command"
	"whichfs/internal/testing/needs"
)

func newDisk(t testing.TB, size int64) *Disk {
	t.Helper()
	needs.Devices(t)
	d, err := NewDisk(size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func run(t testing.TB, words ...string) {
	t.Helper()
	if _, err := command.Run(t.Context(), command.Options{}, words...); err != nil {
		t.Fatal(err)
	}
}

// ext4 makes a filesystem without checksums, so that a test may change fields of
// its superblock.
func ext4(t testing.TB, size int64) (*Disk, fault.Image) {
	t.Helper()
	d := newDisk(t, size)
	run(t, "mkfs.ext4", "-q", "-F", "-b", "4096", "-J", "size=4", "-O", "^metadata_csum,^64bit", d.Path())
	im, err := d.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	return d, im
}

func used(t testing.TB, d *Disk) int64 {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Fstat(d.file, &st); err != nil {
		t.Fatal(err)
	}
	return st.Blocks * 512
}

// The next mount sees data written through Bytes, however often, and Bytes shows what the kernel
// wrote.
func TestNextMountSeesContents(t *testing.T) {
	d, im := ext4(t, 16<<20)
	base, err := NewContents(im)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for i := range 300 {
		super := bytes.Clone(im.Blocks[0])
		label := fmt.Sprintf("state-%d", i)
		clear(super[1024+120 : 1024+136])
		copy(super[1024+120:], label)
		binary.LittleEndian.PutUint64(super[1024+104:], uint64(i)) // UUID
		if i%2 == 0 {
			if err := d.Set(base, []states.Block{{Number: 0, Data: super}}); err != nil {
				t.Fatal(err)
			}
		} else {
			if err := d.Restore(im); err != nil {
				t.Fatal(err)
			}
			if err := d.Put(0, super); err != nil {
				t.Fatal(err)
			}
		}
		if err := unix.Mount(d.Path(), dir, "ext4", 0, ""); err != nil {
			t.Fatalf("state %d: %v", i, err)
		}
		if got := labelOf(t, dir); got != label {
			t.Fatalf("state %d is mounted as %q", i, got)
		}
		var st unix.Statfs_t
		if err := unix.Statfs(dir, &st); err != nil {
			t.Fatal(err)
		}
		if want := uint32(i) ^ binary.LittleEndian.Uint32(im.Blocks[0][1024+112:]); uint32(st.Fsid.Val[0]) != want {
			t.Fatalf("state %d has filesystem id %x, want %x", i, st.Fsid.Val[0], want)
		}
		names, err := os.ReadDir(dir)
		if err != nil || len(names) != 1 {
			t.Fatalf("state %d: the last state's file is still there: %v %v", i, names, err)
		}
		body := strings.Repeat(label, 512)
		if err := os.WriteFile(filepath.Join(dir, label), []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := unix.Unmount(dir, 0); err != nil {
			t.Fatal(err)
		}
		if err := d.Drop(); err != nil {
			t.Fatal(err)
		}
		if i%50 == 0 && !bytes.Contains(d.Bytes(), []byte(body)) {
			t.Fatalf("state %d: what was written does not show in Bytes", i)
		}
	}
}

func labelOf(t *testing.T, dir string) string {
	t.Helper()
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // read only
	label, err := ioctlLabel(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	return label
}

// A block that the kernel cannot drop yet would reappear in the contents of a later state: Drop
// reports it instead.
func TestDropLeavesNothing(t *testing.T) {
	d := newDisk(t, 1<<20)
	used := dropLimit
	dropLimit = 50 * time.Millisecond
	defer func() { dropLimit = used }()
	keep := func() []byte {
		t.Helper()
		view, err := unix.Mmap(d.node, 0, fault.BlockSize, unix.PROT_READ, unix.MAP_SHARED)
		if err != nil {
			t.Fatal(err)
		}
		if view[0] != 0 { // which reads the block
			t.Error("a new disk is not empty")
		}
		return view
	}
	view := keep()
	if kept, err := d.kept(); err != nil || kept == 0 {
		t.Errorf("%d pages of a block that is in use, %v", kept, err)
	}
	if err := d.Drop(); err == nil || !strings.Contains(err.Error(), "lsof "+d.Path()) {
		t.Errorf("with a block that cannot be dropped: %v", err)
	}
	if err := unix.Munmap(view); err != nil {
		t.Fatal(err)
	}
	if err := d.Drop(); err != nil {
		t.Error(err)
	}
	if kept, err := d.kept(); err != nil || kept != 0 {
		t.Errorf("%d pages are left, %v", kept, err)
	}

	// A page released in time costs only the wait.
	dropLimit = used
	view = keep()
	dropped := make(chan error, 1)
	go func() { dropped <- d.Drop() }()
	if err := unix.Munmap(view); err != nil {
		t.Fatal(err)
	}
	if err := <-dropped; err != nil {
		t.Error(err)
	}
}

// Data that a program wrote to the device without a sync are not lost between the device and Bytes.
func TestToolsWritesShow(t *testing.T) {
	d := newDisk(t, 1<<20)
	text := []byte("written through the device")
	f, err := os.OpenFile(d.Path(), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(text, 8192); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	im, err := d.Snapshot()
	if err != nil || !bytes.HasPrefix(im.Blocks[2], text) || len(im.Blocks) != 1 {
		t.Fatalf("%v %v", slices.Collect(maps.Keys(im.Blocks)), err)
	}
	if err := d.Restore(fault.Image{Size: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(d.Path())
	if err != nil || !bytes.Equal(got, make([]byte, 1<<20)) {
		t.Errorf("the device still holds something: %v", err)
	}
}

// A random history of contents, each compared completely with what it should be, on a machine with
// and without swap space.
func TestSetMakesExactContents(t *testing.T) {
	const blocks = 256
	d := newDisk(t, blocks*fault.BlockSize)
	rnd := rand.New(rand.NewPCG(1, 2))
	some := func(n int) []states.Block {
		var out []states.Block
		for range n {
			b := make([]byte, fault.BlockSize)
			if rnd.IntN(4) > 0 {
				b[rnd.IntN(len(b))] = byte(1 + rnd.IntN(3))
			}
			out = append(out, states.Block{Number: rnd.Int64N(blocks), Data: b})
		}
		return out
	}
	for round := range 200 {
		d.swaps = func() bool { return round%2 == 0 }
		im := fault.Image{Size: d.Size(), Blocks: map[int64][]byte{}}
		for _, b := range some(rnd.IntN(40)) {
			im.Blocks[b.Number] = b.Data
		}
		base, err := NewContents(im)
		if err != nil {
			t.Fatal(err)
		}
		changed := some(rnd.IntN(10))
		if err := d.Set(base, changed); err != nil {
			t.Fatal(err)
		}
		want := make([]byte, d.Size())
		for n, b := range im.Blocks {
			copy(want[n*fault.BlockSize:], b)
		}
		for _, b := range changed {
			copy(want[b.Number*fault.BlockSize:], b.Data)
		}
		got, err := os.ReadFile(d.Path())
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("round %d differs", round)
		}
		snap, err := d.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		for n := range int64(blocks) {
			b := want[n*fault.BlockSize : (n+1)*fault.BlockSize]
			if have, ok := snap.Blocks[n]; ok == bytes.Equal(b, zeros[:]) || ok && !bytes.Equal(have, b) {
				t.Fatalf("round %d: block %d of the snapshot", round, n)
			}
		}
		// Another program writes elsewhere.
		for _, b := range some(5) {
			for n := b.Number; n < min(blocks, b.Number+int64(round)); n++ {
				if err := d.Put(n, b.Data); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// A large disk costs only the blocks that were touched.
func TestSparse(t *testing.T) {
	d := newDisk(t, 320<<20)
	run(t, "mkfs.xfs", "-q", "-f", d.Path())
	im, err := d.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Restore(im); err != nil {
		t.Fatal(err)
	}
	other := newDisk(t, 320<<20)
	if err := other.Restore(im); err != nil {
		t.Fatal(err)
	}
	if u, v := used(t, d), used(t, other); u > 4<<20 || v > u || v < int64(len(im.Blocks))*fault.BlockSize {
		t.Errorf("%d and %d bytes for %d blocks", u, v, len(im.Blocks))
	}
	run(t, "xfs_repair", "-n", other.Path())
}

// A disk becomes larger and smaller while it is in use, and keeps what is in both.
func TestResize(t *testing.T) {
	d := newDisk(t, 8192)
	copy(d.Bytes()[4096:], "kept")
	for _, size := range []int64{1 << 20, 8192} {
		if err := d.Resize(size); err != nil {
			t.Fatal(err)
		}
		node, err := os.Open(d.Path())
		if err != nil {
			t.Fatal(err)
		}
		end, err := node.Seek(0, io.SeekEnd)
		got := make([]byte, 4)
		_, read := node.ReadAt(got, 4096)
		if err := errors.Join(err, read, node.Close()); err != nil || end != size || d.Size() != size || int64(len(d.Bytes())) != size || string(got) != "kept" {
			t.Errorf("%d bytes: the device has %d, with %q: %v", size, end, got, err)
		}
		if err := d.Drop(); err != nil {
			t.Error(err)
		}
	}
	if err := d.Resize(5000); err == nil || d.Size() != 8192 {
		t.Errorf("5000 bytes: %v", err)
	}
}

func TestRefused(t *testing.T) {
	needs.Devices(t)
	for _, size := range []int64{0, -4096, 4095, 6000} {
		if _, err := NewDisk(size); err == nil || !strings.Contains(err.Error(), "multiple of 4096") {
			t.Errorf("%d: %v", size, err)
		}
	}
	d := newDisk(t, 8192)
	block := make([]byte, fault.BlockSize)
	for _, err := range []error{
		d.Put(2, block), d.Put(-1, block), d.Put(0, block[1:]),
		d.Restore(fault.Image{Size: 8192, Blocks: map[int64][]byte{2: block}}),
		d.Set(&Contents{size: 8192}, []states.Block{{Number: 7, Data: block}}),
	} {
		if err == nil || !strings.Contains(err.Error(), "does not fit a disk of 8192 bytes") {
			t.Error(err)
		}
	}
	if err := d.Restore(fault.Image{Size: 4096}); err == nil || !strings.Contains(err.Error(), "do not fit a disk of 8192 bytes") {
		t.Error(err)
	}
}

// listed are the loop devices over memory of a process whose disks have such names.
func listed(t testing.TB, prefix string) []string {
	t.Helper()
	files, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range files {
		// One that is just being detached no longer has such a file.
		if text, err := os.ReadFile(f); err == nil && strings.Contains(string(text), prefix) {
			out = append(out, f+": "+string(text))
		}
	}
	return out
}

func ours() string { return fmt.Sprintf("memfd:whichfs-disk-%d-", os.Getpid()) }

func TestCloseLeavesNothing(t *testing.T) {
	needs.Devices(t)
	d := newDisk(t, 1<<20)
	if l := listed(t, ours()); len(l) != 1 || !strings.Contains(l[0], d.Name()+"/") {
		t.Errorf("%s: %q", d.Name(), l)
	}
	for range 2 {
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if l := listed(t, ours()); len(l) > 0 {
		t.Error(l)
	}
	// One in use disappears with its last mount.
	d, _ = ext4(t, 16<<20)
	dir := t.TempDir()
	if err := unix.Mount(d.Path(), dir, "ext4", 0, ""); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/file", []byte("still there"), 0o600); err != nil {
		t.Error(err)
	}
	if l := listed(t, ours()); len(l) != 1 {
		t.Error(l)
	}
	if err := unix.Unmount(dir, 0); err != nil {
		t.Fatal(err)
	}
	if l := listed(t, ours()); len(l) > 0 {
		t.Error(l)
	}
}

// ioctlLabel is FS_IOC_GETFSLABEL (include/uapi/linux/fs.h).
func ioctlLabel(fd int) (string, error) {
	var label [256]byte
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), 0x81009431, uintptr(unsafe.Pointer(&label[0]))); errno != 0 {
		return "", errno
	}
	return unix.ByteSliceToString(label[:]), nil
}

func BenchmarkSet(b *testing.B) {
	d, im := ext4(b, 64<<20)
	base, err := NewContents(im)
	if err != nil {
		b.Fatal(err)
	}
	block := bytes.Repeat([]byte{7}, fault.BlockSize)
	for n := int64(0); len(base.blocks) < 500; n++ { // as much as a real one holds, in pieces of 16 KiB
		im.Blocks[5000+n+n/4*3] = block
		if base, err = NewContents(im); err != nil {
			b.Fatal(err)
		}
	}
	dir := b.TempDir()
	b.Run("alone", func(b *testing.B) {
		for b.Loop() {
			if err := d.Set(base, []states.Block{{Number: 900, Data: block}}); err != nil {
				b.Fatal(err)
			}
			copy(d.block(901), block)
		}
	})
	b.Run("with mount", func(b *testing.B) {
		for b.Loop() {
			if err := d.Set(base, []states.Block{{Number: 900, Data: block}}); err != nil {
				b.Fatal(err)
			}
			if err := unix.Mount(d.Path(), dir, "ext4", 0, ""); err != nil {
				b.Fatal(err)
			}
			if err := unix.Unmount(dir, 0); err != nil {
				b.Fatal(err)
			}
		}
	})
}
