package squeeze

import "encoding/binary"

// The instruction set of LZO1X (the kernel's Documentation/staging/lzo.rst):
// what a run of literals and a match cost, in bytes, within one page.
const (
	shortRun  = 3      // literals that fit into the preceding instruction
	middleRun = 18     // literals with a one-byte instruction
	shortFar  = 0x0800 // maximum distance of a two-byte match
	shortLen  = 8      // maximum length of one
	middleLen = 33     // maximum length of a three-byte match
	least     = 4      // minimum match length of LZO1X-1
	lastPart  = 20     // bytes at the end that it leaves uncompressed
	endMark   = 3      // bytes
)

const hashBits = 13

// lzo is a working area: the last position of four bytes with each hash.
type lzo struct{ seen [1 << hashBits]uint16 }

// size is the compressed size of p, which is at most 64 KiB long, by LZO1X-1:
// greedy matches from a hash of four bytes, with steps that grow where nothing
// matches. It computes only the length.
func (z *lzo) size(p []byte) int {
	clear(z.seen[:])
	out, pending := 0, 0 // pending: start of the literals not yet written
	for at := least; at < len(p)-lastPart; {
		word := binary.LittleEndian.Uint32(p[at:])
		slot := &z.seen[word*0x1824429d>>(32-hashBits)]
		from := int(*slot)
		*slot = uint16(at)
		if from >= at || binary.LittleEndian.Uint32(p[from:]) != word {
			at += 1 + (at-pending)>>5
			continue
		}
		n := least
		for at+n < len(p)-lastPart && p[from+n] == p[at+n] {
			n++
		}
		out += run(at-pending, out == 0) + match(n, at-from)
		at += n
		pending = at
	}
	return out + run(len(p)-pending, out == 0) + endMark
}

// run is the cost of n literals; the first ones always have an instruction.
func run(n int, first bool) int {
	switch {
	case n == 0:
		return 0
	case n <= shortRun && !first:
		return n
	case n <= middleRun:
		return n + 1
	}
	return n + 1 + (n-middleRun+254)/255
}

func match(n, distance int) int {
	switch {
	case n <= shortLen && distance <= shortFar:
		return 2
	case n <= middleLen:
		return 3
	}
	return 3 + (n-middleLen+254)/255
}
