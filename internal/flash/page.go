package flash

import (
	"math"
	"time"
)

// paged maps every page separately. New versions of pages are appended to the
// active unit (an erase block); collection (collect.go) reclaims units.
//
// Host writes and the copies of collection go into the same active unit: the
// single stream that the analyses of greedy collection assume. Consecutive
// pages of a unit lie on consecutive planes, so that one active unit keeps all
// of them busy.
//
// Spare space. The counted units are logical × (1 + spare), rounded up to
// whole units, and at least one more than the logical pages need: with less,
// even sequential writing would have to copy. One more unit (reserve) is not
// over-provisioning: collection copies into it, and it is free again
// afterwards. So whenever a victim is chosen there is one empty active unit,
// and the valid pages are spread over exactly the counted units.
//
// Memory is 4 B for each logical and each physical page, a bit for each
// physical one, and 24 B for each unit.
type paged struct {
	*media
	trims TrimModel
	l2p   []uint32 // location of a logical page; nowhere; with droppedBit: discarded, but still readable
	p2l   []uint32 // the logical page last written to a physical one
	live  []uint64 // a bit for each physical page: it is the current version
	valid []int32  // live pages of each unit

	// Full units, listed by their live pages.
	head, tail []int32 // by live pages; −1: none
	next, prev []int32 // by unit; prev is unlisted for all others
	fewest     int     // a lower bound of the live pages of the listed units

	active int32 // the unit being written; −1: none yet
	fill   int64 // its pages that are programmed
	ready  time.Duration
	erased time.Duration // when the last erase ended
	job    move
}

// move is a unit being emptied into another.
type move struct {
	from, to int32 // −1: none
	fill     int64 // pages programmed in to, unless that is the active unit
}

const (
	nowhere    = math.MaxUint32
	droppedBit = 1 << 31
	unlisted   = -2
	// reserve is how many units are free whenever no collection is in
	// progress.
	reserve = 1
	// maxPages is how many physical pages fit into the tables.
	maxPages = 1<<31 - 1
)

// The kinds of journal entries of a page mapping.
const (
	pagePut    uint8 = iota // a: logical page, b: what l2p was, c: physical page
	pageMoved               // likewise, into job.to
	pageTake                // a: unit taken, b: active one before, c, d: ready before, erased before
	pageBegin               // a: job.from, b: job.to, if it was taken from the pool
	pageEnd                 // a, b, c: the job
	pageTrim                // a: first logical page, b: number, x: what l2p was
	pageForgot              // a: logical page, b: what l2p was
)

// pageUnits is how many units of physical space a page mapping has for its
// logical pages, without the reserve.
func pageUnits(logical, per int64, spare float64) int64 {
	return max(int64(math.Ceil(float64(logical)*(1+spare)/float64(per))), (logical+per-1)/per+1)
}

func newPage(c *chip, logical int64, spare float64, w Wear, t TrimModel, m Media) *paged {
	units := pageUnits(logical, c.block, spare) + reserve
	p := &paged{
		media: newMedia(c, units, 1, m.Read, m.Program, w), trims: t,
		l2p: make([]uint32, logical), p2l: make([]uint32, units*c.block),
		live: make([]uint64, (units*c.block+63)/64), valid: make([]int32, units),
		head: make([]int32, c.block+1), tail: make([]int32, c.block+1),
		next: make([]int32, units), prev: make([]int32, units),
		fewest: int(c.block), active: -1, fill: c.block, job: move{from: -1, to: -1},
	}
	for i := range p.l2p {
		p.l2p[i] = nowhere
	}
	for i := range p.head {
		p.head[i], p.tail[i] = -1, -1
	}
	for i := range p.prev {
		p.prev[i] = unlisted
	}
	return p
}

func (p *paged) areas() []*media { return []*media{p.media} }

func (p *paged) find(lp int64) (*media, ppn) {
	v := p.l2p[lp]
	if v == nowhere {
		return nil, noPage
	}
	return p.media, ppn(v &^ droppedBit)
}

func (p *paged) write(at time.Duration, w pageWrite) time.Duration {
	at = p.room(at)
	return p.program(at, w.lp, w.data, w.copied)
}

// program puts a version of a page into the active unit, which has room.
func (p *paged) program(at time.Duration, lp int64, data *contents, copied bool) time.Duration {
	place := int64(p.active)*p.per + p.fill
	start, done := p.programPage(max(at, p.ready), ppn(place), data, copied)
	p.fill++
	p.remap(pagePut, start, done, lp, place, copied)
	return done
}

