package flash

import (
	"math/bits"
	"time"
)

// segmented is the mapping of SchemeSegment and SchemeHybrid: each logical
// unit (a segment) is in one physical unit, and only a few units are open for
// writing. An open one has a second physical unit that receives its new pages
// in the order in which they arrive. Closing merges the two; how it does so is
// the only difference between the schemes (closer).
//
// A page's position inside its physical unit is not stored: slots are counted,
// so that a unit is never programmed beyond its end, and contents are held
// under the page's own number. Reading a page of a unit that was written out
// of order may therefore keep another plane busy than the one that it was
// programmed on.
//
// Pages that were never written are never programmed.
type segmented struct {
	*media
	plan  closer
	trims TrimModel
	loses bool // Power.MergeLoses
	limit int  // maximum number of open units

	words int64     // per bitmap of one unit's pages
	phys  []int32   // by logical unit; -1: none
	owner []int32   // by physical unit: the logical unit that phys maps to it; -1: none
	has   []uint64  // by logical unit: its pages that are in phys
	dead  []uint64  // pages that were discarded but are still readable; nil if there are none
	stale []uint32  // by physical unit: free, but must be erased before use; a serial number, 0: no
	last  uint32    // serial number
	byLog []*opened // by logical unit; nil: closed
	open  []*opened // most recently used first
	spare []*opened
	lost  []int32 // logical units lost in a cut
}

// opened is a unit that is open for writing.
type opened struct {
	logical, old, unit int32 // old: -1 if there is none
	used               int64 // programmed slots of unit
	fresh              int64 // pages in wrote
	end                int64 // offset in the unit after the last written byte
	inOrder            bool  // slot n holds page n, for all n < used
	wrote              []uint64
	prev, prevDead     []uint64 // has and dead when it was closed, for undo
}

// closer is the difference between the schemes.
type closer interface {
	// fits reports whether an open unit accepts a write at a byte offset
	// (to a page that needs n slots, itself included).
	fits(s *segmented, o *opened, at, n int64) bool
	// gaps reports whether pages that a write skips are copied at once.
	gaps() bool
	// inPlace reports whether closing with n pages to copy can keep the
	// new unit; otherwise everything goes to a third one.
	inPlace(s *segmented, o *opened, n int64) bool
}

// The kinds of journal entries.
const (
	segProgram uint8 = iota
	segGap           // skipped pages were copied: the time and the counts
	segMoved         // … the pages
	segTake          // a unit was taken from the pool
	segOpen
	segClose
	segMove // static levelling moved a closed unit
	segDrop // a unit was discarded as a whole
	segTrim // some pages were discarded
)

// Flags of segProgram.
const (
	hadWrote uint8 = 1 << iota
	wasDead
	wasInOrder
	wasCopied
)

// newSegmented makes the mapping of a number of logical pages; the first skip
// pages are mapped elsewhere.
func newSegmented(c *chip, m Model, logical, skip int64, plan closer) *segmented {
	per := m.Map.Segment / m.Media.Page
	units := (logical + per - 1) / per
	phys := units - skip/per + int64(m.Map.Open) + 2 // one for a full merge, one for levelling
	s := &segmented{
		media: newMedia(c, phys, m.Map.Segment/m.Media.Block, m.Media.Read, m.Media.Program, m.Wear),
		plan:  plan, trims: m.Trim, loses: m.Power.MergeLoses, limit: m.Map.Open,
		words: (per + 63) / 64,
		phys:  filled(units), owner: filled(phys), stale: make([]uint32, phys),
		byLog: make([]*opened, units),
	}
	s.has = make([]uint64, units*s.words)
	if m.Trim.Supported && !m.Trim.Zeroes {
		s.dead = make([]uint64, units*s.words)
	}
	return s
}

func filled(n int64) []int32 {
	a := make([]int32, n)
	for i := range a {
		a[i] = -1
	}
	return a
}

func (s *segmented) areas() []*media { return []*media{s.media} }

// hasOf and deadOf are a unit's bitmaps.
func (s *segmented) hasOf(l int64) []uint64 { return s.has[l*s.words : (l+1)*s.words] }

func (s *segmented) deadOf(l int64) []uint64 {
	if s.dead == nil {
		return nil
	}
	return s.dead[l*s.words : (l+1)*s.words]
}

