package blockdev

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"whichfs/internal/fault"
	"whichfs/internal/sys/owner"
)

// sector is the kernel's unit for device sizes, in bytes.
const sector = 512

// Disk is a block device in memory: a loop device on a file in memory that this process has mapped.
// It is used from one goroutine.
//
// It takes memory for blocks that were ever written or read through Bytes. It disappears with the
// process, however that ends: the file has no name, and the loop device detaches itself on the last
// close, which the kernel does for this process. A mount that outlives the process keeps it until
// it is unmounted.
type Disk struct {
	path  string
	label string // of the loop device, owner.Name
	size  int64
	file  int // the memory
	node  int // the device, open so that it is not detached between two mounts
	data  []byte
	view  []byte // the device, mapped and never read, where kept needs that
	pages []byte // for mincore(2), one for each page
	// swaps reports whether the memory may be in swap space, where mincore(2) does not see it.
	swaps func() bool
	// counts: this kernel counts cached pages, by cachestat(2) of Linux 6.5.
	counts bool
}

// NewDisk makes a disk of size bytes, all zeros; a multiple of fault.BlockSize.
func NewDisk(size int64) (*Disk, error) {
	if size <= 0 || size%fault.BlockSize != 0 || int64(int(size)) != size {
		return nil, fmt.Errorf("a disk in memory cannot have %d bytes: the size must be a multiple of %d", size, fault.BlockSize)
	}
	// losetup shows this name.
	name, err := owner.Name("disk")
	if err != nil {
		return nil, err
	}
	file, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("memory for a disk: %w", err)
	}
	d := &Disk{size: size, label: name, file: file, node: -1, swaps: swapSpace, counts: true}
	d.pages = make([]byte, (size+int64(os.Getpagesize())-1)/int64(os.Getpagesize()))
	if _, err := os.Stat("/proc/swaps"); errors.Is(err, fs.ErrNotExist) {
		d.swaps = func() bool { return false } // this kernel never swaps
	}
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

// attach finds a free loop device and attaches the memory to it.
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
		// If none is free, the kernel makes another one with its node.
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

// configure attaches the file to the loop device and keeps the device open for reading only: some
// kernels refuse to mount a device that is open for writing (CONFIG_BLK_DEV_WRITE_MOUNTED).
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

// Path is the path of the device: "/dev/loop3".
func (d *Disk) Path() string { return d.path }

// Name is the kernel's name: "loop3".
func (d *Disk) Name() string { return filepath.Base(d.path) }

// Size in bytes.
func (d *Disk) Size() int64 { return d.size }

// Resize gives the disk another size, a multiple of fault.BlockSize, also while it is mounted. What
// lies beyond a smaller one is lost, and what a larger one adds is zeros. Slices of Bytes are no
// longer valid.
func (d *Disk) Resize(size int64) error {
	if size <= 0 || size%fault.BlockSize != 0 {
		return fmt.Errorf("a disk in memory cannot have %d bytes: the size must be a multiple of %d", size, fault.BlockSize)
	}
	if d.view != nil {
		if err := unix.Munmap(d.view); err != nil {
			return err
		}
		d.view = nil
	}
	if err := unix.Munmap(d.data); err != nil {
		return err
	}
	d.data = nil
	if err := unix.Ftruncate(d.file, size); err != nil {
		return fmt.Errorf("memory for a disk of %d bytes: %w", size, err)
	}
	var err error
	if d.data, err = unix.Mmap(d.file, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return fmt.Errorf("mapping a disk of %d bytes: %w", size, err)
	}
	d.size = size
	d.pages = make([]byte, (size+int64(os.Getpagesize())-1)/int64(os.Getpagesize()))
	if err := unix.IoctlSetInt(d.node, unix.LOOP_SET_CAPACITY, 0); err != nil {
		return fmt.Errorf("%s with %d bytes: %w", d.path, size, err)
	}
	return nil
}

// Bytes are the contents, shared with the device. While the device has no users, data written here
// is visible to the next one that opens it, after a Drop. Reading a block that was never written
// allocates its memory.
func (d *Disk) Bytes() []byte { return d.data }

// dropLimit is how long the kernel may keep pages that are being read; tests shorten it.
var dropLimit = 10 * time.Second

// Drop writes back the device's dirty pages, so that they are in Bytes, and drops the kernel's
// cache of the contents. The kernel caches blocks of a device while it is open, and the disk itself
// always keeps it open: Drop comes after the last unmount or tool and before contents are changed
// through Bytes. Restore and Set call it themselves.
//
// BLKFLSBUF silently skips a block that is being read, ahead of a mount or by a program that scans
// all devices (invalidate_mapping_pages in mm/truncate.c). That block would reappear in the
// contents of a later state, so Drop repeats until nothing is cached.
func (d *Disk) Drop() error {
	if err := d.flush(); err != nil {
		return err
	}
	return d.dropped()
}

// dropped drops what the kernel still has in its cache, mostly nothing.
func (d *Disk) dropped() error {
	for begun := (time.Time{}); ; time.Sleep(100 * time.Microsecond) {
		kept, err := d.kept()
		if err != nil {
			return fmt.Errorf("pages of %s in the kernel's cache: %w", d.path, err)
		}
		if kept == 0 {
			return nil
		}
		if begun.IsZero() {
			begun = time.Now()
		} else if time.Since(begun) > dropLimit {
			return fmt.Errorf("the kernel keeps %d pages of %s cached: it is mounted, or another program is reading or has mapped it; find the user with lsof %[2]s", kept, d.path)
		}
		if err := d.flush(); err != nil {
			return err
		}
	}
}

// flush writes back the device's dirty pages, so that they are in Bytes.
func (d *Disk) flush() error {
	if err := unix.IoctlSetInt(d.node, unix.BLKFLSBUF, 0); err != nil {
		return fmt.Errorf("writing back the dirty pages of %s: %w", d.path, err)
	}
	return nil
}

// swapSpace reports whether the machine has swap space now.
func swapSpace() bool {
	var info unix.Sysinfo_t
	return unix.Sysinfo(&info) != nil || info.Totalswap > 0
}

// kept counts the device's pages in the kernel's cache.
func (d *Disk) kept() (pages uint64, err error) {
	if d.counts {
		var stat unix.Cachestat_t
		err = unix.Cachestat(uint(d.node), &unix.CachestatRange{}, &stat, 0)
		if !errors.Is(err, unix.ENOSYS) {
			return stat.Cache, err
		}
		d.counts = false
	}
	if d.view == nil {
		if d.view, err = unix.Mmap(d.node, 0, int(d.size), unix.PROT_READ, unix.MAP_SHARED); err != nil {
			return 0, err
		}
	}
	if err := d.inCore(d.view); err != nil {
		return 0, err
	}
	for _, page := range d.pages {
		pages += uint64(page & 1)
	}
	return pages, nil
}

// inCore fills pages: bit 0 says whether a page of a mapping of the whole disk is in the kernel's
// cache.
func (d *Disk) inCore(mapping []byte) error {
	_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&mapping[0])), uintptr(len(mapping)), uintptr(unsafe.Pointer(&d.pages[0])))
	if errno != 0 {
		return errno
	}
	return nil
}

// Close removes the device, or lets it disappear once it is no longer in use. It may be called
// again.
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