// remap makes a physical page the current version of a logical one.
func (p *paged) remap(kind uint8, start, done time.Duration, lp, place int64, copied bool) {
	old := p.l2p[lp]
	e := p.journal.add(p, kind, start, done)
	e.a, e.b, e.c = lp, int64(old), place
	if copied {
		e.flags = 1
	}
	if old&droppedBit == 0 {
		p.invalidate(old)
	}
	p.l2p[lp], p.p2l[place] = uint32(place), uint32(lp)
	p.revive(uint32(place))
}

func (p *paged) trim(at time.Duration, lp, n int64) {
	old := p.l2p[lp : lp+n]
	for len(old) > 0 && old[0]&droppedBit != 0 { // nowhere has that bit, too
		old = old[1:]
		lp++
	}
	if len(old) == 0 {
		return
	}
	e := p.journal.add(p, pageTrim, at, at)
	e.a, e.b = lp, int64(len(old))
	if len(old) == 1 {
		e.c = int64(old[0])
	} else {
		saved := append([]uint32(nil), old...)
		e.x = &saved
	}
	for i, v := range old {
		if v&droppedBit != 0 {
			continue
		}
		p.invalidate(v)
		if p.trims.Zeroes {
			old[i] = nowhere
		} else {
			old[i] = v | droppedBit
		}
	}
}

// undo implements undoer.
func (p *paged) undo(e *entry, now time.Duration, l *Loss) {
	switch e.kind {
	case pagePut, pageMoved:
		p.invalidate(uint32(e.c))
		p.put(ppn(e.c), nil)
		p.restore(e.a, uint32(e.b))
		p.unprogram(e, now, e.flags != 0, l)
		if e.kind == pagePut {
			p.fill--
		} else {
			p.job.fill--
		}
	case pageTrim:
		if e.b == 1 {
			p.restore(e.a, uint32(e.c))
			break
		}
		for i, v := range *e.x.(*[]uint32) {
			if p.l2p[e.a+int64(i)] != v {
				p.restore(e.a+int64(i), v)
			}
		}
	case pageForgot:
		p.restore(e.a, uint32(e.b))
	default:
		p.undoUnit(e, now, l)
	}
}

func (p *paged) settle(*entry) {}

// recover implements recoverer: no erase is in progress any more. The next
// write finishes any remaining job.
func (p *paged) recover(now time.Duration, _ *Loss) {
	p.ready, p.erased = min(p.ready, now), min(p.erased, now)
}

// restore makes an older version of a page the current one again.
func (p *paged) restore(lp int64, old uint32) {
	p.l2p[lp] = old
	if old == nowhere {
		return
	}
	p.p2l[old&^droppedBit] = uint32(lp) // the slot may have been reused since
	if old&droppedBit == 0 {
		p.revive(old)
	}
}

// invalidate and revive set whether a physical page is a current version.
func (p *paged) invalidate(place uint32) {
	p.live[place>>6] &^= 1 << (place & 63)
	p.credit(int32(int64(place)/p.per), -1)
}

func (p *paged) revive(place uint32) {
	p.live[place>>6] |= 1 << (place & 63)
	p.credit(int32(int64(place)/p.per), 1)
}

func (p *paged) isLive(place int64) bool { return p.live[place>>6]&(1<<(place&63)) != 0 }

// credit changes the number of live pages of a unit.
func (p *paged) credit(unit, by int32) {
	if p.prev[unit] == unlisted {
		p.valid[unit] += by
		return
	}
	p.unlist(unit)
	p.valid[unit] += by
	p.list(unit)
}

// list appends a unit to the list of those with as many live pages.
func (p *paged) list(unit int32) {
	n := p.valid[unit]
	last := p.tail[n]
	p.prev[unit], p.next[unit], p.tail[n] = last, -1, unit
	if last < 0 {
		p.head[n] = unit
	} else {
		p.next[last] = unit
	}
	p.fewest = min(p.fewest, int(n))
}

func (p *paged) unlist(unit int32) {
	n, before, after := p.valid[unit], p.prev[unit], p.next[unit]
	if before < 0 {
		p.head[n] = after
	} else {
		p.next[before] = after
	}
	if after < 0 {
		p.tail[n] = before
	} else {
		p.prev[after] = before
	}
	p.prev[unit] = unlisted
}
