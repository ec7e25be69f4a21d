package storage

import "strings"

// chip is one that the kernel's nandsim can stand for: what it answers when it
// is asked who it is decides its geometry.
type chip struct {
	size  int64 // B, without the spare bytes
	page  int   // B
	oob   int   // spare bytes of a page
	block int64 // B
	id    []byte
}

// chips are real parts of ST and Samsung, all with one bit to the cell, in the
// order in which a size is looked for.
var chips = []chip{
	{64 << 20, 2048, 64, 128 << 10, []byte{0x20, 0xa2, 0x00, 0x15}},
	{128 << 20, 2048, 64, 128 << 10, []byte{0xec, 0xa1, 0x00, 0x15}},
	{256 << 20, 2048, 64, 128 << 10, []byte{0x20, 0xaa, 0x00, 0x15}},
	{512 << 20, 2048, 64, 128 << 10, []byte{0x20, 0xac, 0x00, 0x15}},
	{1 << 30, 2048, 64, 128 << 10, []byte{0xec, 0xd3, 0x51, 0x95}},
	{16 << 20, 512, 16, 16 << 10, []byte{0x20, 0x33}},
	{32 << 20, 512, 16, 16 << 10, []byte{0x20, 0x35}},
	{64 << 20, 512, 16, 16 << 10, []byte{0x20, 0x36}},
	{128 << 20, 512, 16, 16 << 10, []byte{0x20, 0x78}},
}

// findChip finds a chip; page 0 is any, the larger pages first.
func findChip(size int64, page int) (chip, bool) {
	for _, c := range chips {
		if c.size == size && (page == 0 || c.page == page) {
			return c, true
		}
	}
	return chip{}, false
}

// NANDSizes lists the simulated chips that there are, for people.
func NANDSizes() string {
	lists := map[int][]string{}
	for _, c := range chips {
		lists[c.page] = append(lists[c.page], FormatSize(c.size))
	}
	return "there are " + strings.Join(lists[2048], ", ") + " with pages of 2k, and " + strings.Join(lists[512], ", ") + " with pages of 512"
}
