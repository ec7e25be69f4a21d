package flash

import "whichfs/internal/sys/spill"

// inMemory is how large a device may be, and how much may have been written to a larger one, in bytes,
// before what is written is kept in a file: a machine that runs a study at its published size has other
// uses for its memory.
const inMemory = 1 << 30

// Keeps says how much of a device of a size is kept in memory once all of it has been written to, and how
// much in a file of package spill; in bytes.
func Keeps(size int64) (memory, file int64) {
	memory = min(size, inMemory)
	return memory, size - memory
}

// contents are those of a page or chunk.
type contents = spill.Piece

// backing is where the contents of a device are kept: in memory, and from a size on in a file. Where
// that has no room, memory is used after all.
type backing struct {
	size   int64       // B of one contents
	memory int64       // B that may still be made in memory; with a file
	file   *spill.File // nil: all is in memory
}

// newBacking keeps contents of a size for a device of a size, in bytes.
func newBacking(size, device int64) *backing {
	k := &backing{size: size, memory: inMemory}
	if device > inMemory {
		k.file = spill.New(size, spill.Region)
	}
	return k
}

// make returns contents of zeros.
func (k *backing) make() *contents {
	if k.file != nil {
		if k.memory < k.size {
			if c := k.file.Piece(); c != nil {
				return c
			}
		}
		k.memory -= k.size
	}
	return &contents{Data: make([]byte, k.size)}
}
