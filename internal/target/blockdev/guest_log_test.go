package blockdev_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"whichfs/internal/fault/writelog"
	"whichfs/internal/sys/command"
	"whichfs/internal/target/blockdev"
)

// direct opens a device for direct I/O.
func direct(path string) (int, error) {
	return unix.Open(path, unix.O_RDWR|unix.O_DIRECT|unix.O_CLOEXEC, 0)
}

// aligned is memory suitable for direct I/O.
func aligned(size int, fill byte) []byte {
	b, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		panic(err)
	}
	for i := range b {
		b[i] = fill
	}
	return b
}

// told are entries in short form: "w 8+8 a" is a write of 8 sectors from the eighth on that begins
// with the letter a.
func told(entries []writelog.Entry) (out []string) {
	for _, e := range entries {
		text := fmt.Sprintf("%d+%d", e.Sector, e.Sectors)
		switch {
		case e.Flags&writelog.Mark != 0:
			text = "mark " + string(e.Data)
		case e.Flags&writelog.Discard != 0:
			text = "discard " + text
		case e.IsWrite():
			text = "w " + text + " " + string(e.Data[:1])
		}
		if e.Flags&writelog.FUA != 0 {
			text = "fua " + text
		}
		if e.Flags&writelog.Flush != 0 {
			text = "flush " + text
		}
		out = append(out, text)
	}
	return out
}

func checkLog() (err error) {
	under, err := blockdev.NewDisk(8 << 20)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, under.Close()) }()
	r, err := blockdev.Record(under, 4<<20)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	fd, err := direct(r.Path())
	if err != nil {
		return err
	}
	defer unix.Close(fd) //nolint:errcheck // all was written
	write := func(sector int64, letter byte, size int) {
		_, e := unix.Pwrite(fd, aligned(size, letter), sector*512)
		err = errors.Join(err, e)
	}
	strange := "a  text with\\ \t\"words\" é\xa0\n"
	write(0, 'a', 4096)
	write(16, 'b', 512)
	err = errors.Join(err, r.Mark("written"), unix.Fsync(fd), r.Mark(strange))
	write(32, 'c', 65536)
	_, e := unix.Pwritev2(fd, [][]byte{aligned(1024, 'd')}, 8192*512, unix.RWF_DSYNC)
	write(48, 'e', 512) // never made durable
	err = errors.Join(err, e, r.Mark(strings.Repeat("x", 479)))
	want := []string{
		"mark written", "w 0+8 a", "w 16+1 b", "flush 0+0", "mark " + strange,
		// After such writes to the device itself, the kernel sends a flush.
		"fua w 8192+2 d", "w 32+128 c", "flush 0+0", "mark " + strings.Repeat("x", 479), "w 48+1 e",
	}
	l, e := r.Log()
	if got := told(l.Entries); e != nil || !slices.Equal(got, want) {
		return errors.Join(err, e, fmt.Errorf("%q, want %q", got, want))
	}
	// Recording continues.
	before := l
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.BLKDISCARD, uintptr(rangeOf(0, 8192)))
	if errno != 0 {
		err = errors.Join(err, fmt.Errorf("discard: %w", errno))
	}
	err = errors.Join(err, unix.Fsync(fd))
	want = append(want, "discard 0+16", "flush 0+0")
	for range 2 {
		if l, e = r.Log(); e != nil || !slices.Equal(told(l.Entries), want) {
			return errors.Join(err, e, fmt.Errorf("%q, want %q", told(l.Entries), want))
		}
	}
	if len(before.Entries) != 10 {
		err = errors.Join(err, errors.New("the first log grew"))
	}
	for _, text := range []string{"", strings.Repeat("x", 480), "a\x00b", "dm-log-writes-end"} {
		if e := r.Mark(text); e == nil {
			err = errors.Join(err, fmt.Errorf("mark %q was taken", text))
		}
	}
	return errors.Join(err, sameAfter(make([]byte, 8<<20), l, under))
}

