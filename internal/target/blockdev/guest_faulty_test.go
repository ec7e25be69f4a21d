package blockdev_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"whichfs/internal/fault"
	"whichfs/internal/target/blockdev"
	"whichfs/internal/testing/wait"
)

// rangeOf is the argument of BLKDISCARD.
func rangeOf(start, length uint64) unsafe.Pointer { return unsafe.Pointer(&[2]uint64{start, length}) }

const faultySize = 2 << 20

// faulty makes a disk full of the letter o under a faulty device that splits requests into pieces;
// 0: one that does not.
func faulty(pieces int64) (*blockdev.Disk, *blockdev.Faulty, error) {
	under, err := blockdev.NewDisk(faultySize)
	if err != nil {
		return nil, nil, err
	}
	copy(under.Bytes(), bytes.Repeat([]byte("o"), faultySize))
	f, err := blockdev.NewFaulty(under, pieces, blockdev.Spot{})
	if err != nil {
		return nil, nil, errors.Join(err, under.Close())
	}
	return under, f, nil
}

// checkModes writes 64 KiB in each mode and compares the whole disk, byte by byte.
func checkModes() (err error) {
	const at, size = 1 << 20, 64 << 10
	for _, pieces := range []int64{0, 4096, 512} {
		under, f, e := faulty(pieces)
		if e != nil {
			return e
		}
		fd, e := direct(f.Path())
		if e != nil {
			return errors.Join(e, f.Close(), under.Close())
		}
		want := bytes.Repeat([]byte("o"), faultySize)
		step := int(pieces)
		if step == 0 {
			step = size
		}
		for i, mode := range []blockdev.Mode{blockdev.Good, blockdev.Corrupt, blockdev.Drop, blockdev.Fail, blockdev.Corrupt, blockdev.Good} {
			letter := byte('a' + i)
			e := f.Set(mode)
			_, writing := unix.Pwrite(fd, aligned(size, letter), at)
			syncing := unix.Fsync(fd)
			if mode != blockdev.Drop && mode != blockdev.Fail {
				copy(want[at:], bytes.Repeat([]byte{letter}, size))
			}
			if mode == blockdev.Corrupt {
				for n := 0; n < size; n += step {
					want[at+n] = 0
				}
			}
			if failed := mode == blockdev.Fail; errors.Is(writing, unix.EIO) != failed || errors.Is(syncing, unix.EIO) != failed {
				e = errors.Join(e, fmt.Errorf("writing gives %v, flushing %v", writing, syncing))
			}
			e = errors.Join(e, under.Drop())
			read := aligned(faultySize, 0)
			if _, x := unix.Pread(fd, read, 0); x != nil || !bytes.Equal(read, under.Bytes()) {
				e = errors.Join(e, fmt.Errorf("what is read (%w) is not what the disk holds", x))
			}
			if !bytes.Equal(under.Bytes(), want) {
				e = errors.Join(e, fmt.Errorf("%s", difference(under.Bytes(), want)))
			}
			if e != nil {
				err = errors.Join(err, fmt.Errorf("pieces of %d, step %d, %s: %w", pieces, i, mode, e))
			}
		}
		err = errors.Join(err, unix.Close(fd))
		if f.Set("sing") == nil {
			err = errors.Join(err, errors.New("an unknown mode was set"))
		}
		err = errors.Join(err, f.Close(), f.Close(), under.Close())
	}
	return err
}

func difference(got, want []byte) string {
	first, count := -1, 0
	for i := range got {
		if got[i] != want[i] {
			if count++; first < 0 {
				first = i
			}
		}
	}
	return fmt.Sprintf("%d bytes differ, the first at %d: %d instead of %d", count, first, got[first], want[first])
}

// checkModesInUse changes modes under a filesystem and a writer.
func checkModesInUse() (err error) {
	under, f, err := faulty(4096)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close(), under.Close()) }()
	if err := errors.Join(tool("mkfs.ext2", "-q", "-F", f.Path()), unix.Mount(f.Path(), "/mnt", "ext2", 0, "")); err != nil {
		return err
	}
	var stop atomic.Bool
	done := make(chan error)
	go func() {
		var last error
		for i := 0; !stop.Load(); i++ {
			file, err := os.Create("/mnt/file")
			if err != nil {
				continue // once a directory could not be written
			}
			_, _ = file.Write(make([]byte, 100_000))
			if err := file.Sync(); err != nil && !errors.Is(err, unix.EIO) {
				last = err
			}
			_ = file.Close()
		}
		done <- last
	}()
	for range 5 {
		for _, m := range []blockdev.Mode{blockdev.Drop, blockdev.Fail, blockdev.Good} {
			err = errors.Join(err, f.Set(m))
		}
	}
	stop.Store(true)
	return errors.Join(err, <-done, unix.Unmount("/mnt", 0))
}

// checkCloseInUse closes devices under a mounted filesystem.
func checkCloseInUse() (err error) {
	for _, pieces := range []int64{0, 4096} {
		under, f, e := faulty(pieces)
		if e != nil {
			return e
		}
		e = errors.Join(tool("mkfs.ext2", "-q", "-F", f.Path()), unix.Mount(f.Path(), "/mnt", "ext2", 0, ""))
		if e != nil {
			return errors.Join(e, f.Close(), under.Close())
		}
		file, e := os.Create("/mnt/file")
		err = errors.Join(err, e, f.Set(blockdev.Drop), f.Close(), under.Close())
		if left := loops("whichfs-"); len(left) > 0 {
			err = errors.Join(err, fmt.Errorf("the disk is still held: %s", left))
		}
		_, _ = file.Write([]byte("text"))
		if e := file.Sync(); !errors.Is(e, unix.EIO) {
			err = errors.Join(err, fmt.Errorf("syncing after the device was closed: %w", e))
		}
		err = errors.Join(err, file.Close(), unix.Unmount("/mnt", 0))
		// After its last user a work queue of the kernel removes the device.
		for begun := time.Now(); leftovers() != "" && time.Since(begun) < wait.Patience; {
			time.Sleep(time.Millisecond)
		}
	}
	return err
}

// checkHalfway makes devices that are impossible.
func checkHalfway() (err error) {
	under, err := blockdev.NewDisk(faultySize)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, under.Close()) }()
	for _, size := range []int64{-512, 100, faultySize * 2} {
		if _, e := blockdev.NewFaulty(under, size, blockdev.Spot{}); e == nil {
			err = errors.Join(err, fmt.Errorf("pieces of %d were taken", size))
		}
	}
	if _, e := blockdev.Record(under, -1); e == nil {
		err = errors.Join(err, errors.New("a log of -1 byte was taken"))
	}
	// Devices in use are unavailable.
	if err := errors.Join(tool("mkfs.ext2", "-q", "-F", under.Path()), unix.Mount(under.Path(), "/mnt", "ext2", 0, "")); err != nil {
		return err
	}
	if _, e := blockdev.Record(under, fault.BlockSize); !errors.Is(e, unix.EBUSY) {
		err = errors.Join(err, fmt.Errorf("recording a disk that is mounted: %w", e))
	}
	if _, e := blockdev.NewFaulty(under, 4096, blockdev.Spot{}); !errors.Is(e, unix.EBUSY) {
		err = errors.Join(err, fmt.Errorf("faults under a disk that is mounted: %w", e))
	}
	return errors.Join(err, unix.Unmount("/mnt", 0))
}