func bit(b []uint64, p int64) bool { return b[p>>6]>>(p&63)&1 != 0 }

func (s *segmented) find(lp int64) (*media, ppn) {
	l, p := lp/s.per, lp%s.per
	if o := s.byLog[l]; o != nil && bit(o.wrote, p) {
		return s.media, ppn(int64(o.unit)*s.per + p)
	}
	if s.phys[l] >= 0 && bit(s.hasOf(l), p) {
		return s.media, ppn(int64(s.phys[l])*s.per + p)
	}
	return s.media, noPage
}

func (s *segmented) write(at time.Duration, w pageWrite) time.Duration {
	l, p := w.lp/s.per, w.lp%s.per
	o := s.byLog[l]
	if o != nil && !s.plan.fits(s, o, p*s.page+w.from, 1+s.between(o, p)) {
		at = s.close(at, o)
		o = nil
	}
	if o == nil {
		if len(s.open) >= s.limit {
			at = s.close(at, s.open[len(s.open)-1])
		}
		at, o = s.openUnit(at, l)
	}
	s.touch(o)
	if n := s.between(o, p); n > 0 {
		at = s.fillGap(at, o, p, n)
	}
	done := s.program(at, o, p, w)
	if o.used == s.per && o.fresh == s.per {
		s.close(done, o) // everything is new: nothing to copy
	}
	return done
}

// program puts a page into the next slot of an open unit.
func (s *segmented) program(at time.Duration, o *opened, p int64, w pageWrite) time.Duration {
	start, done := s.programTime(at, ppn(int64(o.unit)*s.per+o.used), w.copied)
	e := s.journal.add(s, segProgram, start, done)
	e.a, e.b, e.c, e.d, e.flags = int64(o.logical), p, o.used, o.end, 0
	place := ppn(int64(o.unit)*s.per + p)
	if w.copied {
		e.flags |= wasCopied
	}
	if bit(o.wrote, p) {
		e.flags |= hadWrote
		e.page = s.content(place)
	} else {
		o.fresh++
	}
	if o.inOrder {
		e.flags |= wasInOrder
	}
	o.inOrder = o.inOrder && p == o.used && e.flags&hadWrote == 0
	if d := s.deadOf(int64(o.logical)); d != nil && bit(d, p) {
		e.flags |= wasDead
		d[p>>6] &^= 1 << (p & 63)
	}
	o.wrote[p>>6] |= 1 << (p & 63)
	o.used++
	o.end = p*s.page + w.to
	s.put(place, w.data)
	return done
}

// between counts the pages that writing page p skips and that must be copied
// first.
func (s *segmented) between(o *opened, p int64) (n int64) {
	from := (o.end + s.page - 1) / s.page
	if !s.plan.gaps() || o.old < 0 || from >= p {
		return 0
	}
	for i := from >> 6; i <= (p-1)>>6; i++ {
		n += int64(bits.OnesCount64(s.need(o, i) & span(i, from, p)))
	}
	return n
}

// span is the part of word i of a bitmap that covers from up to, but not
// including, to.
func span(i, from, to int64) uint64 {
	w := ^uint64(0)
	if lo := from - i<<6; lo > 0 {
		w <<= lo
	}
	if hi := to - i<<6; hi < 64 {
		w &= 1<<hi - 1
	}
	return w
}

// need is word i of the pages that are only in the old unit and must be kept.
func (s *segmented) need(o *opened, i int64) uint64 {
	if o.old < 0 {
		return 0
	}
	w := s.hasOf(int64(o.logical))[i] &^ o.wrote[i]
	if d := s.deadOf(int64(o.logical)); d != nil {
		w &^= d[i]
	}
	return w
}

// fillGap copies the n pages between the last written one and page p.
func (s *segmented) fillGap(at time.Duration, o *opened, p, n int64) time.Duration {
	start, done := s.copyPages(at, n)
	s.journal.add(s, segGap, start, done).d = n
	from := (o.end + s.page - 1) / s.page
	for i := from >> 6; i <= (p-1)>>6; i++ {
		w := s.need(o, i) & span(i, from, p)
		if w == 0 {
			continue
		}
		k := int64(bits.OnesCount64(w))
		e := s.journal.add(s, segMoved, start, done)
		e.a, e.b, e.c, e.d = int64(o.logical), i, int64(w), k
		o.wrote[i] |= w
		o.fresh += k
		o.used += k
		s.move(o.old, o.unit, i, w)
	}
	return done
}