// sameAfter replays a log and compares the result with a disk.
func sameAfter(image []byte, l writelog.Log, d *blockdev.Disk) error {
	if err := d.Drop(); err != nil {
		return err
	}
	for _, e := range l.Entries {
		switch at := e.Sector * 512; {
		case e.IsWrite():
			copy(image[at:], e.Data)
		case e.Flags&writelog.Discard != 0:
			clear(image[at : at+e.Sectors*512])
		}
	}
	if !bytes.Equal(image, d.Bytes()) {
		return errors.New("the disk is not what its log says")
	}
	return nil
}

func tool(words ...string) error {
	_, err := command.Run(context.Background(), command.Options{}, words...)
	return err
}

// The whole life of a filesystem, logged in two parts, reproduces the disk.
func checkLogOfFilesystem() (err error) {
	under, err := blockdev.NewDisk(32 << 20)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, under.Close()) }()
	if err := tool("mkfs.ext4", "-q", "-F", under.Path()); err != nil {
		return err
	}
	base, err := under.Snapshot()
	if err != nil {
		return err
	}
	image := make([]byte, base.Size)
	for n, b := range base.Blocks {
		copy(image[n*4096:], b)
	}
	r, err := blockdev.Record(under, 64<<20)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if err := unix.Mount(r.Path(), "/mnt", "ext4", 0, "discard"); err != nil {
		return err
	}
	var l writelog.Log
	for i := range 80 {
		path := filepath.Join("/mnt", fmt.Sprintf("file%d", i))
		f, e := os.Create(path)
		if e != nil {
			return errors.Join(err, e)
		}
		_, e = f.Write(bytes.Repeat([]byte{byte(i)}, 2000*i))
		if i%10 == 0 {
			e = errors.Join(e, f.Sync())
		}
		err = errors.Join(err, e, f.Close(), r.Mark(fmt.Sprint("file ", i)))
		if i%3 == 0 {
			err = errors.Join(err, os.Remove(path))
		}
		if i == 40 {
			if l, e = r.Log(); e != nil {
				return errors.Join(err, e)
			}
		}
	}
	first := len(l.Entries)
	if err := errors.Join(err, unix.Unmount("/mnt", 0)); err != nil {
		return err
	}
	l, err = r.Log()
	if err != nil {
		return err
	}
	marks := 0
	for _, e := range l.Entries {
		if e.Flags&writelog.Mark != 0 {
			marks++
		}
	}
	if marks != 80 || first == 0 || len(l.Entries) <= first {
		err = fmt.Errorf("%d marks, %d of %d entries in the first part", marks, first, len(l.Entries))
	}
	return errors.Join(err, sameAfter(image, l, under), r.Close(), tool("e2fsck", "-fn", under.Path()))
}

// A log that lost entries is never returned, whenever that happened.
func checkShortLog() (err error) {
	for _, flush := range []bool{true, false} {
		for _, size := range []int{60 << 10, 1 << 20} {
			err = errors.Join(err, shortLog(size, flush))
		}
	}
	return err
}

func shortLog(size int, flush bool) (err error) {
	under, err := blockdev.NewDisk(8 << 20)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, under.Close()) }()
	r, err := blockdev.Record(under, 64<<10)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	fd, err := direct(r.Path())
	if err != nil {
		return err
	}
	defer unix.Close(fd) //nolint:errcheck // all was written
	for at := 0; at < size && err == nil; at += 4096 {
		_, err = unix.Pwrite(fd, aligned(4096, 'x'), int64(at))
	}
	if flush && err == nil {
		err = unix.Fsync(fd)
	}
	for range 2 {
		l, e := r.Log()
		if e == nil || !strings.Contains(e.Error(), "incomplete (most is 65536 bytes)") || len(l.Entries) > 0 {
			err = errors.Join(err, fmt.Errorf("%d bytes, flushed: %t: %d entries, error: %v", size, flush, len(l.Entries), e))
		}
	}
	return err
}
