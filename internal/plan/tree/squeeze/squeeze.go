// Package squeeze estimates how files will compress on Btrfs: blocks of 128
// KiB, each algorithm separately, data that does not shrink stored plain,
// small files inside the metadata. Its point of view: compressibility is a
// property of data that belongs next to every figure of a compressing
// filesystem, and should not require a Btrfs. The compressors differ from the
// kernel's, so a mounted Btrfs has the true figures and these are estimates.
package squeeze

import (
	"compress/flate"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Algorithm is one of Btrfs's.
type Algorithm int

// The algorithms, with Btrfs's default levels.
const (
	LZO Algorithm = iota
	Zlib
	Zstd
	Algorithms // number of algorithms
)

func (a Algorithm) String() string { return [...]string{"lzo", "zlib", "zstd"}[a] }

// Sizes in Btrfs, in bytes; see btrfs(5).
const (
	Block  = 128 << 10 // unit of compression
	Sector = 4 << 10   // minimum saving of a compressed block
	Inline = 2 << 10   // maximum size inside the metadata
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
	// Three is Btrfs's default level for zlib and for zstd.
	if m.flate, err = flate.NewWriter(&m.n, 3); err != nil {
		return nil, err
	}
	m.zstd, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(Block), zstd.WithEncoderCRC(false), zstd.WithSingleSegment(true))
	return m, err
}

type counter int64

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }

// Block returns the compressed sizes of at most 128 KiB, before rounding to
// sectors.
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
	return 0, fmt.Errorf("unknown algorithm %d", a)
}

// pages is LZO as used by Btrfs: every 4 KiB separately, each preceded by its
// length, which does not cross the end of a sector.
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

// Use is the space of a tree with one algorithm, as compsize(8) counts it.
type Use struct {
	Disk    int64 // B; for inline extents their compressed length
	Plain   int64 // B, of Disk: uncompressed data
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

// Uses is the space of a tree, by algorithm.
type Uses [Algorithms]Use

// File adds a file of a size. each, if not nil, receives every block's length,
// its compressed sizes, and whether Btrfs tries.
func (m *Meter) File(u *Uses, r io.Reader, size int64, each func(n int64, s Sizes, worth bool)) error {
	var buffer [Block]byte
	var gaveUp [Algorithms]bool // Btrfs marks a file with a block that does not shrink
	first, worth := true, true  // whether the first block, and the current one, are worth compressing
	for at := int64(0); at < size; {
		n := int(min(Block, size-at))
		if _, err := io.ReadFull(r, buffer[:n]); err != nil {
			return err
		}
		s, err := m.Block(buffer[:n])
		if err != nil {
			return err
		}
		// Data after a block that is not worth compressing is skipped,
		// too, up to the end of the worker's part; if it is the first
		// block, the whole file is skipped.
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

// add counts a block of n bytes, of a file of a size, that was compressed to
// packed. Btrfs tried it only if it seemed worthwhile, and only a failed
// attempt makes Btrfs give up.
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
