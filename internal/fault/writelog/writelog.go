// Package writelog reads and writes logs of what a block device was sent, in the
// format of the kernel's dm-log-writes target, which QEMU's blklogwrites driver
// writes too (drivers/md/dm-log-writes.c; all numbers little endian):
//
//	superblock, one sector: magic 0x6a736677736872, version 1, number of
//	  entries (3 × 64 bit), sector size (32 bit)
//	each entry, one sector: sector, number of sectors (in units of 512 bytes by
//	  the kernel, of the sector size by QEMU: see Read), flags, length of the
//	  data (4 × 64 bit); marks have their text in the same sector behind it
//	then the data of the entry, in whole sectors; discards have none
//
// Entries stand in the order in which the device completed them, a flush after
// the writes that it made durable.
package writelog

// SectorSize is the unit of Entry.Sector and Entry.Sectors, in bytes, whatever
// the log's own sector size was.
const SectorSize = 512

// Flags of an entry, as the kernel has them.
type Flags uint64

// What an entry is. A write has none of Discard and Mark; a flush without data
// is Flush alone with Sectors 0.
const (
	Flush Flags = 1 << iota // all writes that had completed before are durable
	FUA                     // its own data is durable when it completes
	Discard
	Mark     // Data is the text
	Metadata // the filesystem called it so
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

// Log is what a device was sent, in order.
type Log struct {
	Entries []Entry `json:"entries"`
}
