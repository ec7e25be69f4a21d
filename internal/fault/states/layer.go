package states

import (
	"whichfs/internal/fault"
	"whichfs/internal/fault/writelog"
)

// content is the contents of a block.
type content struct {
	data []byte
	sum  sum
	// known: sum is valid; own: data belongs to the layer and may be written.
	known, own bool
}

// layer holds the blocks that differ from those below it, by their index in the
// maker's table. Emptying it is free.
type layer struct {
	below      func(id int32) *content
	at         []content
	generation []uint32 // of each element of at
	now        uint32
	touched    []int32
	buffers    [][]byte // of blocks; the first used are in use
	used       int
}

func newLayer(blocks int, below func(int32) *content) *layer {
	return &layer{below: below, at: make([]content, blocks), generation: make([]uint32, blocks), now: 1}
}

// empty removes all blocks from the layer.
func (l *layer) empty() {
	l.touched, l.used = l.touched[:0], 0
	if l.now++; l.now == 0 {
		clear(l.generation)
		l.now = 1
	}
}

// get returns the contents of a block as seen through the layer.
func (l *layer) get(id int32) *content {
	if l.generation[id] == l.now {
		return &l.at[id]
	}
	return l.below(id)
}

// set replaces a block.
func (l *layer) set(id int32, c content) {
	if l.generation[id] != l.now {
		l.generation[id] = l.now
		l.touched = append(l.touched, id)
	}
	l.at[id] = c
}

// part returns a block's bytes for a partial change.
func (l *layer) part(id int32) []byte {
	if l.generation[id] == l.now && l.at[id].own {
		l.at[id].known = false
		return l.at[id].data
	}
	if l.used == len(l.buffers) {
		l.buffers = append(l.buffers, make([]byte, fault.BlockSize))
	}
	b := l.buffers[l.used]
	l.used++
	copy(b, l.get(id).data)
	l.set(id, content{data: b, own: true})
	return b
}

// lay applies sectors first to end of an entry, which covers the blocks from low to
// high of the table. numbers are the numbers of the table's blocks, and sums
// returns the contributions of the blocks that a write covers completely.
func (l *layer) lay(e writelog.Entry, first, end uint64, r reach, numbers []int64, sums func(block int64) sum) {
	from := int64(e.Sector+first) * writelog.SectorSize
	to := int64(e.Sector+end) * writelog.SectorSize
	write, begin := e.IsWrite(), int64(e.Sector)*writelog.SectorSize
	for id := r.low; id < r.high; id++ {
		at := numbers[id] * fault.BlockSize
		low, high := max(from, at), min(to, at+fault.BlockSize)
		switch {
		case low >= high: // a torn write does not reach it
		case high-low < fault.BlockSize && write:
			copy(l.part(id)[low-at:], e.Data[low-begin:high-begin])
		case high-low < fault.BlockSize:
			clear(l.part(id)[low-at : high-at])
		case write:
			l.set(id, content{data: e.Data[low-begin : high-begin : high-begin], sum: sums(numbers[id]), known: true})
		default:
			l.set(id, content{data: zeroBlock[:], known: true})
		}
	}
}

// settle computes the sums that are not known, and returns by how much the blocks
// of the layer change the sum of the disk.
func (l *layer) settle(numbers []int64) sum {
	total := sum{}
	for _, id := range l.touched {
		c := &l.at[id]
		if !c.known {
			c.sum, c.known = blockSum(numbers[id], c.data), true
		}
		total = total.plus(c.sum).minus(l.below(id).sum)
	}
	return total
}
