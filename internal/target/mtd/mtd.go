// Package mtd accesses raw flash through the kernel's character devices,
// /dev/mtdN. Its model: a page is programmed once after its block is erased;
// blocks are erased; each page has spare bytes (OOB) that hold its error
// correction code or mark the block as bad. Requests and structures are those
// of include/uapi/mtd/mtd-abi.h, laid out alike on 32 and 64 bits.
package mtd

import (
	"fmt"
	"io"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Info is the geometry of a device, in bytes. OOBSize is per page.
type Info struct {
	NAND                         bool
	Size                         int64
	EraseSize, PageSize, OOBSize int
}

// Blocks is the number of erase blocks.
func (i Info) Blocks() int { return int(i.Size / int64(i.EraseSize)) }

// Pages is the number of pages per block.
func (i Info) Pages() int { return i.EraseSize / i.PageSize }

// Device is an open device, for use by one goroutine.
type Device struct {
	Info
	path string
	f    *os.File
}

// Open opens a device for reading or, with write, for reading and writing. The
// caller closes it; while it is open, its driver's module cannot be unloaded.
func Open(path string, write bool) (*Device, error) {
	mode := os.O_RDONLY
	if write {
		mode = os.O_RDWR
	}
	f, err := os.OpenFile(path, mode, 0)
	if err != nil {
		return nil, err
	}
	d := &Device{path: path, f: f}
	if err := d.geometry(); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("%s is not raw flash (MTD): %w", path, err)
	}
	return d, nil
}

// Fd is the device's descriptor, valid until Close.
func (d *Device) Fd() uintptr { return d.f.Fd() }

// Close closes the device.
func (d *Device) Close() error { return d.f.Close() }

func (d *Device) geometry() error {
	var u unix.MtdInfo
	if err := d.ioctl(unix.MEMGETINFO, unsafe.Pointer(&u)); err != nil {
		return err
	}
	if u.Type == unix.MTD_ABSENT || u.Erasesize == 0 || u.Writesize == 0 || u.Erasesize%u.Writesize != 0 {
		return fmt.Errorf("type %d with blocks of %d and pages of %d bytes", u.Type, u.Erasesize, u.Writesize)
	}
	// The kernel reports the size in 32 bits; seeking to the end yields
	// 64.
	size, err := d.f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	d.Info = Info{
		NAND: u.Type == unix.MTD_NANDFLASH || u.Type == unix.MTD_MLCNANDFLASH,
		Size: size, EraseSize: int(u.Erasesize), PageSize: int(u.Writesize), OOBSize: int(u.Oobsize),
	}
	return nil
}

// Bad reports whether a block is bad.
func (d *Device) Bad(block int) (bool, error) {
	at := int64(block) * int64(d.EraseSize)
	n, _, errno := unix.Syscall(unix.SYS_IOCTL, d.f.Fd(), unix.MEMGETBADBLOCK, uintptr(unsafe.Pointer(&at)))
	switch errno {
	case 0:
		return n != 0, nil
	case unix.EOPNOTSUPP: // flash that has no bad blocks (NOR)
		return false, nil
	}
	return false, d.fault(errno, "checking whether block %d is bad", block)
}

// MarkBad marks a block as bad permanently.
func (d *Device) MarkBad(block int) error {
	at := int64(block) * int64(d.EraseSize)
	return d.fault(d.ioctl(unix.MEMSETBADBLOCK, unsafe.Pointer(&at)), "marking block %d as bad", block)
}

// Erase erases a block; the kernel refuses bad ones.
func (d *Device) Erase(block int) error {
	span := unix.EraseInfo64{Start: uint64(block) * uint64(d.EraseSize), Length: uint64(d.EraseSize)}
	return d.fault(d.ioctl(unix.MEMERASE64, unsafe.Pointer(&span)), "erasing block %d", block)
}

// ReadAt implements io.ReaderAt. The driver corrects what it can;
// uncorrectable data is returned as read, without an error, and counted in
// Stats.
func (d *Device) ReadAt(b []byte, offset int64) (int, error) { return d.f.ReadAt(b, offset) }

// Stats counts events since the device's driver was loaded.
type Stats struct {
	Corrected uint32 // bits
	Failed    uint32 // uncorrectable reads
	Bad       uint32 // blocks
	Tables    uint32 // blocks that hold bad block tables
}

// Stats returns the device's counters.
func (d *Device) Stats() (Stats, error) {
	var s unix.MtdEccStats
	err := d.fault(d.ioctl(unix.ECCGETSTATS, unsafe.Pointer(&s)), "reading the error correction counters")
	return Stats{s.Corrected, s.Failed, s.Badblocks, s.Bbtblocks}, err
}

func (d *Device) ioctl(request uintptr, arg unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, d.f.Fd(), request, uintptr(arg)); errno != 0 {
		return errno
	}
	return nil
}

func (d *Device) fault(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %s: %w", d.path, fmt.Sprintf(format, args...), err)
}