// move transfers contents from one unit to another, for the pages of word i
// that are in w. It takes no time.
func (s *segmented) move(from, to int32, i int64, w uint64) {
	if s.data == nil || s.data[from] == nil {
		return
	}
	for ; w != 0; w &= w - 1 {
		p := i<<6 + int64(bits.TrailingZeros64(w))
		s.put(ppn(int64(to)*s.per+p), s.data[from][p])
	}
}

// take takes an erased unit from the pool; there always is one.
func (s *segmented) take(at time.Duration, worn bool) (time.Duration, int64) {
	pick := s.pool.take
	if worn {
		pick = s.pool.takeWorn
	}
	u, _ := pick()
	s.journal.add(s, segTake, at, at).a = int64(u)
	if s.stale[u] != 0 {
		at = s.eraseUnit(at, int64(u), false)
		e := s.journal.add(s, segTake, at, at)
		e.a, e.b, e.flags = int64(u), int64(s.stale[u]), 1
		s.stale[u] = 0
	}
	return at, int64(u)
}

func (s *segmented) openUnit(at time.Duration, l int64) (time.Duration, *opened) {
	at, u := s.take(at, false)
	var o *opened
	if n := len(s.spare); n > 0 {
		o = s.spare[n-1]
		s.spare = s.spare[:n-1]
	} else {
		o = &opened{wrote: make([]uint64, s.words), prev: make([]uint64, s.words)}
		if s.dead != nil {
			o.prevDead = make([]uint64, s.words)
		}
	}
	clear(o.wrote)
	o.logical, o.old, o.unit = int32(l), s.phys[l], int32(u)
	o.used, o.fresh, o.end, o.inOrder = 0, 0, 0, true
	s.byLog[l] = o
	s.open = append(s.open, o)
	e := s.journal.add(s, segOpen, at, at)
	e.a, e.x = l, o
	return at, o
}

// touch makes a unit the most recently used one.
func (s *segmented) touch(o *opened) {
	if s.open[0] == o {
		return
	}
	for i := 1; i < len(s.open); i++ {
		if s.open[i] == o {
			copy(s.open[1:i+1], s.open[:i])
			s.open[0] = o
			return
		}
	}
}

func (s *segmented) forget(o *opened) {
	s.byLog[o.logical] = nil
	for i := range s.open {
		if s.open[i] == o {
			s.open = append(s.open[:i], s.open[i+1:]...)
			return
		}
	}
}

// close merges the two physical units of an open one: it copies pages that
// were not rewritten to the new one, or everything to a third, and erases
// units that are no longer needed.
func (s *segmented) close(at time.Duration, o *opened) time.Duration {
	l := int64(o.logical)
	has, dead := s.hasOf(l), s.deadOf(l)
	var copies, live int64
	for i := range s.words {
		copies += int64(bits.OnesCount64(s.need(o, i)))
		live += int64(bits.OnesCount64(alive(o.wrote, dead, i)))
	}
	to := int64(o.unit)
	if !s.plan.inPlace(s, o, copies) {
		copies += live
		at, to = s.take(at, false)
	}
	start, done := s.copyPages(at, copies)
	if copies > 0 {
		s.stats.Merges++
	}
	copy(o.prev, has)
	copy(o.prevDead, dead)
	for i := range s.words {
		w := s.need(o, i)
		if o.old >= 0 {
			s.move(o.old, int32(to), i, w)
		}
		kept := alive(o.wrote, dead, i)
		if to != int64(o.unit) {
			s.move(o.unit, int32(to), i, kept)
			kept |= w
		} else {
			kept = o.wrote[i] | w
		}
		has[i] = kept
		if dead != nil {
			dead[i] &= kept
		}
	}
	e := s.journal.add(s, segClose, start, done)
	e.a, e.b, e.c, e.x, e.notify = l, to, copies, o, true
	s.forget(o)
	s.phys[l], s.owner[to] = int32(to), int32(l)
	at = done
	if o.old >= 0 {
		s.owner[o.old] = -1
		at = s.eraseUnit(at, int64(o.old), true)
	}
	if to != int64(o.unit) {
		at = max(at, s.eraseUnit(done, int64(o.unit), true))
	}
	return s.level(at)
}

