package script

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
)

// Data is written in words of 16 bytes, each of which says which operation wrote
// it, for which file and where, so that what is torn, zero, old, misplaced or of
// another file can be told apart: a byte that is never 0, the operation (2
// bytes), the file's name hashed (5 bytes), the offset (8 bytes, the first never
// 0). Sectors of 512 bytes are therefore all different.
const (
	word       = 16
	wordMark   = 'W'
	offsetMark = uint64('@') << 56
	// setupBase is added to the numbers of the operations of Setup.
	setupBase = 0x8000
)

// fill makes the data that an operation writes to a file at an offset.
func fill(data []byte, op int, path string, offset int64) {
	var w [word]byte
	binary.BigEndian.PutUint64(w[:8], uint64(wordMark)<<56|uint64(op&0xffff)<<40|pathHash(path))
	for done := 0; done < len(data); {
		at := offset + int64(done)
		start := at &^ (word - 1)
		binary.BigEndian.PutUint64(w[8:], offsetMark|uint64(start))
		done += copy(data[done:], w[at-start:])
	}
}

// pathHash is a file's name in 40 bits.
func pathHash(path string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(path)) // never fails
	return h.Sum64() & (1<<40 - 1)
}

// origin is what a whole word says of itself.
type origin struct {
	op     int
	hash   uint64
	offset int64
}

// originOf reads the first whole word of data that begins at a multiple of 16.
func originOf(data []byte) (origin, bool) {
	if len(data) < word || data[0] != wordMark {
		return origin{}, false
	}
	head, tail := binary.BigEndian.Uint64(data), binary.BigEndian.Uint64(data[8:])
	if tail>>56 != offsetMark>>56 {
		return origin{}, false
	}
	return origin{op: int(head >> 40 & 0xffff), hash: head & (1<<40 - 1), offset: int64(tail &^ offsetMark)}, true
}

// whence says in words where the data of a sector comes from, and whether it is
// of another file of the script's.
func (m *model) whence(sector []byte, path string, offset int64) (says string, foreign bool) {
	o, ok := originOf(sector)
	if !ok {
		return "bytes that the script never wrote", false
	}
	step, known := fmt.Sprintf("operation %d", o.op), o.op >= 1 && o.op <= len(m.script.Ops)
	if o.op >= setupBase {
		step, known = "the setup", o.op-setupBase <= len(m.script.Setup)
	}
	of, named := m.hashes[o.hash]
	switch {
	case !known || !named:
		return "data of another script", false
	case of != path:
		return fmt.Sprintf("what %s wrote to %s at %d", step, of, o.offset), true
	case o.offset != offset:
		return fmt.Sprintf("what %s wrote at %d", step, o.offset), false
	}
	return fmt.Sprintf("what %s wrote there", step), false
}
