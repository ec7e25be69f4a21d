// Package writelog reads and writes logs of the requests sent to a block device, in
// the format of the kernel's dm-log-writes target, which QEMU's blklogwrites driver
// writes too (drivers/md/dm-log-writes.c, block/blklogwrites.c; all numbers little
// endian):
//
//	superblock, one sector: magic 0x6a736677736872, version 1, number of
//	  entries (3 × 64 bit), sector size in bytes (32 bit)
//	each entry, one sector: sector, number of sectors, flags, length of the
//	  text of a mark (4 × 64 bit); the text of a mark follows in the same
//	  sector
//	then the data of the entry, in whole sectors; discards, marks and flushes
//	  have none
//
// All sectors have the size that the superblock names: the kernel uses the logical
// block size of the underlying device, QEMU the option log-sector-size. This
// package writes sectors of SectorSize.
//
// The kernel logs writes at the flush that makes them durable, and FUA writes and
// marks at once. So a mark may precede writes that had completed before it, but
// never writes that had been flushed before it; and an FUA write may precede older
// writes. The order between two flushes is not reliable, except that of FUA writes
// and marks among themselves. QEMU logs all requests in the order of completion and
// has no marks and no FUA: a flush follows the write instead. A write that
// completed while a flush was in progress precedes that flush in the log, although
// it need not be durable.
//
// The kernel updates the number of entries at marks and FUA writes, and ends a log
// with the mark endMark when the device is removed; QEMU updates it at flushes. So
// a log can contain entries that the superblock does not count, see Log.Uncounted.
package writelog

import "math"

// SectorSize is the unit of Entry.Sector and Entry.Sectors, in bytes, whatever the
// sector size of the log file was.
const SectorSize = 512

// endMark is the text of the mark with which the kernel ends a log.
const endMark = "dm-log-writes-end"

// maxMark is the maximum length of a mark's text in a log with sectors of
// SectorSize, in bytes.
const maxMark = SectorSize - headerSize

// maxByte is the first byte of a device, counted from 0, that a log cannot address.
const maxByte = math.MaxInt64 / 2

// Flags of an entry, as in the kernel.
type Flags uint64

// The kinds of entry. A write has neither Discard nor Mark; a flush without data is
// Flush alone with Sectors 0. With Flush and data, the flush comes first: it does
// not make the entry's own data durable.
const (
	Flush Flags = 1 << iota // all writes that completed before it are durable
	FUA                     // its own data is durable when it completes
	Discard
	Mark     // Data is the text
	Metadata // set by the filesystem
	allFlags = Flush | FUA | Discard | Mark | Metadata
)

// Entry is one request, or a mark between requests.
type Entry struct {
	Sector  uint64 `json:"sector"`
	Sectors uint64 `json:"sectors"`
	Flags   Flags  `json:"flags"`
	// Data is the data of a write, Sectors*SectorSize bytes, or the text of a mark.
	Data []byte `json:"data,omitempty"`
}

// IsWrite reports whether the entry writes Data to the device.
func (e Entry) IsWrite() bool { return e.Flags&(Discard|Mark) == 0 && e.Sectors > 0 }

// IsDiscard reports whether the entry discards sectors.
func (e Entry) IsDiscard() bool { return e.Flags&(Discard|Mark) == Discard && e.Sectors > 0 }

// Log is the requests sent to a device, in order.
type Log struct {
	Entries []Entry `json:"entries"`
	// Uncounted is how many entries at the end were found beyond those that the
	// superblock counts. The recorder died before it could count them. In a log of
	// the kernel their data may be incomplete, and if the log device was not empty
	// before, they may belong to an earlier log.
	Uncounted int `json:"-"`
}

// reason says why an entry is invalid; "" if it is valid.
func (e Entry) reason() string {
	switch {
	case e.Flags&^allFlags != 0:
		return "unknown flags"
	case e.Flags&Mark != 0 && e.Sectors != 0:
		return "a mark that has sectors"
	case e.Flags&Mark == 0 && e.Sectors == 0 && e.Flags&Flush == 0:
		return "an entry that is neither a write nor a flush nor a mark"
	case e.Sectors > maxByte/SectorSize || e.Sector > maxByte/SectorSize-e.Sectors:
		return "sectors that no device has"
	}
	return ""
}
