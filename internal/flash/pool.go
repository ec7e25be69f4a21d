package flash

// defaultGap is Wear.Gap if the model does not set it.
const defaultGap = 64

// pool tracks the units of a medium (erase blocks, segments or whatever a
// scheme erases together): which are free, how often each was erased, which
// free one is next, and which unit in use has been left alone for so long that
// its contents should move. All wear levelling happens here, and every scheme
// takes its units from the pool:
//
//	u, ok := p.take()      a free unit for new data
//	p.erase(u)             counts an erase, whenever the scheme erases u
//	p.put(u)               the contents of u are no longer needed
//	u, ok := p.overdue()   after an erase: move the contents of u, or refuse
//	w, ok := p.takeWorn()  … to here
//
// A unit that is put back need not be erased at once: a scheme may erase
// before it puts or after it takes.
//
// Without levelling, take returns the free unit with the lowest number, like a
// simple controller that searches for the first free block. With dynamic
// levelling it returns the least worn one, and of several the one with the
// lowest number. Both choices depend only on which units are free and how worn
// they are, so that undoing a take is a put, and undoing a put is a claim.
// Erases are never undone: they did wear the cells.
type pool struct {
	wear   Wear
	erases []uint32 // of each unit
	heap   []int32  // free units, the next one first
	place  []int32  // of each unit in heap; −1: in use

	used   []int32 // units in use by their erases
	least  int     // a lower bound of the erases of units in use
	most   int     // erases of the most worn unit, free or not
	cursor int     // where the search for the coldest unit continues
	pause  int64   // erases before the next unit may be overdue
}

// newPool makes a pool of units, all free and never erased.
func newPool(units int, wear Wear) *pool {
	if wear.Gap <= 0 {
		wear.Gap = defaultGap
	}
	p := &pool{wear: wear, erases: make([]uint32, units), heap: make([]int32, units), place: make([]int32, units), used: []int32{0}}
	for u := range p.heap {
		p.heap[u], p.place[u] = int32(u), int32(u)
	}
	return p
}

// free is the number of free units.
func (p *pool) free() int { return len(p.heap) }

// isFree reports whether a unit is free.
func (p *pool) isFree(unit int) bool { return p.place[unit] >= 0 }

// take returns a free unit for data that may change.
func (p *pool) take() (unit int, ok bool) {
	if len(p.heap) == 0 {
		return 0, false
	}
	unit = int(p.heap[0])
	p.claim(unit)
	return unit, true
}

// takeWorn returns the most worn free unit, where static levelling puts data
// that does not change.
func (p *pool) takeWorn() (unit int, ok bool) {
	if len(p.heap) == 0 {
		return 0, false
	}
	unit = int(p.heap[0])
	for _, u := range p.heap {
		if n := p.erases[u]; n > p.erases[unit] || n == p.erases[unit] && int(u) < unit {
			unit = int(u)
		}
	}
	p.claim(unit)
	return unit, true
}

// claim takes a particular unit, which must be free.
func (p *pool) claim(unit int) {
	i, last := int(p.place[unit]), len(p.heap)-1
	p.swap(i, last)
	p.heap = p.heap[:last]
	p.place[unit] = -1
	if i < last {
		p.sift(i)
	}
	p.count(p.erases[unit], 1)
}

// put frees a unit in use.
func (p *pool) put(unit int) {
	p.count(p.erases[unit], -1)
	p.place[unit] = int32(len(p.heap))
	p.heap = append(p.heap, int32(unit))
	p.sift(len(p.heap) - 1)
}

// erase counts an erase of a unit, free or in use.
func (p *pool) erase(unit int) {
	before := p.erases[unit]
	p.erases[unit]++
	p.most = max(p.most, int(before)+1)
	p.pause--
	if p.isFree(unit) {
		p.sift(int(p.place[unit]))
		return
	}
	p.count(before+1, 1)
	p.count(before, -1)
}

// count adds units in use with a given number of erases.
func (p *pool) count(erases uint32, units int32) {
	for int(erases) >= len(p.used) {
		p.used = append(p.used, 0)
	}
	p.used[erases] += units
	if units > 0 {
		p.least = min(p.least, int(erases))
	}
}

// overdue returns a unit in use whose contents static levelling wants to move
// (to a unit from takeWorn), because it has been erased less often than the
// most worn one by more than the gap. There may be none. After it returns one,
// it returns none for the next quarter of the gap, in erases: moves are at
// most 4 / gap of all erases, yet more than the 1 / gap that keeps the gap
// from growing. A scheme that cannot move the unit at the moment simply does
// not.
func (p *pool) overdue() (unit int, ok bool) {
	if !p.wear.Static || p.pause > 0 || len(p.heap) == len(p.erases) {
		return 0, false
	}
	for p.used[p.least] == 0 {
		p.least++
	}
	if int64(p.most-p.least) <= p.wear.Gap {
		return 0, false
	}
	for range p.erases {
		p.cursor++
		if p.cursor >= len(p.erases) {
			p.cursor = 0
		}
		if u := p.cursor; p.place[u] < 0 && int(p.erases[u]) == p.least {
			p.pause = p.wear.Gap / 4
			return u, true
		}
	}
	return 0, false
}

// before reports whether unit a is taken before unit b.
func (p *pool) before(a, b int32) bool {
	if p.wear.Dynamic && p.erases[a] != p.erases[b] {
		return p.erases[a] < p.erases[b]
	}
	return a < b
}

func (p *pool) swap(i, j int) {
	p.heap[i], p.heap[j] = p.heap[j], p.heap[i]
	p.place[p.heap[i]], p.place[p.heap[j]] = int32(i), int32(j)
}

// sift moves the unit at a heap position to where it belongs.
func (p *pool) sift(i int) {
	for i > 0 && p.before(p.heap[i], p.heap[(i-1)/2]) {
		p.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
	for {
		next := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(p.heap); child++ {
			if p.before(p.heap[child], p.heap[next]) {
				next = child
			}
		}
		if next == i {
			return
		}
		p.swap(i, next)
		i = next
	}
}
