// Package writelog reads and writes logs of what a block device was sent, in the
// format of the kernel's dm-log-writes target, which QEMU's blklogwrites driver
// writes too (drivers/md/dm-log-writes.c, block/blklogwrites.c; all numbers
// little endian):
//
//	superblock, one sector: magic 0x6a736677736872, version 1, number of
//	  entries (3 × 64 bit), sector size in bytes (32 bit)
//	each entry, one sector: sector, number of sectors, flags, length of the
//	  text of a mark (4 × 64 bit); marks have their text in the same sector
//	  behind it
//	then the data of the entry, in whole sectors; discards, marks and flushes
//	  have none
//
// All sectors are of the size that the superblock names: the kernel takes the
// logical block size of the device below, QEMU the option log-sector-size. Here
// they are always of SectorSize.
//
// The kernel logs writes at the flush that makes them durable, and FUA writes
// and marks at once. So a mark may stand before writes that had completed before
// it, never before ones that had been flushed before it; and an FUA write before
// older ones. What is between two flushes has no order that may be relied on,
// apart from FUA writes and marks among themselves. QEMU logs everything in the
// order of completion, knows no marks, and no FUA: the flush that takes its place
// follows. A write that completed while a flush was under way stands before it
// there, although it need not be durable.
//
// The kernel brings the number of entries up to date at marks and FUA writes,
// and ends a log with the mark endMark when the device is removed; QEMU does so
// at flushes. So there can be entries that the superblock does not count, see
// Log.Uncounted.
package writelog

import "math"

// SectorSize is the unit of Entry.Sector and Entry.Sectors, in bytes, whatever
// the log's own sector size was.
const SectorSize = 512

// endMark is the text of the mark that the kernel ends a log with.
const endMark = "dm-log-writes-end"

// maxMark is how long the text of a mark may be in a log with sectors of
// SectorSize, in bytes.
const maxMark = SectorSize - headerSize

// maxByte is the first byte of a device, counted from 0, that a log cannot
// speak of.
const maxByte = math.MaxInt64 / 2

// Flags of an entry, as the kernel has them.
type Flags uint64

// What an entry is. A write has none of Discard and Mark; a flush without data
// is Flush alone with Sectors 0. With Flush and data, the flush comes first: it
// does not make the entry's own data durable.
const (
	Flush Flags = 1 << iota // all writes that had completed before are durable
	FUA                     // its own data is durable when it completes
	Discard
	Mark     // Data is the text
	Metadata // the filesystem called it so
	allFlags = Flush | FUA | Discard | Mark | Metadata
)

// Entry is one request, or a mark between requests.
type Entry struct {
	Sector  uint64 `json:"sector"`
	Sectors uint64 `json:"sectors"`
	Flags   Flags  `json:"flags"`
	// Data of a write, Sectors*SectorSize bytes; the text of a mark.
	Data []byte `json:"data,omitempty"`
}

// IsWrite reports whether the entry changes what the device holds by Data.
func (e Entry) IsWrite() bool { return e.Flags&(Discard|Mark) == 0 && e.Sectors > 0 }

// IsDiscard reports whether the entry tells the device to forget something.
func (e Entry) IsDiscard() bool { return e.Flags&(Discard|Mark) == Discard && e.Sectors > 0 }

// Log is what a device was sent, in order.
type Log struct {
	Entries []Entry `json:"entries"`
	// Uncounted are how many of the last entries were found behind those that the
	// superblock counted. The recorder died before it could count them; the data
	// of the kernel's may not have been written completely, and on a log device
	// that was not emptied before, they may be of an earlier log.
	Uncounted int `json:"-"`
}

// reason says what an entry cannot be; empty: nothing.
func (e Entry) reason() string {
	switch {
	case e.Flags&^allFlags != 0:
		return "flags that are not known"
	case e.Flags&Mark != 0 && e.Sectors != 0:
		return "a mark that has sectors"
	case e.Flags&Mark == 0 && e.Sectors == 0 && e.Flags&Flush == 0:
		return "an entry that is neither a write nor a flush nor a mark"
	case e.Sectors > maxByte/SectorSize || e.Sector > maxByte/SectorSize-e.Sectors:
		return "sectors that no device has"
	}
	return ""
}
