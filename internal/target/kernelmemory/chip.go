package kernelmemory

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime"
)

const (
	symbolChip    = "nsmtd"            // nandsim's pointer to its chip
	symbolTables  = "init_top_pgt"     // the kernel's own page tables
	symbolDirect  = "page_offset_base" // start of the linear map of all memory
	symbolDynamic = "vmalloc_base"     // where large arrays are mapped, page by page

	frame = 4096 // B, of the kernel's memory
	// chipBytes is how much to search from the chip's address: the
	// driver's structure has a few kilobytes and contains the array of
	// pages.
	chipBytes = 16 << 10
	// dynamicBytes is the minimum that the kernel reserves for large
	// arrays.
	dynamicBytes = 32 << 40
)

// ChipPlace lists the physical addresses where a simulated chip keeps its
// pages, so that the host can read the chip out of a guest's memory.
type ChipPlace struct {
	Pages int `json:"pages"` // per chip
	Bytes int `json:"bytes"` // per page, including its spare area
	// Direct is the kernel's address of physical address 0.
	Direct uint64 `json:"direct"`
	// Frames are the physical addresses, 4096 B each, of the array that
	// has one pointer per page of the chip, 0 if the page is erased.
	Frames []uint64 `json:"frames"`
}

const (
	// A simulated chip is never larger than the guest's memory; 2 GiB have
	// four million pages of 512 bytes.
	mostPages     = 1 << 23
	mostPageBytes = 1 << 16
)

// Check validates a place that came from outside this process.
func (p ChipPlace) Check() error {
	switch {
	case p.Pages <= 0 || p.Pages > mostPages || p.Bytes <= 0 || p.Bytes > mostPageBytes:
		return fmt.Errorf("a chip of %d pages of %d bytes", p.Pages, p.Bytes)
	case len(p.Frames) != (p.Pages*8+frame-1)/frame:
		return fmt.Errorf("a chip of %d pages listed in %d frames", p.Pages, len(p.Frames))
	}
	for _, at := range p.Frames {
		if at%frame != 0 {
			return fmt.Errorf("a chip whose pages are listed at %#x, which is not the start of a frame", at)
		}
	}
	return nil
}

// FindChip finds the pages of the simulated chip. Page number page must
// contain known, and the other pages must not.
func (m *Memory) FindChip(pages, bytesPerPage, page int, known []byte) (ChipPlace, error) {
	p := ChipPlace{Pages: pages, Bytes: bytesPerPage}
	if runtime.GOARCH != "amd64" {
		return p, fmt.Errorf("finding the simulated chip in memory needs amd64; this is %s", runtime.GOARCH)
	}
	chip, err := m.variable(symbolChip)
	if err != nil {
		return p, fmt.Errorf("the simulated chip: %w", err)
	}
	if p.Direct, err = m.variable(symbolDirect); err != nil {
		return p, err
	}
	array, err := m.array(chip, p.Direct, page, known)
	if err != nil {
		return p, err
	}
	inArray, inMemory := make([]byte, frame), make([]byte, frame)
	for at := array; at < array+8*uint64(pages); at += frame {
		physical, err := m.physical(at, p.Direct)
		if err != nil {
			return p, err
		}
		if err := m.Read(inArray, at); err != nil {
			return p, err
		}
		if err := m.Read(inMemory, p.Direct+physical); err != nil {
			return p, err
		}
		if !bytes.Equal(inArray, inMemory) {
			return p, fmt.Errorf("the page tables map %#x to %#x, which holds something else", at, physical)
		}
		p.Frames = append(p.Frames, physical)
	}
	return p, nil
}

// array finds the array of page pointers among everything that the driver's
// structure points to.
func (m *Memory) array(chip, direct uint64, page int, known []byte) (uint64, error) {
	low, err := m.variable(symbolDynamic)
	if err != nil {
		return 0, err
	}
	structure := make([]byte, chipBytes)
	if err := m.Read(structure, chip); err != nil {
		return 0, err
	}
	held := make([]byte, len(known))
	for off := 0; off < len(structure); off += 8 {
		at := binary.LittleEndian.Uint64(structure[off:])
		if at < low || at >= low+dynamicBytes || at%frame != 0 {
			continue
		}
		pointer, err := m.word(at + 8*uint64(page))
		if err != nil || pointer < direct || pointer >= low {
			continue
		}
		if m.Read(held, pointer) == nil && bytes.Equal(held, known) {
			return at, nil
		}
	}
	return 0, fmt.Errorf("no array near the simulated chip at %#x contains what was just written to page %d", chip, page)
}

// physical walks the kernel's page tables.
func (m *Memory) physical(at, direct uint64) (uint64, error) {
	const (
		present, large = 1, 1 << 7
		address        = 1<<52 - frame
	)
	table, ok := m.symbols[symbolTables]
	if !ok {
		return 0, fmt.Errorf("the kernel shows no symbol %s", symbolTables)
	}
	shift := 39
	if direct < 0xffff800000000000 {
		shift = 48 // a fifth level
	}
	for {
		entry, err := m.word(table + 8*(at>>shift&511))
		if err != nil {
			return 0, fmt.Errorf("page tables: %w", err)
		}
		if entry&present == 0 {
			return 0, fmt.Errorf("page tables: no entry for %#x", at)
		}
		if below := uint64(1)<<shift - 1; shift == 12 || entry&large != 0 && shift <= 30 {
			return entry&address&^below + at&below, nil
		}
		table, shift = direct+entry&address, shift-9
	}
}
