package states

import (
	"fmt"
	"math/rand/v2"

	"whichfs/internal/fault"
	"whichfs/internal/fault/writelog"
)

// The oracle has no layers, tables or hashes: it applies the entries to a disk of
// bytes, one after the other.

const (
	testBlocks  = 5
	testSectors = testBlocks * fault.BlockSize / writelog.SectorSize
)

// randomLog has writes of whole blocks and of a few sectors, with bytes that often
// repeat the old contents, flushes of both kinds, FUA, discards and marks.
func randomLog(r *rand.Rand, entries int) (fault.Image, writelog.Log) {
	base := make([]byte, testSectors*writelog.SectorSize)
	for i := range testBlocks {
		if r.IntN(2) == 0 {
			fill(base[i*fault.BlockSize:][:fault.BlockSize/2], byte(r.IntN(3)))
		}
	}
	var l writelog.Log
	for range entries {
		e := writelog.Entry{Sector: uint64(r.IntN(testSectors))}
		e.Sectors = 1 + uint64(r.IntN(min(20, testSectors-int(e.Sector))))
		if r.IntN(2) == 0 { // whole blocks
			e.Sector = e.Sector / 8 * 8
			e.Sectors = 8 * (1 + uint64(r.IntN(min(2, (testSectors-int(e.Sector))/8))))
		}
		switch r.IntN(12) {
		case 0:
			e = writelog.Entry{Flags: writelog.Flush}
		case 1:
			e = writelog.Entry{Flags: writelog.Mark, Data: []byte("mark")}
		case 2:
			e.Flags = writelog.Discard
		case 3:
			e.Flags = writelog.FUA
		case 4:
			e.Flags = writelog.Flush
		case 5:
			e.Flags = writelog.Flush | writelog.FUA | writelog.Metadata
		}
		if e.IsWrite() {
			e.Data = make([]byte, e.Sectors*writelog.SectorSize)
			for s := range e.Sectors {
				fill(e.Data[s*writelog.SectorSize:][:writelog.SectorSize], byte(r.IntN(3)))
			}
		}
		l.Entries = append(l.Entries, e)
	}
	return fault.FromBytes(base), l
}

func fill(b []byte, v byte) {
	for i := range b {
		b[i] = v
	}
}

// bytesOf returns an image as the bytes of its disk.
func bytesOf(im fault.Image) []byte {
	b := make([]byte, im.Size)
	for n, block := range im.Blocks {
		copy(b[n*fault.BlockSize:], block)
	}
	return b
}

// isDurable follows the definition literally.
func isDurable(l writelog.Log, entry, point int) bool {
	if l.Entries[entry].Flags&writelog.FUA != 0 {
		return true
	}
	for j := entry + 1; j < point; j++ {
		if l.Entries[j].Flags&writelog.Flush != 0 {
			return true
		}
	}
	return false
}

// slowly returns the contents of the disk in a state.
func slowly(base fault.Image, l writelog.Log, s State) []byte {
	disk := bytesOf(base)
	kept := map[int]bool{}
	for _, k := range s.Kept {
		kept[k] = true
	}
	for i := range s.Point {
		e := l.Entries[i]
		if e.Flags&writelog.Mark != 0 || !kept[i] && !isDurable(l, i, s.Point) {
			continue
		}
		for n := range int(e.Sectors) {
			if t := s.Torn; t != nil && t.Entry == i && (n < t.First || n >= t.First+t.Sectors) {
				continue
			}
			sector := disk[(int(e.Sector)+n)*writelog.SectorSize:][:writelog.SectorSize]
			if e.Flags&writelog.Discard != 0 {
				clear(sector)
			} else {
				copy(sector, e.Data[n*writelog.SectorSize:])
			}
		}
	}
	return disk
}

// marksBefore is the number of marks before a point: what was acknowledged.
func marksBefore(l writelog.Log, point int) int {
	n := 0
	for _, e := range l.Entries[:point] {
		if e.Flags&writelog.Mark != 0 {
			n++
		}
	}
	return n
}

// everything returns all possible contents without torn writes, by marks and
// contents; and the largest number of volatile writes at a point.
func everything(base fault.Image, l writelog.Log) (contents map[string]bool, volatile int) {
	contents = map[string]bool{}
	for point := range len(l.Entries) + 1 {
		var free []int
		for i := range point {
			if e := l.Entries[i]; e.Sectors > 0 && e.Flags&writelog.Mark == 0 && !isDurable(l, i, point) {
				free = append(free, i)
			}
		}
		volatile = max(volatile, len(free))
		for bits := range 1 << len(free) {
			s := State{Point: point}
			for i, k := range free {
				if bits>>i&1 == 1 {
					s.Kept = append(s.Kept, k)
				}
			}
			contents[key(l, s, slowly(base, l, s))] = true
		}
	}
	return contents, volatile
}

func key(l writelog.Log, s State, contents []byte) string {
	return fmt.Sprintf("%d:%s", marksBefore(l, s.Point), contents)
}

// made returns the contents of the disk according to the maker.
func made(base fault.Image, changed []Block) []byte {
	disk := bytesOf(base)
	for _, b := range changed {
		copy(disk[b.Number*fault.BlockSize:], b.Data)
	}
	return disk
}
