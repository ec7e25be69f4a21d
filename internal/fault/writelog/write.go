package writelog

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
)

// Write writes the log in the kernel's format, with sectors of SectorSize. It
// writes nothing if the format cannot represent one of the entries.
func (l Log) Write(w io.Writer) error {
	for i, e := range l.Entries {
		if reason := e.unwritable(); reason != "" {
			return fmt.Errorf("entry %d of the log cannot be written: %s", i, reason)
		}
	}
	b := bufio.NewWriterSize(w, 1<<16)
	var sector [SectorSize]byte
	binary.LittleEndian.PutUint64(sector[:], magic)
	binary.LittleEndian.PutUint64(sector[8:], version)
	binary.LittleEndian.PutUint64(sector[16:], uint64(len(l.Entries)))
	binary.LittleEndian.PutUint32(sector[24:], SectorSize)
	_, err := b.Write(sector[:])
	for _, e := range l.Entries {
		clear(sector[:])
		binary.LittleEndian.PutUint64(sector[:], e.Sector)
		binary.LittleEndian.PutUint64(sector[8:], e.Sectors)
		binary.LittleEndian.PutUint64(sector[16:], uint64(e.Flags))
		if e.Flags&Mark != 0 {
			binary.LittleEndian.PutUint64(sector[24:], uint64(len(e.Data)))
			copy(sector[headerSize:], e.Data)
		}
		if err == nil {
			_, err = b.Write(sector[:])
		}
		if err == nil && e.IsWrite() {
			_, err = b.Write(e.Data)
		}
	}
	if err == nil {
		err = b.Flush()
	}
	if err != nil {
		return fmt.Errorf("the log cannot be written: %w", err)
	}
	return nil
}

// unwritable says why the format cannot represent an entry; "" if it can.
func (e Entry) unwritable() string {
	if reason := e.reason(); reason != "" {
		return reason
	}
	switch {
	case e.Flags&Mark != 0 && len(e.Data) > maxMark:
		return fmt.Sprintf("a mark of %d bytes; the format allows at most %d", len(e.Data), maxMark)
	case e.IsWrite() && uint64(len(e.Data)) != e.Sectors*SectorSize:
		return fmt.Sprintf("%d bytes of data for %d sectors", len(e.Data), e.Sectors)
	case e.Flags&Mark == 0 && !e.IsWrite() && len(e.Data) > 0:
		return "data that belongs to no write"
	}
	return ""
}
