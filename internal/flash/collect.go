package flash

import "time"

// tie is how many of the units with equally few live pages dynamic levelling
// looks at for the least worn. They are listed in the order in which they came
// to be so, so that the first are those that have rested longest.
const tie = 32

// room makes sure that the active unit has a free page, and that the reserve is
// there: it takes a new unit where the active one is full, and then collects.
// All of it happens in the foreground, in the write that needs the room; idle
// time is not used. A cut can have left any of its steps to be done.
func (p *paged) room(at time.Duration) time.Duration {
	if p.job.from >= 0 {
		at = p.finish(at)
	}
	if p.fill == p.per {
		p.take(at)
	}
	for p.pool.free() < reserve {
		at = p.collect(at)
		at = p.level(at)
	}
	return at
}

// take makes a free unit the active one. There always is one: see collect.
func (p *paged) take(at time.Duration) {
	e := p.journal.add(p, pageTake, at, at)
	unit, _ := p.pool.take()
	e.a, e.b, e.c = int64(unit), int64(p.active), int64(p.ready)
	if p.active >= 0 {
		p.list(p.active)
	}
	p.active, p.fill, p.ready = int32(unit), 0, p.erased
}

// collect empties the unit with the fewest live pages into the active one and
// erases it. The active unit was empty when its collection began, and the
// victim has at least one page that does not count (there are fewer logical
// pages than places in the units listed), so everything finds room, and some
// is left.
func (p *paged) collect(at time.Duration) time.Duration {
	for p.head[p.fewest] < 0 {
		p.fewest++
	}
	p.stats.Collections++
	p.begin(at, p.victim(), p.active, false)
	return p.finish(at)
}

// victim chooses among the units with the fewest live pages. Without levelling
// it is the one that came last to have so few, which a simple controller has at
// the top of its list; with dynamic levelling the least worn of those that came
// first.
func (p *paged) victim() int32 {
	if !p.pool.wear.Dynamic {
		return p.tail[p.fewest]
	}
	best := p.head[p.fewest]
	for u, n := p.next[best], 1; u >= 0 && n < tie; u, n = p.next[u], n+1 {
		if p.pool.erases[u] < p.pool.erases[best] {
			best = u
		}
	}
	return best
}

// level moves the contents of the unit that static levelling names into the
// most worn free one, so that the hardly worn one comes into use.
func (p *paged) level(at time.Duration) time.Duration {
	unit, ok := p.pool.overdue()
	if !ok || p.prev[unit] == unlisted {
		return at
	}
	to, ok := p.pool.takeWorn()
	if !ok {
		return at
	}
	p.begin(at, int32(unit), int32(to), true)
	return p.finish(max(at, p.erased))
}

// begin journals that a unit is about to be emptied.
func (p *paged) begin(at time.Duration, from, to int32, taken bool) {
	e := p.journal.add(p, pageBegin, at, at)
	e.a, e.b = int64(from), int64(to)
	if taken {
		e.flags = 1
	}
	p.unlist(from)
	p.job = move{from: from, to: to}
}

// finish does what is left of a job: it copies the live pages that are still in
// the old unit, and erases that. It says when the last copy is there: the
// erase keeps its plane busy, but nobody else waiting.
func (p *paged) finish(at time.Duration) time.Duration {
	done := at
	from := int64(p.job.from)
	forgets := p.trims.Supported && !p.trims.Zeroes
	for place := from * p.per; place < (from+1)*p.per; place++ {
		if !p.isLive(place) {
			if forgets {
				p.forget(at, place)
			}
			continue
		}
		done = max(done, p.copyPage(at, place))
	}
	p.erased = p.eraseUnit(done, from, true)
	e := p.journal.add(p, pageEnd, at, at)
	e.a, e.b, e.c = from, int64(p.job.to), p.job.fill
	if p.job.to != p.active {
		p.list(p.job.to)
	}
	p.job = move{from: -1, to: -1}
	return done
}

// copyPage moves a live page to where the job goes.
func (p *paged) copyPage(at time.Duration, place int64) time.Duration {
	lp := int64(p.p2l[place])
	data := p.content(ppn(place))
	at = p.readPage(at, ppn(place))
	if p.job.to == p.active {
		return p.program(at, lp, data, true)
	}
	to := int64(p.job.to)*p.per + p.job.fill
	start, done := p.programPage(at, ppn(to), data, true)
	p.job.fill++
	p.remap(pageMoved, start, done, lp, to, true)
	return done
}

// forget makes a discarded page read as zeros, because what it read as until
// now is being erased.
func (p *paged) forget(at time.Duration, place int64) {
	lp := p.p2l[place]
	if p.l2p[lp] != uint32(place)|droppedBit {
		return
	}
	e := p.journal.add(p, pageForgot, at, at)
	e.a, e.b = int64(lp), int64(p.l2p[lp])
	p.l2p[lp] = nowhere
}

// undoUnit takes back what was done with whole units.
func (p *paged) undoUnit(e *entry, now time.Duration, _ *Loss) {
	switch e.kind {
	case pageTake:
		p.pool.put(int(e.a))
		p.active, p.fill, p.ready = int32(e.b), p.per, time.Duration(e.c)
		if p.active >= 0 {
			p.unlist(p.active)
		}
	case pageBegin:
		p.job = move{from: -1, to: -1}
		p.list(int32(e.a))
		if e.flags != 0 {
			p.pool.put(int(e.b))
		} else if e.start >= now {
			p.stats.Collections--
		}
	case pageEnd:
		p.job = move{from: int32(e.a), to: int32(e.b), fill: e.c}
		if p.job.to != p.active {
			p.unlist(p.job.to)
		}
	}
}
