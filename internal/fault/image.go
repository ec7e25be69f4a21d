package fault

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
)

// BlockSize is the unit in which images are stored, in bytes.
const BlockSize = 4096

// Image is the contents of a disk: blocks of BlockSize bytes by number. A missing
// block is all zeros.
type Image struct {
	Size   int64
	Blocks map[int64][]byte
}

var zeros [BlockSize]byte

// FromBytes returns the image of a disk that holds b. They share no memory.
func FromBytes(b []byte) Image {
	im := Image{Size: int64(len(b)), Blocks: map[int64][]byte{}}
	for at := 0; at < len(b); at += BlockSize {
		im.put(int64(at/BlockSize), b[at:min(at+BlockSize, len(b))])
	}
	return im
}

// ReadImage reads a disk of size bytes.
func ReadImage(r io.ReaderAt, size int64) (Image, error) {
	im := Image{Size: size, Blocks: map[int64][]byte{}}
	buffer := make([]byte, 256*BlockSize)
	for at := int64(0); at < size; at += int64(len(buffer)) {
		part := buffer[:min(size-at, int64(len(buffer)))]
		if n, err := r.ReadAt(part, at); n < len(part) {
			if err == nil || errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return Image{}, fmt.Errorf("the disk cannot be read at byte %d of %d: %w", at+int64(n), size, err)
		}
		for i := 0; i < len(part); i += BlockSize {
			im.put((at+int64(i))/BlockSize, part[i:min(i+BlockSize, len(part))])
		}
	}
	return im, nil
}

// put sets a block that was empty to a copy of b.
func (im Image) put(number int64, b []byte) {
	if bytes.Equal(b, zeros[:len(b)]) {
		return
	}
	block := make([]byte, BlockSize)
	copy(block, b)
	im.Blocks[number] = block
}

// Equal reports whether two disks have the same size and contents.
func (im Image) Equal(o Image) bool {
	if im.Size != o.Size {
		return false
	}
	for n, b := range im.Blocks {
		if !bytes.Equal(b, o.block(n, len(b))) {
			return false
		}
	}
	for n, b := range o.Blocks {
		if im.Blocks[n] == nil && !bytes.Equal(b, zeros[:len(b)]) {
			return false
		}
	}
	return true
}

// block returns the block with a number; zeros of length bytes if it is missing.
func (im Image) block(number int64, length int) []byte {
	if b := im.Blocks[number]; b != nil {
		return b
	}
	return zeros[:min(length, BlockSize)]
}

// Clone returns a copy that shares no memory with the image.
func (im Image) Clone() Image {
	c := Image{Size: im.Size, Blocks: make(map[int64][]byte, len(im.Blocks))}
	for n, b := range im.Blocks {
		c.Blocks[n] = bytes.Clone(b)
	}
	return c
}

// numbers returns the numbers of the blocks that are not all zeros, ascending.
func (im Image) numbers() []int64 {
	var numbers []int64
	for n, b := range im.Blocks {
		if !bytes.Equal(b, zeros[:min(len(b), BlockSize)]) {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers
}