// alive is word i of the pages of a bitmap that are not discarded.
func alive(wrote, dead []uint64, i int64) uint64 {
	if dead == nil {
		return wrote[i]
	}
	return wrote[i] &^ dead[i]
}

// level moves the contents of a unit chosen by static wear levelling.
func (s *segmented) level(at time.Duration) time.Duration {
	u, ok := s.pool.overdue()
	if !ok || s.owner[u] < 0 || s.byLog[s.owner[u]] != nil || s.pool.free() < 2 {
		return at
	}
	l := int64(s.owner[u])
	at, to := s.take(at, true)
	has := s.hasOf(l)
	n := int64(0)
	for i := range s.words {
		n += int64(bits.OnesCount64(has[i]))
		s.move(int32(u), int32(to), i, has[i])
	}
	start, done := s.copyPages(at, n)
	e := s.journal.add(s, segMove, start, done)
	e.a, e.b, e.c, e.d = l, int64(u), to, n
	s.phys[l], s.owner[to], s.owner[u] = int32(to), int32(l), -1
	return s.eraseUnit(done, int64(u), true)
}

// trim drops pages: whole closed units at once, otherwise page by page.
func (s *segmented) trim(at time.Duration, lp, n int64) {
	for n > 0 {
		l, p := lp/s.per, lp%s.per
		k := min(n, s.per-p)
		if k == s.per && s.byLog[l] == nil && s.trims.Zeroes {
			s.drop(at, l)
		} else {
			s.trimPart(at, l, p, p+k)
		}
		lp, n = lp+k, n-k
	}
}

// drop frees the physical unit of a closed logical one. It is erased when it
// is reused.
func (s *segmented) drop(at time.Duration, l int64) {
	u := s.phys[l]
	if u < 0 {
		return
	}
	s.release(l)
	e := s.journal.add(s, segDrop, at, at)
	e.a, e.b, e.c, e.notify = l, int64(u), int64(s.stale[u]), true
}

func (s *segmented) release(l int64) {
	u := s.phys[l]
	s.phys[l], s.owner[u] = -1, -1
	s.retire(int64(u))
}

// retire frees a unit that must be erased before it is reused.
func (s *segmented) retire(u int64) {
	s.pool.put(int(u))
	s.last++
	s.stale[u] = s.last
}

func (s *segmented) trimPart(at time.Duration, l, from, to int64) {
	o, has, dead := s.byLog[l], s.hasOf(l), s.deadOf(l)
	for i := from >> 6; i <= (to-1)>>6; i++ {
		mask := span(i, from, to)
		var h, w uint64
		if s.phys[l] >= 0 {
			h = has[i] & mask
		}
		if o != nil {
			w = o.wrote[i] & mask
		}
		if dead != nil {
			h, w = (h|w)&^dead[i], 0
			dead[i] |= h
		} else {
			has[i] &^= h
			if o != nil {
				o.wrote[i] &^= w
				o.fresh -= int64(bits.OnesCount64(w))
			}
		}
		if h|w == 0 {
			continue
		}
		e := s.journal.add(s, segTrim, at, at)
		e.a, e.b, e.c, e.d = l, i, int64(h), int64(w)
	}
}

// settle recycles what undo no longer needs.
func (s *segmented) settle(e *entry) {
	switch e.kind {
	case segClose:
		s.spare = append(s.spare, e.x.(*opened))
	case segDrop:
		if s.data != nil && int64(s.stale[e.b]) == e.c {
			s.data[e.b] = nil
		}
	}
}

