package blockdev

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"whichfs/internal/fault"
	"whichfs/internal/sys/owner"
)

// sector is what the kernel counts devices in, in bytes.
const sector = 512

// Disk is a block device in memory: a loop device over a file in memory that
// this process has mapped. It is used from one goroutine.
//
// It costs the memory of the blocks that were ever written or read through
// Bytes. It dies with the process, however that ends: the file has no name, and
// the loop device takes itself down when the last one closes it, which for this
// process the kernel does. A mount that outlives the process keeps it until it
// is unmounted.
type Disk struct {
	path  string
	label string // of the loop device, owner.Name
	size  int64
	file  int // the memory
	node  int // the device, open so that it is not taken down between two mounts
	data  []byte
	view  []byte // the device, mapped and never read, where kept needs that
}

// NewDisk makes a disk of size bytes, all zeros; a multiple of fault.BlockSize.
func NewDisk(size int64) (*Disk, error) {
	if size <= 0 || size%fault.BlockSize != 0 || int64(int(size)) != size {
		return nil, fmt.Errorf("a disk in memory cannot have %d bytes: it takes a multiple of %d", size, fault.BlockSize)
	}
	// The name is what losetup shows.
	name, err := owner.Name("disk")
	if err != nil {
		return nil, err
	}
	file, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("memory for a disk: %w", err)
	}
	d := &Disk{size: size, label: name, file: file, node: -1}
	if err := d.open(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func (d *Disk) open() error {
	if err := unix.Ftruncate(d.file, d.size); err != nil {
		return fmt.Errorf("memory for a disk of %d bytes: %w", d.size, err)
	}
	var err error
	if d.data, err = unix.Mmap(d.file, 0, int(d.size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return fmt.Errorf("mapping a disk of %d bytes: %w", d.size, err)
	}
	return d.attach()
}

// attach finds a free loop device and gives it the memory.
func (d *Disk) attach() error {
	control, err := unix.Open("/dev/loop-control", unix.O_RDWR|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENXIO):
		return noLoop()
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return fmt.Errorf("no permission to make a loop device: run as root (sudo)")
	case err != nil:
		return fmt.Errorf("/dev/loop-control: %w", err)
	}
	defer unix.Close(control) //nolint:errcheck // nothing was written
	var last error
	for range 50 { // another program may be faster each time
		// If none is free the kernel makes another one, and its node with it.
		n, err := unix.IoctlRetInt(control, unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return fmt.Errorf("no free loop device: %w", err)
		}
		d.path = fmt.Sprintf("/dev/loop%d", n)
		if last = d.configure(); last == nil {
			return nil
		}
		if errors.Is(last, unix.ENOENT) {
			return fmt.Errorf("%s is missing, so this /dev does not follow the kernel's devices; make it: mknod %s b 7 %d", d.path, d.path, n)
		}
		if !errors.Is(last, unix.EBUSY) {
			break
		}
	}
	return fmt.Errorf("%s: %w", d.path, last)
}

// configure gives the loop device its file and keeps it open for reading alone:
// some kernels refuse to mount what somebody has open for writing
// (CONFIG_BLK_DEV_WRITE_MOUNTED).
func (d *Disk) configure() error {
	writer, err := unix.Open(d.path, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(writer) //nolint:errcheck // nothing was written
	config := unix.LoopConfig{Fd: uint32(d.file)}
	config.Info.Flags = unix.LO_FLAGS_AUTOCLEAR
	copy(config.Info.File_name[:len(config.Info.File_name)-1], d.label)
	err = unix.IoctlLoopConfigure(writer, &config)
	if errors.Is(err, unix.ENOTTY) || errors.Is(err, unix.EINVAL) {
		err = configureOld(writer, d.file, config.Info) // kernels before 5.8
	}
	if err != nil {
		return err
	}
	if d.node, err = unix.Open(d.path, unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		d.node = -1
	}
	return err
}

func configureOld(node, file int, info unix.LoopInfo64) error {
	if err := unix.IoctlSetInt(node, unix.LOOP_SET_FD, file); err != nil {
		return err
	}
	if err := unix.IoctlLoopSetStatus64(node, &info); err != nil {
		return errors.Join(err, unix.IoctlSetInt(node, unix.LOOP_CLR_FD, 0))
	}
	return nil
}

// Path is the device's: "/dev/loop3".
func (d *Disk) Path() string { return d.path }

// Name is the kernel's: "loop3".
func (d *Disk) Name() string { return filepath.Base(d.path) }

// Size in bytes.
func (d *Disk) Size() int64 { return d.size }

// Bytes are the contents, shared with the device. While nobody has the device
// open, what is written here is what the next who opens it sees, after a Drop.
// Reading a block that was never written makes it take memory.
func (d *Disk) Bytes() []byte { return d.data }

// dropLimit is how long the kernel may keep what somebody is just reading; tests
// shorten it.
var dropLimit = 10 * time.Second

// Drop brings what was written to the device into Bytes and has the kernel forget
// all that it had kept of the contents. The kernel keeps blocks of a device while
// anyone has it open, and the disk itself always has: Drop comes after the last
// unmount or tool and before contents are changed through Bytes. Restore and Set
// do it by themselves.
//
// BLKFLSBUF passes over a block that is just being read, ahead of a mount or by
// a program that looks at all devices, and says nothing about it
// (invalidate_mapping_pages in mm/truncate.c). It would come back as the contents
// of a later state, so Drop repeats until nothing is left.
func (d *Disk) Drop() error {
	for begun := time.Now(); ; time.Sleep(100 * time.Microsecond) {
		if err := d.flush(); err != nil {
			return err
		}
		kept, err := d.kept()
		if err != nil {
			return fmt.Errorf("what the kernel keeps of %s: %w", d.path, err)
		}
		if kept == 0 {
			return nil
		}
		if time.Since(begun) > dropLimit {
			return fmt.Errorf("the kernel keeps %d pages of %s, which is mounted, or which another program is reading or has mapped; find it with lsof %[2]s", kept, d.path)
		}
	}
}

// flush brings what was written to the device into Bytes.
func (d *Disk) flush() error {
	if err := unix.IoctlSetInt(d.node, unix.BLKFLSBUF, 0); err != nil {
		return fmt.Errorf("writing back what the kernel keeps of %s: %w", d.path, err)
	}
	return nil
}

// kept counts the pages of the device that the kernel has in memory.
func (d *Disk) kept() (pages uint64, err error) {
	var stat unix.Cachestat_t
	err = unix.Cachestat(uint(d.node), &unix.CachestatRange{}, &stat, 0)
	if !errors.Is(err, unix.ENOSYS) { // which came with Linux 6.5
		return stat.Cache, err
	}
	if d.view == nil {
		if d.view, err = unix.Mmap(d.node, 0, int(d.size), unix.PROT_READ, unix.MAP_SHARED); err != nil {
			return 0, err
		}
	}
	in := make([]byte, (d.size+int64(os.Getpagesize())-1)/int64(os.Getpagesize()))
	if _, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&d.view[0])), uintptr(len(d.view)), uintptr(unsafe.Pointer(&in[0]))); errno != 0 {
		return 0, errno
	}
	for _, page := range in {
		pages += uint64(page & 1)
	}
	return pages, nil
}

// Close removes the device. One that is still in use goes when it no longer is.
// It may be called again.
func (d *Disk) Close() error {
	var errs []error
	if d.data != nil {
		errs = append(errs, unix.Munmap(d.data))
	}
	if d.view != nil {
		errs = append(errs, unix.Munmap(d.view))
	}
	for _, fd := range []int{d.node, d.file} {
		if fd >= 0 {
			errs = append(errs, unix.Close(fd))
		}
	}
	d.data, d.view, d.node, d.file = nil, nil, -1, -1
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("closing %s: %w", d.path, err)
	}
	return nil
}
