package flash

import (
	"slices"
	"time"
)

// fast is a fast area (an SLC cache) in front of another mapping. Pages are
// written into its erase blocks sequentially, regardless of their address.
// Once all but one block are in use, each new page first folds one page of the
// oldest block: it is programmed into the underlying mapping, in address
// order. If the model says so, idle time folds everything.
type fast struct {
	*media
	below   mapping
	trims   TrimModel
	wait    time.Duration // Fast.Idle
	index   map[int64]int32
	back    []int64 // the logical page of each physical one; -1: no live one
	dropped []bool  // of physical pages: discarded, but still readable
	used    []int32 // blocks in use, oldest first; the last one is being written
	pos     int64   // its next page
	folding []int64 // logical pages of the oldest block that are still to be folded
	begun   bool    // folding belongs to the current oldest block
	pending pipe
}

// The kinds of journal entries.
const (
	fastPut uint8 = iota
	fastTake
	fastGone // a page was folded, or dropped
	fastDone // the oldest block was folded
	fastDrop // a page was discarded but is still readable
	fastFold // counts a fold
)

func newFast(c *chip, m Model, below mapping) *fast {
	read := m.Fast.Read
	if read == 0 {
		read = m.Media.Read
	}
	f := &fast{
		media: newMedia(c, m.Fast.Size/m.Media.Block+1, 1, read, m.Fast.Program, m.Wear),
		below: below, trims: m.Trim, wait: m.Fast.Idle, index: map[int64]int32{},
		pending: pipe{depth: 2 * m.Media.Planes},
	}
	f.back = make([]int64, f.units*f.per)
	for i := range f.back {
		f.back[i] = -1
	}
	if m.Trim.Supported && !m.Trim.Zeroes {
		f.dropped = make([]bool, len(f.back))
	}
	return f
}

func (f *fast) areas() []*media { return append([]*media{f.media}, f.below.areas()...) }

func (f *fast) find(lp int64) (*media, ppn) {
	if p, ok := f.index[lp]; ok {
		return f.media, ppn(p)
	}
	return f.below.find(lp)
}

func (f *fast) write(at time.Duration, w pageWrite) time.Duration {
	if len(f.used) == 0 || f.pos == f.per {
		for f.pool.free() == 0 {
			at = f.fold(at)
		}
		u, _ := f.pool.take()
		f.journal.add(f, fastTake, at, at).a = int64(u)
		f.used = append(f.used, int32(u))
		f.pos = 0
	}
	if f.pool.free() == 0 {
		f.fold(at)
	}
	p := int64(f.used[len(f.used)-1])*f.per + f.pos
	start, done := f.programPage(at, ppn(p), w.data, false)
	e := f.journal.add(f, fastPut, start, done)
	e.a, e.b, e.c, e.d = w.lp, p, -1, f.pos
	if f.dropped != nil && f.dropped[p] { // from its previous use
		f.dropped[p] = false
		e.flags = 1
	}
	if old, ok := f.index[w.lp]; ok {
		e.c = int64(old)
		f.back[old] = -1
	}
	f.index[w.lp], f.back[p] = int32(p), w.lp
	f.pos++
	return done
}

// fold folds one page of the oldest block, and erases the block when it is
// empty.
func (f *fast) fold(at time.Duration) time.Duration {
	if !f.begun {
		u := int64(f.used[0])
		f.folding = f.folding[:0]
		for _, lp := range f.back[u*f.per : (u+1)*f.per] {
			if lp >= 0 {
				f.folding = append(f.folding, lp)
			}
		}
		slices.Sort(f.folding)
		slices.Reverse(f.folding)
		f.begun = true
		if len(f.used) == 1 {
			f.pos = f.per // it accepts no more pages
		}
	}
	done := at
	for len(f.folding) > 0 && done == at {
		lp := f.folding[len(f.folding)-1]
		f.folding = f.folding[:len(f.folding)-1]
		if p, ok := f.index[lp]; ok && int64(p)/f.per == int64(f.used[0]) {
			done = f.foldPage(at, lp, p)
		}
	}
	if len(f.folding) > 0 {
		return done
	}
	u := f.used[0]
	f.used = append(f.used[:0], f.used[1:]...)
	f.begun = false
	done = f.eraseUnit(done, int64(u), true)
	f.journal.add(f, fastDone, done, done).a = int64(u)
	return done
}

