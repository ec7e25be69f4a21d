package states

import (
	"slices"

	"whichfs/internal/fault"
	"whichfs/internal/fault/writelog"
)

// Block is one block of fault.BlockSize bytes.
type Block struct {
	Number int64
	Data   []byte
}

var zeroBlock [fault.BlockSize]byte

// reach is the range of blocks of the maker's table that an entry touches.
type reach struct{ low, high int32 }

// Maker makes the contents of states. One table holds all blocks that the log can
// change, in the order of their numbers. Above the base is a layer with the data
// that are durable before the last flush, which grows with the points, and above
// that a layer with the additions of a single state. Blocks that a write covers
// completely are not copied, and are hashed once. A Maker must be used from one
// goroutine.
type Maker struct {
	log     writelog.Log
	start   []int   // by point: the last flush before it, the first entry that can be volatile
	numbers []int64 // of the blocks of the table, ascending
	reaches []reach // by entry
	sums    [][]sum // by entry: of the blocks that it covers completely; nil: not computed
	base    []content
	total   sum // of the base
	durable *layer
	until   int // durable contains the entries before this one
	added   sum // by durable
	state   *layer
	blocks  []Block
}

// NewMaker takes the contents of the disk before the log. The caller must not
// change either while the maker is in use.
func NewMaker(base fault.Image, l writelog.Log) *Maker {
	m := &Maker{log: l, numbers: table(base, l), sums: make([][]sum, len(l.Entries))}
	start := 0
	m.start = append(m.start, 0)
	for i, e := range l.Entries {
		if e.Flags&writelog.Flush != 0 {
			start = i
		}
		m.start = append(m.start, start)
	}
	for _, e := range l.Entries {
		r := reach{}
		if e.IsWrite() || e.IsDiscard() {
			first, end := span(e)
			low, _ := slices.BinarySearch(m.numbers, first)
			high, _ := slices.BinarySearch(m.numbers, end)
			r = reach{int32(low), int32(high)}
		}
		m.reaches = append(m.reaches, r)
	}
	for n, b := range base.Blocks {
		m.total = m.total.plus(blockSum(n, whole(b)))
	}
	for _, n := range m.numbers {
		b := whole(base.Blocks[n])
		m.base = append(m.base, content{data: b, sum: blockSum(n, b), known: true})
	}
	m.durable = newLayer(len(m.numbers), func(id int32) *content { return &m.base[id] })
	m.state = newLayer(len(m.numbers), m.durable.get)
	return m
}

// whole returns a block in its full length.
func whole(b []byte) []byte {
	switch len(b) {
	case fault.BlockSize:
		return b
	case 0:
		return zeroBlock[:]
	}
	full := make([]byte, fault.BlockSize)
	copy(full, b)
	return full
}

// span returns the first block that an entry touches, and the one after its last.
func span(e writelog.Entry) (first, end int64) {
	const sectors = fault.BlockSize / writelog.SectorSize
	return int64(e.Sector / sectors), int64((e.Sector + e.Sectors + sectors - 1) / sectors)
}

// table lists the numbers of the blocks that a log can change: those that it
// writes, and of those that it discards the ones that are not empty.
func table(base fault.Image, l writelog.Log) []int64 {
	known := map[int64]bool{}
	for _, e := range l.Entries {
		if e.IsWrite() {
			first, end := span(e)
			for n := first; n < end; n++ {
				known[n] = true
			}
		}
	}
	for _, e := range l.Entries {
		if !e.IsDiscard() {
			continue
		}
		first, end := span(e)
		if end-first <= int64(len(base.Blocks)) {
			for n := first; n < end; n++ {
				if base.Blocks[n] != nil {
					known[n] = true
				}
			}
			continue
		}
		for n := range base.Blocks {
			if n >= first && n < end {
				known[n] = true
			}
		}
	}
	numbers := make([]int64, 0, len(known))
	for n := range known {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	return numbers
}

// Make returns the blocks that differ from the base, in the order of their numbers,
// and the hash of the whole disk. Both are valid until the next call; the caller
// must not change the blocks' data. It is fastest for states in the order of their
// points. Parts of a state that are impossible (see Check) have no effect.
func (m *Maker) Make(s State) (changed []Block, h Hash) {
	point := min(max(s.Point, 0), len(m.log.Entries))
	start := m.start[point]
	m.advance(start)
	kept := s.Kept
	if !slices.IsSorted(kept) {
		kept = slices.Sorted(slices.Values(kept))
	}
	m.state.empty()
	for i := start; i < point; i++ {
		for len(kept) > 0 && kept[0] < i {
			kept = kept[1:]
		}
		if m.log.Entries[i].Flags&writelog.FUA == 0 && (len(kept) == 0 || kept[0] != i) {
			continue
		}
		first, end := uint64(0), m.log.Entries[i].Sectors
		if t := s.Torn; t != nil && t.Entry == i {
			first = min(uint64(max(t.First, 0)), end)
			end = min(first+uint64(max(t.Sectors, 0)), end)
		}
		m.lay(m.state, i, first, end)
	}
	total := m.total.plus(m.added).plus(m.state.settle(m.numbers))
	m.blocks = m.blocks[:0]
	for id := range m.numbers {
		if c := m.state.get(int32(id)); c.sum != m.base[id].sum {
			m.blocks = append(m.blocks, Block{Number: m.numbers[id], Data: c.data})
		}
	}
	return m.blocks, total.hash()
}

// advance extends the durable layer to the entries before start, all of which are
// durable there.
func (m *Maker) advance(start int) {
	if start == m.until {
		return
	}
	if start < m.until {
		m.durable.empty()
		m.until = 0
	}
	for ; m.until < start; m.until++ {
		m.lay(m.durable, m.until, 0, m.log.Entries[m.until].Sectors)
	}
	m.added = m.durable.settle(m.numbers)
}

// lay applies sectors first to end of an entry to a layer.
func (m *Maker) lay(l *layer, entry int, first, end uint64) {
	e := m.log.Entries[entry]
	if r := m.reaches[entry]; r.low < r.high {
		l.lay(e, first, end, r, m.numbers, func(block int64) sum { return m.blockOf(entry, block) })
	}
}

// blockOf returns the contribution of a block that an entry covers completely.
func (m *Maker) blockOf(entry int, block int64) sum {
	e := m.log.Entries[entry]
	begin := int64(e.Sector) * writelog.SectorSize
	first := (begin + fault.BlockSize - 1) / fault.BlockSize
	if m.sums[entry] == nil {
		end := (begin + int64(len(e.Data))) / fault.BlockSize
		for n := first; n < end; n++ {
			m.sums[entry] = append(m.sums[entry], blockSum(n, e.Data[n*fault.BlockSize-begin:]))
		}
	}
	return m.sums[entry][block-first]
}