func (s *segmented) undo(e *entry, now time.Duration, l *Loss) {
	switch e.kind {
	case segProgram:
		s.undoProgram(e, now, l)
	case segGap:
		s.uncopy(e.d, e.start, e.end, now, l)
	case segMoved:
		o, w := s.byLog[e.a], uint64(e.c)
		o.wrote[e.b] &^= w
		o.fresh -= e.d
		o.used -= e.d
		s.wipe(o.unit, e.b, w)
	case segTake:
		if e.flags == 1 {
			s.stale[e.a] = uint32(e.b)
		} else {
			s.pool.put(int(e.a))
		}
	case segOpen:
		o := e.x.(*opened)
		s.forget(o)
		s.spare = append(s.spare, o)
	case segClose:
		s.undoClose(e, now, l)
	case segMove:
		s.uncopy(e.d, e.start, e.end, now, l)
		s.phys[e.a], s.owner[e.b], s.owner[e.c] = int32(e.b), int32(e.a), -1
		s.empty(e.c)
	case segDrop:
		s.phys[e.a], s.owner[e.b], s.stale[e.b] = int32(e.b), int32(e.a), 0
		s.pool.claim(int(e.b))
	case segTrim:
		if d := s.deadOf(e.a); d != nil {
			d[e.b] &^= uint64(e.c)
			return
		}
		s.hasOf(e.a)[e.b] |= uint64(e.c)
		if o := s.byLog[e.a]; o != nil {
			o.wrote[e.b] |= uint64(e.d)
			o.fresh += int64(bits.OnesCount64(uint64(e.d)))
		}
	}
}

func (s *segmented) undoProgram(e *entry, now time.Duration, l *Loss) {
	o, p := s.byLog[e.a], e.b
	s.unprogram(e, now, e.flags&wasCopied != 0, l)
	o.used, o.end, o.inOrder = e.c, e.d, e.flags&wasInOrder != 0
	if e.flags&hadWrote == 0 {
		o.wrote[p>>6] &^= 1 << (p & 63)
		o.fresh--
	}
	if e.flags&wasDead != 0 {
		s.deadOf(e.a)[p>>6] |= 1 << (p & 63)
	}
	s.put(ppn(int64(o.unit)*s.per+p), e.page)
}

func (s *segmented) undoClose(e *entry, now time.Duration, l *Loss) {
	o := e.x.(*opened)
	s.uncopy(e.c, e.start, e.end, now, l)
	if e.c > 0 {
		switch {
		case e.start >= now:
			s.stats.Merges--
		case e.end > now:
			l.Undone++
			if s.loses {
				s.lost = append(s.lost, o.logical)
			}
		}
	}
	s.phys[e.a], s.owner[e.b] = o.old, -1
	if o.old >= 0 {
		s.owner[o.old] = o.logical
	}
	copy(s.hasOf(e.a), o.prev)
	copy(s.deadOf(e.a), o.prevDead)
	s.byLog[e.a] = o
	s.open = append(s.open, o)
	if e.b != int64(o.unit) {
		s.empty(e.b)
		return
	}
	for i := range s.words {
		s.wipe(o.unit, i, s.need(o, i))
	}
}

// empty and wipe drop contents: of a unit, or of the pages of word i that are
// in w.
func (s *segmented) empty(u int64) {
	if s.data != nil {
		s.data[u] = nil
	}
}

func (s *segmented) wipe(u int32, i int64, w uint64) {
	if s.data == nil || s.data[u] == nil {
		return
	}
	for ; w != 0; w &= w - 1 {
		s.data[u][i<<6+int64(bits.TrailingZeros64(w))] = nil
	}
}

// recover drops the units whose merge was interrupted, if the model says so:
// everything in them reads as zeros. Then it frees units that belong to
// nothing: those taken for work that was undone, or about to be erased.
func (s *segmented) recover(_ time.Duration, loss *Loss) {
	for _, l := range s.lost {
		for i := range s.words {
			w := uint64(0)
			if s.phys[l] >= 0 {
				w = s.hasOf(int64(l))[i]
			}
			if o := s.byLog[l]; o != nil {
				w |= o.wrote[i]
			}
			loss.Neighbours += int64(bits.OnesCount64(w)) * s.page
		}
		if o := s.byLog[l]; o != nil {
			s.forget(o)
			s.spare = append(s.spare, o)
		}
		if u := s.phys[l]; u >= 0 {
			s.phys[l], s.owner[u] = -1, -1
		}
		clear(s.deadOf(int64(l)))
	}
	s.lost = s.lost[:0]
	open := make(map[int64]bool, len(s.open))
	for _, o := range s.open {
		open[int64(o.unit)] = true
	}
	for u := range s.units {
		if s.owner[u] < 0 && !open[u] && !s.pool.isFree(int(u)) {
			s.retire(u)
			s.empty(u)
		}
	}
}
