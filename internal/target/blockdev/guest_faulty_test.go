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
	"whichfs/internal/target/workload"
	"whichfs/internal/testing/wait"
)

// rangeOf is the argument of BLKDISCARD.
func rangeOf(start, length uint64) unsafe.Pointer { return unsafe.Pointer(&[2]uint64{start, length}) }

const faultySize = 2 << 20

// faulty makes a disk full of the letter o under a faulty device.
func faulty() (*blockdev.Disk, *blockdev.Faulty, error) {
	under, err := blockdev.NewDisk(faultySize)
	if err != nil {
		return nil, nil, err
	}
	copy(under.Bytes(), bytes.Repeat([]byte("o"), faultySize))
	f, err := blockdev.NewFaulty(under, blockdev.Spot{})
	if err != nil {
		return nil, nil, errors.Join(err, under.Close())
	}
	return under, f, nil
}

// checkModes writes 64 KiB in each mode and compares the whole disk, byte by byte.
func checkModes() (err error) {
	const at, size = 1 << 20, 64 << 10
	under, f, e := faulty()
	if e != nil {
		return e
	}
	fd, e := direct(f.Path())
	if e != nil {
		return errors.Join(e, f.Close(), under.Close())
	}
	want := bytes.Repeat([]byte("o"), faultySize)
	for i, mode := range []blockdev.Mode{blockdev.Good, blockdev.Corrupt, blockdev.Drop, blockdev.Fail, blockdev.Corrupt, blockdev.Good} {
		letter := byte('a' + i)
		e := f.Set(mode)
		_, writing := unix.Pwrite(fd, aligned(size, letter), at)
		syncing := unix.Fsync(fd)
		if mode != blockdev.Drop && mode != blockdev.Fail {
			copy(want[at:], bytes.Repeat([]byte{letter}, size))
		}
		if mode == blockdev.Corrupt {
			want[at] = 0
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
			err = errors.Join(err, fmt.Errorf("step %d, %s: %w", i, mode, e))
		}
	}
	err = errors.Join(err, unix.Close(fd))
	if f.Set("sing") == nil {
		err = errors.Join(err, errors.New("an unknown mode was set"))
	}
	err = errors.Join(err, f.Close(), f.Close(), under.Close())
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
	under, f, err := faulty()
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
	under, f, e := faulty()
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
	return err
}

// checkHalfway makes devices that are impossible.
func checkHalfway() (err error) {
	under, err := blockdev.NewDisk(faultySize)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, under.Close()) }()
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
	if _, e := blockdev.NewFaulty(under, blockdev.Spot{}); !errors.Is(e, unix.EBUSY) {
		err = errors.Join(err, fmt.Errorf("faults under a disk that is mounted: %w", e))
	}
	return errors.Join(err, unix.Unmount("/mnt", 0))
}

// checkSpots corrupts other bytes than the first, and reads where the kernel can.
func checkSpots() (err error) {
	const at, size = 1 << 20, 64 << 10
	spot := blockdev.Spot{Offset: 700, Value: 0xff}
	under, err := blockdev.NewDisk(faultySize)
	if err != nil {
		return err
	}
	f, err := blockdev.NewFaulty(under, spot)
	if err != nil {
		return errors.Join(err, under.Close())
	}
	defer func() { err = errors.Join(err, f.Close(), under.Close()) }()
	fd, err := direct(f.Path())
	if err != nil {
		return err
	}
	defer unix.Close(fd) //nolint:errcheck // everything was synced
	err = f.Set(blockdev.Corrupt)
	_, writing := unix.Pwrite(fd, aligned(size, 'a'), at)
	want := make([]byte, faultySize)
	copy(want[at:], bytes.Repeat([]byte("a"), size))
	want[at+spot.Offset] = spot.Value
	err = errors.Join(err, writing, unix.Fsync(fd), under.Drop())
	if !bytes.Equal(under.Bytes(), want) {
		err = errors.Join(err, fmt.Errorf("written: %s", difference(under.Bytes(), want)))
	}
	// Either way the device must do what CorruptsReads says.
	cannot := blockdev.CorruptsReads()
	err = errors.Join(err, f.Set(blockdev.CorruptReads))
	read := aligned(size, 1)
	if _, x := unix.Pread(fd, read, 0); x != nil {
		err = errors.Join(err, x)
	}
	if corrupted := read[spot.Offset] == spot.Value && read[0] == 0; corrupted != (cannot == nil) {
		err = errors.Join(err, fmt.Errorf("reads are corrupted: %v, but %v", corrupted, cannot))
	}
	return err
}

// checkSpoilt spoils a disk while it is read, and heals all of it but what was written meanwhile.
func checkSpoilt() (err error) {
	under, err := blockdev.NewDisk(faultySize)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, under.Close()) }()
	copy(under.Bytes(), bytes.Repeat([]byte("o"), 64<<10))
	want := bytes.Clone(under.Bytes())
	heal, err := under.Spoil(2048, blockdev.Spot{Offset: 5, Value: 'x'})
	if err != nil {
		return err
	}
	fd, err := direct(under.Path())
	if err != nil {
		return err
	}
	read := aligned(8192, 0)
	if _, x := unix.Pread(fd, read, 0); x != nil || read[5] != 'x' || read[2048+5] != 'x' || read[4] != 'o' || bytes.Count(read, []byte("x")) != 4 {
		err = errors.Join(err, fmt.Errorf("%d of the bytes are corrupted (%w)", bytes.Count(read, []byte("x")), x))
	}
	copy(read[2048:], "changed") // what follows was read wrongly and stays so
	read[2048+5] = 'x'
	_, x := unix.Pwrite(fd, read[:4096], 0)
	err = errors.Join(err, x, unix.Fsync(fd), unix.Close(fd), heal())
	copy(want[2048:], "changed")
	want[2048+5] = 'x'
	if !bytes.Equal(under.Bytes(), want) {
		err = errors.Join(err, fmt.Errorf("healed: %s", difference(under.Bytes(), want)))
	}
	if under.Bytes()[100<<10] != 0 {
		err = errors.Join(err, errors.New("a block of zeros was spoilt"))
	}
	return err
}

// checkUnreadable reads bad sectors, and writes one of them.
func checkUnreadable() (err error) {
	modules, err := ownModules()
	if err != nil {
		return err
	}
	if err := workload.LoadFor(modules, blockdev.UnreadableNeeds); err != nil {
		return err
	}
	under, err := blockdev.NewDisk(faultySize)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, under.Close()) }()
	f, err := blockdev.NewUnreadable(under, []int64{8, 24})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	fd, err := direct(f.Path())
	if err != nil {
		return err
	}
	buffer := aligned(4096, 'a')
	for _, step := range []struct {
		at    int64
		write bool
		want  error
	}{{0, false, nil}, {4096, false, unix.EIO}, {8192, false, nil}, {4096, true, nil}, {4096, false, nil}, {12288, false, unix.EIO}} {
		var got error
		if step.write {
			_, got = unix.Pwrite(fd, buffer, step.at)
		} else {
			_, got = unix.Pread(fd, buffer, step.at)
		}
		if !errors.Is(got, step.want) {
			err = errors.Join(err, fmt.Errorf("at %d, write %v: %w, want %w", step.at, step.write, got, step.want))
		}
	}
	return errors.Join(err, unix.Close(fd))
}
