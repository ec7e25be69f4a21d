package rawtarget

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/probe"
	"whichfs/internal/sys/command"
	"whichfs/internal/testing/must"
	"whichfs/internal/testing/needs"
	"whichfs/internal/testing/wait"
)

// loop makes a loop device on a file, with blocks of the given size.
func loop(t testing.TB, path string, size int64, block uint32, flags uint32) (string, *os.File) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	must.Do(t, err)
	t.Cleanup(func() { _ = file.Close() })
	must.Do(t, file.Truncate(size))
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	must.Do(t, err)
	defer control.Close() //nolint:errcheck // nothing was written
	for range 50 {
		n, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		must.Do(t, err)
		node, err := os.OpenFile(fmt.Sprintf("/dev/loop%d", n), os.O_RDWR, 0)
		must.Do(t, err)
		config := unix.LoopConfig{Fd: uint32(file.Fd()), Size: block}
		config.Info.Flags = unix.LO_FLAGS_AUTOCLEAR | flags
		err = unix.IoctlLoopConfigure(int(node.Fd()), &config)
		if err == nil {
			t.Cleanup(func() { _ = node.Close() })
			return node.Name(), file
		}
		_ = node.Close()
		if !errors.Is(err, unix.EBUSY) {
			t.Fatal(err)
		}
	}
	t.Fatal("no free loop device")
	return "", nil
}

// writable opens a device like the right to write to it.
func writable(t testing.TB, path string) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_EXCL|unix.O_DIRECT, 0)
	must.Do(t, err)
	return f
}

