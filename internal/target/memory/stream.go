package memory

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
)

// NewStream makes size bytes that no filesystem's compressor can shorten. The
// same seed gives the same bytes on every machine.
//
// The generator is wyrand (Wang Yi's, of the wyhash family): one addition, one
// 64×64→128 bit multiplication and one exclusive or per eight bytes, in
// little-endian order. It is preferred to ChaCha8 because an emulated guest
// has no fast vector unit and this needs none; it is no cipher and need not be
// one.
func NewStream(name string, seed uint64, size int64) (*Stream, error) {
	if size < 0 || size > math.MaxInt-8 {
		return nil, fmt.Errorf("stream %q: a size of %d bytes", name, size)
	}
	// Room for whole words; Data is cut to size.
	arena, err := reserve((size + 7) &^ 7)
	if err != nil {
		return nil, fmt.Errorf("stream %q: %w", name, err)
	}
	for i := 0; i+8 <= len(arena); i += 8 {
		seed += 0xa0761d6478bd642f
		hi, lo := bits.Mul64(seed, seed^0xe7037ed1a0b428db)
		binary.LittleEndian.PutUint64(arena[i:], hi^lo)
	}
	return &Stream{Name: name, Data: arena[:size], arena: arena}, nil
}
