package flash

import "time"

// tie is how many of the units with equally few live pages dynamic wear
// levelling considers. They are listed in the order in which they reached that
// number, so the first have rested longest.
const tie = 32

// room ensures that the active unit has a free page and that the reserve is
// full: if the active unit is full, it takes a new one and then collects. All
// of this happens in the foreground, within the write that needs the room;
// idle time is not used. A power cut can leave any of the steps to be
// finished.
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

// take makes a free unit the active one. There is always one: see collect.
func (p *paged) take(at time.Duration) {
	e := p.journal.add(p, pageTake, at, at)
	unit, _ := p.pool.take()
	e.a, e.b, e.c = int64(unit), int64(p.active), int64(p.ready)
	if p.active >= 0 {
		p.list(p.active)
	}
	p.active, p.fill, p.ready = int32(unit), 0, p.erased
}

// collect moves the live pages of the unit with the fewest into the active one
// and erases it. The active unit was empty when its collection began, and the
// victim has at least one dead page (there are fewer logical pages than slots
// in the listed units), so everything fits, with room to spare.
func (p *paged) collect(at time.Duration) time.Duration {
	for p.head[p.fewest] < 0 {
		p.fewest++
	}
	p.stats.Collections++
	p.begin(at, p.victim(), p.active, false)
	return p.finish(at)
}

// victim chooses among the units with the fewest live pages. Without levelling
// it takes the one that most recently reached that number, which a simple
// controller has at the top of its list; with dynamic levelling, the least
// worn of the earliest ones.
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

// level moves the contents of the unit chosen by static levelling into the
// most worn free one, so that the barely worn unit is used.
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

// finish completes a job: it copies the live pages that are still in the old
// unit and erases it. It returns when the last copy is done: the erase keeps
// its plane busy, but nothing else waits for it.
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

// copyPage moves a live page to the job's destination.
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

// forget makes a discarded page read as zeros, because its old contents are
// being erased.
func (p *paged) forget(at time.Duration, place int64) {
	lp := p.p2l[place]
	if p.l2p[lp] != uint32(place)|droppedBit {
		return
	}
	e := p.journal.add(p, pageForgot, at, at)
	e.a, e.b = int64(lp), int64(p.l2p[lp])
	p.l2p[lp] = nowhere
}

// undoUnit undoes operations on whole units.
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
