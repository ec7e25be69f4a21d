package writelog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const (
	magic      = 0x6a736677736872
	version    = 1
	superSize  = 28 // of the superblock, in bytes; the rest of its sector is zeros
	headerSize = 32 // of an entry
	// maxSector is the largest sector size of a log, in bytes (QEMU allows less
	// than 16 MiB).
	maxSector = 8 << 20
)

// Damage says where a log becomes invalid. The entries before are good.
type Damage struct {
	Entry  int   // index of the entry, from 0; -1: the superblock
	Offset int64 // in the file, in bytes
	Reason string
}

func (d *Damage) Error() string {
	if d.Entry < 0 {
		return "not a log of writes, or a damaged one: " + d.Reason
	}
	return fmt.Sprintf("the log is damaged at entry %d (byte %d): %s", d.Entry, d.Offset, d.Reason)
}

// Read reads a log of size bytes. With a *Damage it also returns the entries before
// it. Entries that the superblock does not count are read as long as they are
// valid, see Log.Uncounted.
func Read(r io.ReaderAt, size int64) (Log, error) {
	d := decoder{r: r, size: size}
	counted, err := d.superblock()
	if err != nil {
		return Log{}, err
	}
	l := Log{}
	for uint64(len(l.Entries)) < counted {
		e, err := d.entry(len(l.Entries))
		if err != nil {
			var damage *Damage
			if errors.As(err, &damage) {
				damage.Reason += fmt.Sprintf("; the superblock counts %d entries", counted)
			}
			return l, err
		}
		l.Entries = append(l.Entries, e)
	}
	if ended(l.Entries) {
		return l, nil
	}
	// An empty sector is the normal end of a log on a device that was empty before.
	d.strict = true
	for d.at < d.size {
		e, err := d.entry(len(l.Entries))
		var damage *Damage
		if errors.As(err, &damage) {
			return l, nil
		}
		if err != nil {
			return l, err
		}
		l.Entries, l.Uncounted = append(l.Entries, e), l.Uncounted+1
		if ended(l.Entries) {
			return l, nil
		}
	}
	return l, nil
}

// ended reports whether the kernel's end mark has been read.
func ended(entries []Entry) bool {
	if len(entries) == 0 {
		return false
	}
	last := entries[len(entries)-1]
	return last.Flags&Mark != 0 && string(last.Data) == endMark
}

// decoder reads the entries of a log.
type decoder struct {
	r      io.ReaderAt
	size   int64 // of the log, in bytes
	at     int64 // offset of the next entry, in bytes
	sector int64 // size of the log's sectors, in bytes
	strict bool  // the unused rest of an entry's sector must be zero
}

// superblock returns the number of entries.
func (d *decoder) superblock() (uint64, error) {
	bad := func(reason string, values ...any) (uint64, error) {
		return 0, &Damage{Entry: -1, Reason: fmt.Sprintf(reason, values...)}
	}
	if d.size < SectorSize {
		return bad("it has %d bytes, which is less than a superblock", d.size)
	}
	b, err := d.read(0, superSize)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return bad("it ends in the superblock")
	}
	if err != nil {
		return 0, fmt.Errorf("the log's superblock cannot be read: %w", err)
	}
	if bytes.Count(b, []byte{0}) == len(b) {
		return bad("the superblock is empty: nothing was recorded, or the recorder ended before its first flush or mark")
	}
	if m := binary.LittleEndian.Uint64(b); m != magic {
		return bad("the magic number is %#x and should be %#x", m, uint64(magic))
	}
	if v := binary.LittleEndian.Uint64(b[8:]); v != version {
		return bad("the version is %d, and only %d is known", v, version)
	}
	s := int64(binary.LittleEndian.Uint32(b[24:]))
	if s < SectorSize || s > maxSector || s&(s-1) != 0 {
		return bad("the sector size is %d, which is not a power of two from %d to %d", s, SectorSize, maxSector)
	}
	d.sector, d.at = s, s
	return binary.LittleEndian.Uint64(b[16:]), nil
}

// entry reads the next entry; index is its number, for errors.
func (d *decoder) entry(index int) (Entry, error) {
	bad := func(reason string, values ...any) (Entry, error) {
		return Entry{}, &Damage{Entry: index, Offset: d.at, Reason: fmt.Sprintf(reason, values...)}
	}
	if d.size-d.at < d.sector {
		return bad("the file ends")
	}
	head, err := d.read(d.at, d.sector)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return bad("the file ends in the entry")
	}
	if err != nil {
		return Entry{}, fmt.Errorf("entry %d of the log (byte %d) cannot be read: %w", index, d.at, err)
	}
	number := func(i int) uint64 { return binary.LittleEndian.Uint64(head[8*i:]) }
	e := Entry{Sector: number(0), Sectors: number(1), Flags: Flags(number(2))}
	scale := uint64(d.sector / SectorSize)
	if e.Sector > maxByte/scale || e.Sectors > maxByte/scale {
		return bad("sectors that no device has")
	}
	e.Sector, e.Sectors = e.Sector*scale, e.Sectors*scale
	if reason := e.reason(); reason != "" {
		return bad("%s", reason)
	}
	text, length := 0, int64(0)
	switch data := number(3); {
	case e.Flags&Mark != 0 && data > uint64(d.sector-headerSize):
		return bad("a mark of %d bytes in a sector of %d", data, d.sector)
	case e.Flags&Mark != 0:
		text = int(data)
	case e.Flags&Discard != 0:
		if data != 0 {
			return bad("a discard with %d bytes of data", data)
		}
	default: // the kernel stores a length here for DAX writes
		if data > e.Sectors*SectorSize {
			return bad("%d bytes of data in %d sectors", data, e.Sectors/scale)
		}
		length = int64(e.Sectors * SectorSize)
	}
	if rest := head[headerSize+text:]; d.strict && bytes.Count(rest, []byte{0}) != len(rest) {
		return bad("data after the entry")
	}
	if length > d.size-d.at-d.sector {
		return bad("the file ends in the entry's data, %d bytes of which %d are there", length, d.size-d.at-d.sector)
	}
	switch {
	case text > 0:
		e.Data = bytes.Clone(head[headerSize : headerSize+text])
	case length > 0:
		e.Data, err = d.read(d.at+d.sector, length)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return bad("the file ends in the entry's data")
		}
		if err != nil {
			return Entry{}, fmt.Errorf("the data of entry %d of the log (byte %d) cannot be read: %w", index, d.at, err)
		}
	}
	d.at += d.sector + length
	return e, nil
}

// read reads n bytes. Memory use follows the bytes actually present, not the
// claimed size. An early end of the file is io.ErrUnexpectedEOF.
func (d *decoder) read(at, n int64) ([]byte, error) {
	const step = 1 << 20
	var b []byte
	for int64(len(b)) < n {
		more := min(n-int64(len(b)), max(step, int64(len(b))))
		old := len(b)
		b = append(b, make([]byte, more)...)
		got, err := d.r.ReadAt(b[old:], at+int64(old))
		if int64(got) == more {
			continue
		}
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return b, nil
}
