package squeeze

import "encoding/binary"

// The instruction set of LZO1X (the kernel's Documentation/staging/lzo.rst):
// what a run of literals and a match cost, in bytes, within one page.
const (
	shortRun  = 3      // literals that fit into the instruction before them
	middleRun = 18     // literals with an instruction of one byte
	shortFar  = 0x0800 // distance of a match of two bytes
	shortLen  = 8      // length of one
	middleLen = 33     // length of a match of three bytes
	least     = 4      // length of the shortest match that LZO1X-1 looks for
	lastPart  = 20     // bytes at the end that it leaves as they are
	endMark   = 3      // bytes
)

const hashBits = 13

// lzo is a working area: where four bytes with this hash were seen last.
type lzo struct{ seen [1 << hashBits]uint16 }

// size is how many bytes LZO1X-1 makes of p, which is at most 64 KiB long:
// greedy matches from a hash of four bytes, with steps that grow where nothing
// matches. It is a length only; nothing is written.
func (z *lzo) size(p []byte) int {
	clear(z.seen[:])
	out, pending := 0, 0 // pending: where literals begin that are not written yet
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

// run is the cost of n literals; those at the beginning are always counted.
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
