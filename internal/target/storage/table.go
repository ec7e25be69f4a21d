package storage

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"unicode/utf16"

	"whichfs/internal/sys/units"
)

// partitionTable describes the entries of the partition table at the start of a device, for a user
// who must decide about a device whose partitions the kernel does not show: "rootfs" (128 MiB). nil
// if there is no table. Of a damaged table it returns what is readable.
func partitionTable(start []byte) []string {
	for _, sector := range []int{512, 4096} {
		if len(start) >= sector+92 && string(start[sector:sector+8]) == "EFI PART" {
			return guidTable(start, sector)
		}
	}
	if len(start) < 512 || binary.LittleEndian.Uint16(start[510:]) != 0xaa55 {
		return nil
	}
	var all []string
	for at := 446; at < 510; at += 16 {
		entry := start[at : at+16]
		kind, sectors := entry[4], binary.LittleEndian.Uint32(entry[12:])
		if status := entry[0]; status&0x7f != 0 {
			return nil // a boot record with a program there, as FAT and NTFS have
		}
		if kind != 0 && sectors != 0 {
			all = append(all, fmt.Sprintf("type 0x%02x (%s)", kind, units.Size(int64(sectors)*512)))
		}
	}
	return all
}

// guidTable reads a GPT (UEFI specification, 5.3.2 and 5.3.3).
func guidTable(start []byte, sector int) []string {
	header := start[sector:]
	at := int64(binary.LittleEndian.Uint64(header[72:])) * int64(sector)
	count, size := binary.LittleEndian.Uint32(header[80:]), int64(binary.LittleEndian.Uint32(header[84:]))
	var all []string
	for range min(count, 128) {
		if size < 128 || at < 0 || at > int64(len(start))-size {
			break
		}
		entry := start[at : at+size]
		at += size
		first, last := int64(binary.LittleEndian.Uint64(entry[32:])), int64(binary.LittleEndian.Uint64(entry[40:]))
		if allOf(entry[:16], 0) || first < 0 || last < first || last > 1<<50 {
			continue
		}
		var name []uint16
		for i := 56; i < 128; i += 2 {
			if c := binary.LittleEndian.Uint16(entry[i:]); c != 0 {
				name = append(name, c)
			}
		}
		what := "no name"
		if label := printable(string(utf16.Decode(name))); label != "" {
			what = strconv.Quote(label)
		}
		all = append(all, fmt.Sprintf("%s (%s)", what, units.Size((last-first+1)*int64(sector))))
	}
	return all
}
