package flash

import (
	"math/bits"
	"time"
)

// close brings the two physical units of an open one together: what was not
// rewritten is copied to the new one, or everything to a third, and what is not
// needed any more is erased.
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
	e.a, e.b, e.c, e.x, e.told = l, to, copies, o, true
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

// level moves the contents of a unit that static wear levelling wants to move.
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

// drop sets the physical unit of a closed logical one free. It is erased when
// it is used again.
func (s *segmented) drop(at time.Duration, l int64) {
	u := s.phys[l]
	if u < 0 {
		return
	}
	s.release(l)
	e := s.journal.add(s, segDrop, at, at)
	e.a, e.b, e.c, e.told = l, int64(u), int64(s.stale[u]), true
}

func (s *segmented) release(l int64) {
	u := s.phys[l]
	s.phys[l], s.owner[u] = -1, -1
	s.retire(int64(u))
}

// retire sets a unit free that is to be erased before it is used again.
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

// settle takes back into stock what undo does not need any more.
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

// empty and wipe forget contents: of a unit, or of the pages of word i that w
// has.
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

// recover drops the units whose merge was cut short, where the model says so:
// everything in them reads as zeros. Then it sets free what belongs to nothing:
// units that were taken for something that is undone, or were about to be erased.
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
