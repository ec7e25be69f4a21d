package qemu

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"whichfs/internal/kernelmemory"
	"whichfs/internal/rawimage"
)

// arrayFrame is the length of a piece of the chip's array of pages, in bytes.
const arrayFrame = 4096

// readChip reads a simulated chip out of a guest's memory, which begins at
// address 0 and is size bytes long. The guest must not run any more. A guest is
// not believed: what it told and what its memory holds may be damaged.
//
// A page that was just being programmed may have been given memory and not yet
// been cleared, so that it holds what that memory held before: garbage, as a
// real page has whose programming was cut short.
func readChip(memory io.ReaderAt, size int64, place kernelmemory.ChipPlace) (rawimage.Image, error) {
	m := rawimage.Image{Pages: place.Pages, Bytes: place.Bytes}
	switch {
	case place.Pages == 0:
		return m, errors.New("the guest did not tell where the chip is")
	case size < max(arrayFrame, int64(place.Bytes)):
		return m, fmt.Errorf("the guest has %d bytes of memory", size)
	}
	if err := place.Check(); err != nil {
		return m, fmt.Errorf("the guest told of %w", err)
	}
	array := make([]byte, 0, len(place.Frames)*arrayFrame)
	for _, at := range place.Frames {
		if at > uint64(size)-arrayFrame {
			return m, fmt.Errorf("the guest told of a list at %#x, outside its memory of %d MiB", at, size>>20)
		}
		array = array[:len(array)+arrayFrame]
		if _, err := memory.ReadAt(array[len(array)-arrayFrame:], int64(at)); err != nil {
			return m, fmt.Errorf("the guest's memory at %#x: %w", at, err)
		}
	}
	for n := range place.Pages {
		pointer := binary.LittleEndian.Uint64(array[8*n:])
		if pointer == 0 {
			continue // erased
		}
		// Each page has memory of its own.
		if int64(len(m.Written)+1)*int64(place.Bytes) > size {
			return m, fmt.Errorf("the chip's pages would take more than the guest's memory of %d MiB: the list of its pages is damaged", size>>20)
		}
		at := pointer - place.Direct
		if pointer < place.Direct || at > uint64(size)-uint64(place.Bytes) {
			return m, fmt.Errorf("page %d of the chip is at %#x, outside the guest's memory: the list of its pages is damaged", n, pointer)
		}
		data := make([]byte, place.Bytes)
		if _, err := memory.ReadAt(data, int64(at)); err != nil {
			return m, fmt.Errorf("the guest's memory at %#x: %w", at, err)
		}
		m.Written = append(m.Written, rawimage.Page{Number: n, Data: data})
	}
	return m, nil
}
