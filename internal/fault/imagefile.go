package fault

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// imageMagic is the start of an image file. The rest is compressed by gzip, whose
// checksum protects it: the size in bytes, the number of blocks, and each block in
// ascending order: the distance of its number from the one after the previous
// block, then its BlockSize bytes. Numbers are unsigned varints. Blocks of zeros are omitted.
const imageMagic = "whichfs image 1\n"

// MostImage is the limit for the blocks of an image that is written to a file or
// read from one, in bytes: an image is held in memory, and a small file can claim a
// large one.
const MostImage = 1 << 30

// tooMuch returns an error for an image that exceeds the limit.
func tooMuch(blocks uint64) error {
	if blocks <= MostImage/BlockSize {
		return nil
	}
	return fmt.Errorf("the image holds %d blocks of %d bytes: more than %d MiB", blocks, BlockSize, MostImage>>20)
}

// Encode writes the image as a file for DecodeImage.
func (im Image) Encode(w io.Writer) error {
	numbers := im.numbers()
	for _, n := range numbers {
		if n < 0 || n >= blocksOf(im.Size) || len(im.Blocks[n]) != BlockSize {
			return fmt.Errorf("the image cannot be written: block %d has %d bytes on a disk of %d", n, len(im.Blocks[n]), im.Size)
		}
	}
	if err := tooMuch(uint64(len(numbers))); err != nil {
		return err
	}
	if im.Size < 0 {
		return fmt.Errorf("the image cannot be written: its disk has %d bytes", im.Size)
	}
	if _, err := io.WriteString(w, imageMagic); err != nil {
		return fmt.Errorf("the image cannot be written: %w", err)
	}
	z := gzip.NewWriter(w)
	head := binary.AppendUvarint(nil, uint64(im.Size))
	head = binary.AppendUvarint(head, uint64(len(numbers)))
	_, err := z.Write(head)
	next := int64(0)
	for _, n := range numbers {
		if err == nil {
			_, err = z.Write(binary.AppendUvarint(nil, uint64(n-next)))
		}
		if err == nil {
			_, err = z.Write(im.Blocks[n])
		}
		next = n + 1
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		return fmt.Errorf("the image cannot be written: %w", err)
	}
	return nil
}

// blocksOf returns the number of blocks of a disk, the last of which may be
// shorter.
func blocksOf(size int64) int64 {
	n := size / BlockSize
	if size%BlockSize > 0 {
		n++
	}
	return n
}

var errImage = errors.New("the image is damaged")

// DecodeImage reads a file that Encode wrote, to its end. Errors say how the file
// is damaged; no part of a damaged file is returned.
func DecodeImage(r io.Reader) (Image, error) {
	b := bufio.NewReader(r)
	head := make([]byte, len(imageMagic))
	if _, err := io.ReadFull(b, head); err != nil {
		return Image{}, imageError("its head", err)
	}
	if string(head) != imageMagic {
		return Image{}, fmt.Errorf("%w, or none: it begins with %q and not with %q", errImage, head, imageMagic)
	}
	z, err := gzip.NewReader(b)
	if err != nil {
		return Image{}, imageError("its head", err)
	}
	z.Multistream(false)
	im, err := decodeBlocks(bufio.NewReader(z))
	if err != nil {
		return Image{}, err
	}
	if _, err := b.ReadByte(); !errors.Is(err, io.EOF) {
		if err != nil {
			return Image{}, imageError("its end", err)
		}
		return Image{}, fmt.Errorf("%w: something follows its end", errImage)
	}
	return im, nil
}

// decodeBlocks reads the compressed part and the checksum after it.
func decodeBlocks(z *bufio.Reader) (Image, error) {
	size, err := binary.ReadUvarint(z)
	if err != nil {
		return Image{}, imageError("the disk's size", err)
	}
	count, err := binary.ReadUvarint(z)
	if err != nil {
		return Image{}, imageError("the number of blocks", err)
	}
	im := Image{Size: int64(size), Blocks: map[int64][]byte{}}
	if im.Size < 0 || count > uint64(blocksOf(im.Size)) {
		return Image{}, fmt.Errorf("%w: %d blocks on a disk of %d bytes", errImage, count, size)
	}
	if err := tooMuch(count); err != nil {
		return Image{}, err
	}
	left := uint64(blocksOf(im.Size)) // blocks from next on
	for i := range count {
		skip, err := binary.ReadUvarint(z)
		if err != nil {
			return Image{}, imageError(fmt.Sprintf("block %d of %d", i+1, count), err)
		}
		if skip >= left {
			return Image{}, fmt.Errorf("%w: block %d of %d is beyond the end of a disk of %d bytes", errImage, i+1, count, size)
		}
		number := blocksOf(im.Size) - int64(left-skip)
		left -= skip + 1
		block := make([]byte, BlockSize)
		if _, err := io.ReadFull(z, block); err != nil {
			return Image{}, imageError(fmt.Sprintf("block %d of %d", i+1, count), err)
		}
		im.Blocks[number] = block
	}
	// gzip compares its checksum when the end is read.
	if _, err := z.ReadByte(); !errors.Is(err, io.EOF) {
		if err != nil {
			return Image{}, imageError("its end", err)
		}
		return Image{}, fmt.Errorf("%w: there are more than its %d blocks", errImage, count)
	}
	return im, nil
}

// imageError says where reading failed, because of damage or of a read error.
func imageError(at string, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it ends at %s", errImage, at)
	}
	return fmt.Errorf("%w at %s: %w", errImage, at, err)
}
