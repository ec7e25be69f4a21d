package mtd

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// readRequest is struct mtd_read_req of mtd-abi.h (Linux 6.1). Pointers are 64
// bits wide there on every machine.
type readRequest struct {
	unix.MtdWriteReq // the same fields in the same places
	uncorrectable    uint32
	corrected        uint32
	most             uint32
	_                uint32
}

// errLengths is a mistake of the caller.
var errLengths = errors.New("lengths are not whole pages within one block")

// ReadRaw reads the pages of data and oob, from page of block on, without
// error correction. Both hold the same number of whole pages.
func (d *Device) ReadRaw(block, page int, data, oob []byte) error {
	if err := d.fits(page, data, oob); err != nil {
		return err
	}
	r := readRequest{MtdWriteReq: d.request(block, page, data, oob)}
	err := d.ioctl(unix.MEMREAD, unsafe.Pointer(&r))
	runtime.KeepAlive(data)
	runtime.KeepAlive(oob)
	return d.fault(err, "reading block %d without error correction", block)
}

// WriteRaw programs pages with the given data and spare bytes; the driver
// computes none.
func (d *Device) WriteRaw(block, page int, data, oob []byte) error {
	if err := d.fits(page, data, oob); err != nil {
		return err
	}
	r := d.request(block, page, data, oob)
	err := d.ioctl(unix.MEMWRITE, unsafe.Pointer(&r))
	runtime.KeepAlive(data)
	runtime.KeepAlive(oob)
	return d.fault(err, "programming page %d of block %d without error correction", page, block)
}

func (d *Device) request(block, page int, data, oob []byte) unix.MtdWriteReq {
	return unix.MtdWriteReq{
		Start: uint64(block)*uint64(d.EraseSize) + uint64(page)*uint64(d.PageSize),
		Len:   uint64(len(data)), Ooblen: uint64(len(oob)),
		Data: uint64(uintptr(unsafe.Pointer(unsafe.SliceData(data)))),
		Oob:  uint64(uintptr(unsafe.Pointer(unsafe.SliceData(oob)))),
		Mode: unix.MTD_OPS_RAW,
	}
}

func (d *Device) fits(page int, data, oob []byte) error {
	n := len(data) / d.PageSize
	if n == 0 || len(data)%d.PageSize != 0 || len(oob) != n*d.OOBSize || page < 0 || page+n > d.Pages() {
		return fmt.Errorf("%s: %d and %d bytes at page %d: %w", d.path, len(data), len(oob), page, errLengths)
	}
	return nil
}

// Erased reports whether b contains only what erased flash reads as.
func Erased(b []byte) bool {
	for len(b) >= 8 {
		if *(*[8]byte)(b) != [8]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff} {
			return false
		}
		b = b[8:]
	}
	for _, x := range b {
		if x != 0xff {
			return false
		}
	}
	return true
}
