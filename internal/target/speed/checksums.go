package speed

import (
	"encoding/binary"
	"hash/crc32"
	"math/bits"

	"golang.org/x/sys/cpu"
)

const (
	checked = 64 << 10 // bytes of a run that a CRC or xxhash64 is made of; in checksums, of a quarter of them CRC-32C
	several = 8        // as many different ones
)

func newChecksums() func(seed uint32) uint32 {
	tables, data := slicing(crc32.Castagnoli), textLike(checked+several*64)
	return func(seed uint32) uint32 {
		in := data[seed%several*64:][:checked]
		return crc(tables, 0, in[:checked/4]) ^ uint32(xxhash64(in))
	}
}

// byInstructions are the CRCs that both the kernel and Go's library compute with instructions of this
// processor. Go uses none on 32-bit ARM, and Linux uses those for CRC-32 on amd64 only since 6.15.
func byInstructions() (all []kind) {
	add := func(key string, polynomial uint32) {
		all = append(all, kind{key: key, units: checked, run: newInstructions(polynomial)})
	}
	if cpu.ARM64.HasCRC32 {
		add("crc32", crc32.IEEE)
	}
	if cpu.ARM64.HasCRC32 || cpu.X86.HasSSE42 {
		add("crc32c", crc32.Castagnoli)
	}
	return all
}

func newInstructions(polynomial uint32) func(seed uint32) uint32 {
	table, data := crc32.MakeTable(polynomial), textLike(checked+several*64)
	return func(seed uint32) uint32 { return crc32.Update(0, table, data[seed%several*64:][:checked]) }
}

type sliced [8][256]uint32

func slicing(polynomial uint32) *sliced {
	t := new(sliced)
	t[0] = *crc32.MakeTable(polynomial)
	for i := range t[0] {
		for k := 1; k < len(t); k++ {
			t[k][i] = t[k-1][i]>>8 ^ t[0][byte(t[k-1][i])]
		}
	}
	return t
}

// crc is a CRC as the kernel computes it without instructions for it, by eight bytes at a time.
func crc(t *sliced, c uint32, in []byte) uint32 {
	c = ^c
	for ; len(in) >= 8; in = in[8:] {
		c ^= binary.LittleEndian.Uint32(in)
		c = t[7][byte(c)] ^ t[6][byte(c>>8)] ^ t[5][byte(c>>16)] ^ t[4][c>>24] ^
			t[3][in[4]] ^ t[2][in[5]] ^ t[1][in[6]] ^ t[0][in[7]]
	}
	return ^c
}

const (
	prime1 = 0x9e3779b185ebca87
	prime2 = 0xc2b2ae3d27d4eb4f
	prime3 = 0x165667b19e3779f9
	prime4 = 0x85ebca77c2b2ae63
)

// xxhash64 is that of a multiple of 32 bytes, with seed 0.
func xxhash64(in []byte) uint64 {
	size := uint64(len(in))
	p1, p2 := uint64(prime1), uint64(prime2) // a constant's sum overflows
	a, b, c, d := p1+p2, p2, uint64(0), -p1
	for ; len(in) >= 32; in = in[32:] {
		a = mix(a, binary.LittleEndian.Uint64(in))
		b = mix(b, binary.LittleEndian.Uint64(in[8:]))
		c = mix(c, binary.LittleEndian.Uint64(in[16:]))
		d = mix(d, binary.LittleEndian.Uint64(in[24:]))
	}
	h := bits.RotateLeft64(a, 1) + bits.RotateLeft64(b, 7) + bits.RotateLeft64(c, 12) + bits.RotateLeft64(d, 18)
	for _, lane := range [...]uint64{a, b, c, d} {
		h = (h^mix(0, lane))*prime1 + prime4
	}
	h += size
	h = (h ^ h>>33) * prime2
	h = (h ^ h>>29) * prime3
	return h ^ h>>32
}

func mix(lane, word uint64) uint64 { return bits.RotateLeft64(lane+word*prime2, 31) * prime1 }
