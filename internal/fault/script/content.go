package script

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
)

// Data is written in words of 16 bytes, each of which identifies the operation that
// wrote it, the file and the offset, so that torn, zero, stale and misplaced data
// and data of another file can be distinguished: a byte that is never 0, the
// operation (2 bytes), a hash of the file's name (5 bytes), the offset (8 bytes,
// the first never 0). All sectors of 512 bytes therefore differ.
const (
	word       = 16
	wordMark   = 'W'
	offsetMark = uint64('@') << 56
	// setupBase is added to the numbers of Setup's operations.
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

// pathHash is a 40-bit hash of a file's name.
func pathHash(path string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(path)) // never fails
	return h.Sum64() & (1<<40 - 1)
}

// origin is the decoded contents of a whole word.
type origin struct {
	op     int
	hash   uint64
	offset int64
}

// originOf decodes the first whole word of data that begins at a multiple of 16.
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

// whence describes the origin of a sector's data, and reports whether they belong
// to another file of the script.
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
