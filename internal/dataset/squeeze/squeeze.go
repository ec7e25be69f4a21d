// Package squeeze tells beforehand how files will compress on Btrfs: blocks of
// 128 KiB, each algorithm by itself, what does not shrink stored plain, small
// files inside the metadata. Its point of view: compressibility is a property
// of data that belongs beside every figure of a compressing filesystem, and
// nobody should need a Btrfs to know it. The compressors are others than the
// kernel's, so what a mounted Btrfs shows is the truth and this an estimate.
package squeeze

import (
	"compress/flate"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Algorithm is one of Btrfs's.
type Algorithm int

// The algorithms, with the levels that Btrfs takes when none is named.
const (
	LZO Algorithm = iota
	Zlib
	Zstd
	Algorithms // how many there are
)

func (a Algorithm) String() string { return [...]string{"lzo", "zlib", "zstd"}[a] }

// What Btrfs does, in bytes; see btrfs(5).
const (
	Block  = 128 << 10 // compressed at a time
	Sector = 4 << 10   // the least that a compressed block can save
	Inline = 2 << 10   // the most that lies inside the metadata
	Chunk  = 512 << 10 // handled by one of its workers
)

// Sizes are lengths in bytes of the same data, by algorithm.
type Sizes [Algorithms]int64

// Meter compresses blocks. It is not safe for concurrent use.
type Meter struct {
	lzo   lzo
	flate *flate.Writer
	zstd  *zstd.Encoder
	room  []byte
	n     counter
}

// New returns a meter.
func New() (*Meter, error) {
	m := &Meter{room: make([]byte, 0, Block+Sector)}
	var err error
	// Three is the level that Btrfs takes for zlib and for zstd.
	if m.flate, err = flate.NewWriter(&m.n, 3); err != nil {
		return nil, err
	}
	m.zstd, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(Block), zstd.WithEncoderCRC(false), zstd.WithSingleSegment(true))
	return m, err
}

type counter int64

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }

// Block returns what the algorithms make of at most 128 KiB, before anything
// is rounded to sectors.
func (m *Meter) Block(p []byte) (Sizes, error) {
	var s Sizes
	for a := range Algorithms {
		var err error
		if s[a], err = m.One(a, p); err != nil {
			return Sizes{}, err
		}
	}
	return s, nil
}

// One is Block with one algorithm.
func (m *Meter) One(a Algorithm, p []byte) (int64, error) {
	if len(p) == 0 || len(p) > Block {
		return 0, fmt.Errorf("a block of %d bytes, 1 to %d are allowed", len(p), Block)
	}
	switch a {
	case LZO:
		return int64(m.pages(p)), nil
	case Zlib:
		m.n = 0
		m.flate.Reset(&m.n)
		if _, err := m.flate.Write(p); err != nil {
			return 0, err
		}
		if err := m.flate.Close(); err != nil {
			return 0, err
		}
		return int64(m.n) + 6, nil // a header and a checksum
	case Zstd:
		return int64(len(m.zstd.EncodeAll(p, m.room[:0]))), nil
	}
	return 0, fmt.Errorf("algorithm %d is not known", a)
}

// pages is LZO as Btrfs has it: every 4 KiB by themselves, each with its length
// before it, which does not cross the end of a sector.
func (m *Meter) pages(p []byte) int {
	const length = 4
	out := length
	for len(p) > 0 {
		n := min(len(p), Sector)
		if left := Sector - out%Sector; left < length {
			out += left
		}
		out += length + m.lzo.size(p[:n])
		p = p[n:]
	}
	return out
}

// Use is what a tree takes up with one algorithm, as compsize(8) counts it.
type Use struct {
	Disk    int64 // B; of inline extents their compressed length
	Plain   int64 // B, of Disk: what was not compressed
	Total   int64 // B, uncompressed; regular extents in whole sectors
	Inline  int   // files inside the metadata
	Regular int   // extents elsewhere
}

// Ratio is Disk to Total: 0.34 means that a third is left; 0 without data.
func (u Use) Ratio() float64 {
	if u.Total == 0 {
		return 0
	}
	return float64(u.Disk) / float64(u.Total)
}

// Uses are what a tree takes up, by algorithm.
type Uses [Algorithms]Use

// File adds a file of a size. each, if not nil, gets every block's length, what
// the algorithms make of it, and whether Btrfs tries.
func (m *Meter) File(u *Uses, r io.Reader, size int64, each func(n int64, s Sizes, worth bool)) error {
	var buffer [Block]byte
	var gaveUp [Algorithms]bool // Btrfs marks a file that has a block which does not shrink
	first, worth := true, true  // the first block is, this one is
	for at := int64(0); at < size; {
		n := int(min(Block, size-at))
		if _, err := io.ReadFull(r, buffer[:n]); err != nil {
			return err
		}
		s, err := m.Block(buffer[:n])
		if err != nil {
			return err
		}
		// What follows a block that is not worth it shares its lot, up to the end
		// of the worker's part; of the first block, the whole file does.
		if at == 0 || first && (worth || at%Chunk == 0) {
			worth = Promising(buffer[:n])
			first = first && (at > 0 || worth)
		}
		for a := range Algorithms {
			packed := s[a]
			if !worth {
				packed = int64(n)
			}
			u[a].add(int64(n), packed, size, worth, &gaveUp[a])
		}
		if each != nil {
			each(int64(n), s, worth)
		}
		at += int64(n)
	}
	return nil
}

// add counts a block of n bytes of a file of a size, which became packed. It
// was tried only if it seemed worth it, and only that makes Btrfs give up.
func (u *Use) add(n, packed, size int64, worth bool, gaveUp *bool) {
	sectors := (n + Sector - 1) / Sector * Sector
	rounded := (packed + Sector - 1) / Sector * Sector
	switch {
	case size <= Sector && packed < n && packed <= Inline:
		u.Inline++
		u.Disk += packed
		u.Total += n
	case size <= Inline:
		u.Inline++
		u.Disk += n
		u.Plain += n
		u.Total += n
	case *gaveUp || rounded+Sector > sectors:
		*gaveUp = *gaveUp || worth
		u.Regular++
		u.Disk += sectors
		u.Plain += sectors
		u.Total += sectors
	default:
		u.Regular++
		u.Disk += rounded
		u.Total += sectors
	}
}