func opened(t testing.TB, path string, o Options) *Target {
	t.Helper()
	d, err := Open(context.Background(), path, o)
	must.Do(t, err)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func TestRequests(t *testing.T) {
	needs.Devices(t)
	const size = 96 << 20
	path, file := loop(t, filepath.Join(t.TempDir(), "image"), size, 512, 0)
	d := opened(t, path, Options{Writable: writable(t, path)})
	if d.Size() != size || d.BlockSize() != 512 || !d.Writable() {
		t.Errorf("%d %d %v", d.Size(), d.BlockSize(), d.Writable())
	}
	before := d.Elapsed()
	for _, length := range []int64{512, 4096, 1 << 20, MaxRequest} {
		for _, offset := range []int64{0, size - length} {
			w, err := d.Write(offset, length)
			must.Do(t, err)
			f, err := d.Flush()
			must.Do(t, err)
			r, err := d.Read(offset, length)
			must.Do(t, err)
			if w <= 0 || f <= 0 || r <= 0 {
				t.Errorf("%d at %d: %v %v %v", length, offset, w, f, r)
			}
			// The data read are those written, and those in the file.
			got := make([]byte, length)
			_, err = file.ReadAt(got, offset)
			must.Do(t, err)
			if !bytes.Equal(got, d.memory.bytes[:length]) || bytes.Contains(got, make([]byte, 16)) {
				t.Errorf("%d at %d: other contents", length, offset)
			}
		}
	}
	if a, b := make([]byte, 4096), make([]byte, 4096); true {
		fill(a, 0, 1)
		fill(b, 4096, 1)
		if bytes.Equal(a, b) {
			t.Error("contents do not differ from place to place")
		}
	}
	sum, err := d.Read(0, 4096)
	must.Do(t, err)
	if after := d.Elapsed(); after-before < sum {
		t.Errorf("the clock went from %v to %v", before, after)
	}
	// Through the page cache, in blocks that do not divide the length.
	if took, err := d.WriteCached(4096, 1<<20, 3000); err != nil || took <= 0 {
		t.Errorf("through the page cache: %v, %v", took, err)
	}
	cached := make([]byte, 1<<20)
	_, err = file.ReadAt(cached, 4096)
	must.Do(t, err)
	if !bytes.Equal(cached, d.memory.bytes[:1<<20]) {
		t.Error("through the page cache: other contents")
	}
	if _, err := d.WriteCached(size-4096, 8192, 4096); err == nil {
		t.Error("a cached write beyond the end was made")
	}
	// Together, in both directions, from one thread to many.
	offsets := make([]int64, 100)
	for i := range offsets {
		offsets[i] = int64(99-i) * 8192
	}
	for _, depth := range []int{1, 3, 32, 256} {
		for _, write := range []bool{true, false} {
			if took, err := d.Together(write, offsets, 8192, depth); err != nil || took <= 0 {
				t.Errorf("%d together: %v, %v", depth, took, err)
			}
		}
	}
	got := make([]byte, 8192)
	for _, at := range []int64{0, 99 * 8192} {
		if _, err := file.ReadAt(got, at); err != nil || bytes.Contains(got, make([]byte, 16)) {
			t.Errorf("nothing was written at %d: %v", at, err)
		}
	}
	// Contents of any length, across the pieces of the transfer.
	long := bytes.Repeat([]byte("whichfs "), (3<<20)/8)
	must.Do(t, d.Store(1<<20, long))
	got = make([]byte, len(long)-3)
	must.Do(t, d.Load(1<<20+3, got))
	if !bytes.Equal(got, long[3:]) {
		t.Error("what was stored does not load")
	}
	if _, err := d.Discard(1<<20, 1<<20); err != nil && !errors.Is(err, probe.ErrUnsupported) {
		t.Error(err)
	}
	for name, f := range map[string]func() error{
		"beyond":   func() error { _, err := d.Read(size-4096, 8192); return err },
		"negative": func() error { _, err := d.Read(-512, 512); return err },
		"nothing":  func() error { _, err := d.Write(0, 0); return err },
		"too long": func() error { _, err := d.Read(0, MaxRequest+512); return err },
		"too many": func() error { _, err := d.Together(false, []int64{0}, 512, 257); return err },
		"none":     func() error { _, err := d.Together(false, nil, 512, 1); return err },
	} {
		if f() == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := d.Read(0, 100); !errors.Is(err, probe.ErrUnsupported) {
		t.Errorf("100 bytes: %v", err)
	}
	must.Do(t, errors.Join(d.Close(), d.Close()))
	if _, err := d.Read(0, 512); err == nil {
		t.Error("it can be read after its end")
	}
}

// This program's own housekeeping is no part of a request's timing.
func TestNoAllocations(t *testing.T) {
	needs.Devices(t)
	path, _ := loop(t, filepath.Join(t.TempDir(), "image"), 1<<20, 512, 0)
	d := opened(t, path, Options{Writable: writable(t, path)})
	if n := testing.AllocsPerRun(200, func() {
		_, err := d.Read(0, 4096)
		must.Do(t, err)
		_, err = d.Write(0, 4096)
		must.Do(t, err)
	}); n != 0 {
		t.Errorf("%v allocations for two requests", n)
	}
}

func TestLargeBlocks(t *testing.T) {
	needs.Devices(t)
	path, _ := loop(t, filepath.Join(t.TempDir(), "image"), 8<<20, 4096, 0)
	d := opened(t, path, Options{Writable: writable(t, path)})
	if d.BlockSize() != 4096 {
		t.Fatalf("blocks of %d", d.BlockSize())
	}
	if _, err := d.Read(0, 512); !errors.Is(err, probe.ErrUnsupported) {
		t.Errorf("512 bytes: %v", err)
	}
	if _, err := d.Write(512, 4096); !errors.Is(err, probe.ErrUnsupported) {
		t.Errorf("at 512: %v", err)
	}
	must.Do(t, d.Load(700, make([]byte, 10)))
	if err := d.Store(512, make([]byte, 512)); !errors.Is(err, probe.ErrUnsupported) {
		t.Errorf("storing half a block: %v", err)
	}
}

// Reading changes nothing, and operations that write are refused. The device is also
// write-protected, so the kernel would refuse a writer.
func TestReadOnly(t *testing.T) {
	needs.Devices(t)
	path, file := loop(t, filepath.Join(t.TempDir(), "image"), 1<<20, 512, unix.LO_FLAGS_READ_ONLY)
	reader, err := os.Open(path)
	must.Do(t, err)
	defer reader.Close() //nolint:errcheck // read only
	if _, err := Open(context.Background(), path, Options{Writable: reader}); err == nil {
		t.Error("a write-protected device opens for writing")
	}
	d := opened(t, path, Options{})
	must.Do(t, d.Load(0, make([]byte, 512)))
	for name, f := range map[string]func() error{
		"write":    func() error { _, err := d.Write(0, 512); return err },
		"store":    func() error { return d.Store(0, make([]byte, 512)) },
		"flush":    func() error { _, err := d.Flush(); return err },
		"discard":  func() error { _, err := d.Discard(0, 512); return err },
		"together": func() error { _, err := d.Together(true, []int64{0}, 512, 1); return err },
	} {
		if err := f(); !errors.Is(err, errReadOnly) {
			t.Errorf("%s: %v", name, err)
		}
	}
	got := make([]byte, 1<<20)
	if _, err := file.ReadAt(got, 0); err != nil || len(bytes.Trim(got, "\x00")) != 0 {
		t.Errorf("something was written: %v", err)
	}
}

// A device whose end is gone: the file under it is shorter now.
func TestShrinking(t *testing.T) {
	needs.Devices(t)
	path, file := loop(t, filepath.Join(t.TempDir(), "image"), 8<<20, 512, 0)
	d := opened(t, path, Options{Writable: writable(t, path)})
	must.Do(t, file.Truncate(4<<20))
	_, err := d.Read(6<<20, 4096)
	if err == nil || !strings.HasPrefix(err.Error(), "reading 4096 bytes at offset 6291456 of "+path+": ") {
		t.Errorf("%v", err)
	}
	if _, err := d.Together(false, []int64{0, 6 << 20, 7 << 20}, 4096, 2); err == nil || !strings.Contains(err.Error(), " of "+path) {
		t.Errorf("%v", err)
	}
	if _, err := d.Read(0, 4096); err != nil {
		t.Errorf("what is there cannot be read: %v", err)
	}
	// Now the device itself becomes smaller.
	f, err := os.Open(path)
	must.Do(t, err)
	defer f.Close() //nolint:errcheck // for reading
	must.Do(t, unix.IoctlSetInt(int(f.Fd()), unix.LOOP_SET_CAPACITY, 0))
	if _, err = d.Read(6<<20, 4096); err == nil || !strings.Contains(err.Error(), "it had 8388608 bytes when it was opened and has 4194304 now") {
		t.Errorf("%v", err)
	}
	gone := errors.New("it vanished")
	d.o.Check = func() error { return gone }
	if _, err = d.Read(6<<20, 4096); !errors.Is(err, gone) {
		t.Errorf("%v", err)
	}
}

// A device that does not answer: its file is on a frozen filesystem.
func TestHanging(t *testing.T) {
	needs.Devices(t)
	dir, mount := t.TempDir(), t.TempDir()
	under, _ := loop(t, filepath.Join(dir, "under"), 64<<20, 512, 0)
	mkfs, err := command.Look("mkfs.ext4")
	must.Do(t, err)
	_, err = command.Run(context.Background(), command.Options{}, mkfs, "-q", "-F", under)
	must.Do(t, err)
	must.Do(t, unix.Mount(under, mount, "ext4", 0, ""))
	t.Cleanup(func() { _ = unix.Unmount(mount, unix.MNT_DETACH) })
	path, _ := loop(t, filepath.Join(mount, "image"), 8<<20, 512, 0)
	d, err := Open(context.Background(), path, Options{Writable: writable(t, path), Limit: 300 * time.Millisecond})
	must.Do(t, err)
	_, err = d.Write(0, 4096)
	must.Do(t, err)
	top, err := os.Open(mount)
	must.Do(t, err)
	const freeze, thaw = 0xc0045877, 0xc0045878    // FIFREEZE, FITHAW of linux/fs.h
	defer unix.IoctlSetInt(int(top.Fd()), thaw, 0) //nolint:errcheck // so that a failing test can end
	must.Do(t, unix.IoctlSetInt(int(top.Fd()), freeze, 0))
	_, err = d.Write(4<<20, 4096)
	if !errors.Is(err, ErrHangs) || !strings.HasPrefix(err.Error(), "writing 4096 bytes at offset 4194304 of "+path+": no answer within 0.3") {
		t.Errorf("%v", err)
	}
	// Nothing else is tried on it.
	_, second := d.Read(0, 4096)
	if !errors.Is(second, ErrHangs) || !errors.Is(d.Store(0, make([]byte, 512)), ErrHangs) {
		t.Errorf("%v", second)
	}
	if _, err := d.Together(false, []int64{0}, 512, 1); !errors.Is(err, ErrHangs) {
		t.Errorf("%v", err)
	}
	must.Do(t, d.Close())
	// The same holds with several requests in flight.
	must.Do(t, errors.Join(unix.IoctlSetInt(int(top.Fd()), thaw, 0)))
	wait.Until(t, "what a hanging request left behind goes away after it", func() bool {
		f, err := os.OpenFile(path, os.O_RDWR|unix.O_EXCL|unix.O_DIRECT, 0)
		if err != nil {
			return false
		}
		d, err = Open(context.Background(), path, Options{Writable: f, Limit: 300 * time.Millisecond})
		return err == nil
	})
	must.Do(t, unix.IoctlSetInt(int(top.Fd()), freeze, 0))
	if _, err = d.Together(true, []int64{5 << 20, 6 << 20, 7 << 20}, 4096, 2); !errors.Is(err, ErrHangs) {
		t.Errorf("%v", err)
	}
	must.Do(t, d.Close())
	must.Do(t, unix.IoctlSetInt(int(top.Fd()), thaw, 0))
}

func TestPauseEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	(&Target{ctx: ctx}).Pause(time.Hour)
}