// foldPage moves one page into the underlying mapping; a discarded page is
// simply dropped.
func (f *fast) foldPage(at time.Duration, lp int64, p int32) time.Duration {
	if f.dropped == nil || !f.dropped[p] {
		w := pageWrite{lp: lp, to: f.page, data: f.content(ppn(p)), copied: true}
		at = f.readPage(at, ppn(p))
		done := f.below.write(at, w)
		f.stats.Folds++
		f.journal.add(f, fastFold, at, done)
		at = done
	}
	f.gone(at, lp, p)
	return at
}

// gone removes a page from the area's tables.
func (f *fast) gone(at time.Duration, lp int64, p int32) {
	e := f.journal.add(f, fastGone, at, at)
	e.a, e.b = lp, int64(p)
	if f.dropped != nil && f.dropped[p] {
		e.flags = 1
		f.dropped[p] = false
	}
	delete(f.index, lp)
	f.back[p] = -1
}

func (f *fast) trim(at time.Duration, lp, n int64) {
	if n > int64(len(f.back)) {
		for p, l := range f.back {
			if l >= lp && l < lp+n {
				f.trimPage(at, l, int32(p))
			}
		}
	} else {
		for l := lp; l < lp+n; l++ {
			if p, ok := f.index[l]; ok {
				f.trimPage(at, l, p)
			}
		}
	}
	f.below.trim(at, lp, n)
}

func (f *fast) trimPage(at time.Duration, lp int64, p int32) {
	if f.dropped == nil {
		f.gone(at, lp, p)
		return
	}
	if !f.dropped[p] {
		f.dropped[p] = true
		f.journal.add(f, fastDrop, at, at).b = int64(p)
	}
}

// idle folds as much as time allows, and then passes idle time on to the
// underlying mapping.
func (f *fast) idle(from, until time.Duration) {
	at := from + f.wait
	for f.wait > 0 && len(f.used) > 0 {
		f.pending.settle(at)
		if f.pending.full() {
			at = f.pending.wait(at)
		}
		if at >= until {
			return
		}
		f.pending.push(f.fold(at))
	}
	if i, ok := f.below.(idler); ok {
		i.idle(at, until)
	}
}

func (f *fast) settle(*entry) {}

func (f *fast) undo(e *entry, now time.Duration, l *Loss) {
	switch e.kind {
	case fastPut:
		f.unprogram(e, now, false, l)
		f.put(ppn(e.b), nil)
		f.back[e.b] = -1
		f.pos = e.d
		if e.flags == 1 {
			f.dropped[e.b] = true
		}
		if e.c < 0 {
			delete(f.index, e.a)
		} else {
			f.index[e.a], f.back[e.c] = int32(e.c), e.a
		}
	case fastTake:
		f.used = f.used[:len(f.used)-1]
		f.pool.put(int(e.a))
		f.pos = f.per
	case fastGone:
		f.index[e.a], f.back[e.b] = int32(e.b), e.a
		if e.flags == 1 {
			f.dropped[e.b] = true
		}
	case fastDone:
		f.used = slices.Insert(f.used, 0, int32(e.a))
	case fastDrop:
		f.dropped[e.b] = false
	case fastFold:
		if e.start >= now {
			f.stats.Folds--
		}
	}
	f.begun = false
}

// recover passes recovery on to the underlying mapping.
func (f *fast) recover(now time.Duration, l *Loss) {
	f.pending.reset()
	if r, ok := f.below.(recoverer); ok {
		r.recover(now, l)
	}
}
