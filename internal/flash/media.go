package flash

import "time"

// ppn is a physical page: its number within one media.
type ppn int64

// noPage is the location of a logical page that is not stored.
const noPage ppn = -1

// chip is what all areas of a device share: the planes and when each is free,
// the journal, and the counters.
type chip struct {
	page    int64 // B
	block   int64 // pages
	erase   time.Duration
	planes  []time.Duration // busy until
	journal journal
	stats   *Stats
}

func newChip(m Media, s *Stats) *chip {
	return &chip{page: m.Page, block: m.Block / m.Page, erase: m.Erase,
		planes: make([]time.Duration, m.Planes), stats: s}
}

// busy keeps a plane busy for a duration, starting at an instant or when it
// becomes free, and returns start and end.
func (c *chip) busy(plane int64, at, d time.Duration) (start, end time.Duration) {
	p := &c.planes[plane]
	start = max(at, *p)
	*p = start + d
	return start, *p
}

// spread distributes n equal operations over all planes, beginning with first;
// each plane does its share sequentially. It returns when the first begins and
// the last ends.
func (c *chip) spread(first, n int64, at, d time.Duration) (start, end time.Duration) {
	if n <= 0 {
		return at, at
	}
	planes := int64(len(c.planes))
	each, more := n/planes, n%planes
	for i := range min(n, planes) {
		k := each
		if i < more {
			k++
		}
		s, e := c.busy((first+i)%planes, at, time.Duration(k)*d)
		if i == 0 || s < start {
			start = s
		}
		end = max(end, e)
	}
	return start, end
}

// media is one area of the medium: the main one, the FAT area's, or the fast
// one. It is divided into units, which are erased as a whole: an erase block
// for a page mapping, a segment's erase blocks for the others. Pages are
// numbered consecutively: unit × per + place in the unit.
//
// Consecutive pages lie on consecutive planes, and so do consecutive erase
// blocks: a page uses plane number modulo planes, an erase likewise by the
// block's number.
//
// Contents are held by physical page and never changed in place: moving a page
// moves the pointer, and rewriting a page makes a new one. So two locations
// may share contents, and a reader may keep them.
type media struct {
	*chip
	per     int64 // pages per unit
	blocks  int64 // erase blocks per unit
	units   int64
	read    time.Duration // per page
	program time.Duration // per page
	pool    *pool         // which units are free, and how worn each one is
	data    [][]*contents // by unit and page; nil: empty
}

// newMedia makes an erased area of units with a number of erase blocks each,
// all free.
func newMedia(c *chip, units, blocks int64, read, program time.Duration, w Wear) *media {
	return &media{chip: c, per: blocks * c.block, blocks: blocks, units: units,
		read: read, program: program, pool: newPool(int(units), w)}
}

// readPage spends the time to read a page.
func (m *media) readPage(at time.Duration, p ppn) (done time.Duration) {
	m.stats.PagesRead++
	_, done = m.busy(int64(p)%int64(len(m.planes)), at, m.read)
	return done
}

// programPage spends the time to program a page, counts it, and stores its
// contents (nil: none, reads as zeros). It keeps data without a copy. The
// caller journals it, and undoes it with unprogram.
func (m *media) programPage(at time.Duration, p ppn, data *contents, copied bool) (start, done time.Duration) {
	start, done = m.programTime(at, p, copied)
	m.put(p, data)
	return start, done
}

// programTime is programPage without the contents.
func (m *media) programTime(at time.Duration, p ppn, copied bool) (start, done time.Duration) {
	start, done = m.busy(int64(p)%int64(len(m.planes)), at, m.program)
	m.count(1, copied)
	return start, done
}

// count counts n pages as programmed; a negative n uncounts them.
func (m *media) count(n int64, copied bool) {
	m.stats.Programmed += n * m.page
	if copied {
		m.stats.Copied += n * m.page
	}
}

// unprogram undoes the program of an entry's page in the counters only:
// uncounted if it had not begun, torn if it was in progress.
func (m *media) unprogram(e *entry, now time.Duration, copied bool, l *Loss) {
	switch {
	case e.start >= now:
		m.count(-1, copied)
	case e.end > now:
		l.Torn++
	}
}

// copyPages spends the time to copy n pages within the area, with all planes
// at work, and counts them. Move the contents with put.
func (m *media) copyPages(at time.Duration, n int64) (start, done time.Duration) {
	if n == 0 {
		return at, at
	}
	m.stats.PagesRead += n
	m.count(n, true)
	return m.spread(0, n, at, m.read+m.program)
}

// uncopy undoes copyPages in the counters, for what had not begun at now. It
// takes all planes to have begun together. One that was busy until later is at
// work for longer; at least one page is then torn, since the copy had not ended.
func (m *media) uncopy(n int64, start, end, now time.Duration, l *Loss) {
	if n == 0 || end <= now {
		return
	}
	begun := int64(0)
	if planes := int64(len(m.planes)); now > start {
		rounds := int64((now-start)/(m.read+m.program)) + 1
		begun = min(n, rounds*planes)
		l.Torn += max(1, min(n-(rounds-1)*planes, planes))
	}
	m.stats.PagesRead -= n - begun
	m.count(begun-n, true)
}

// content returns the contents of a page; nil reads as zeros. Callers must not
// change it.
func (m *media) content(p ppn) *contents {
	if p == noPage || m.data == nil {
		return nil
	}
	u := m.data[int64(p)/m.per]
	if u == nil {
		return nil
	}
	return u[int64(p)%m.per]
}

// put sets the contents of a page without taking time.
func (m *media) put(p ppn, data *contents) {
	if m.data == nil {
		if data == nil {
			return
		}
		m.data = make([][]*contents, m.units)
	}
	u := &m.data[int64(p)/m.per]
	if *u == nil {
		if data == nil {
			return
		}
		*u = make([]*contents, m.per)
	}
	(*u)[int64(p)%m.per] = data
}

// eraseUnit erases the blocks of a unit in use, and frees it if asked to. That
// is journaled: if undone, the unit has its contents back and is in use. The
// erase stays counted, because a half-erased block is erased again after the
// cut.
func (m *media) eraseUnit(at time.Duration, unit int64, free bool) (done time.Duration) {
	start, done := m.spread(unit*m.blocks, m.blocks, at, m.erase)
	m.pool.erase(int(unit))
	m.stats.Erased += m.blocks
	e := m.journal.add(m, 0, start, done)
	e.a = unit
	if m.data != nil {
		e.pages = m.data[unit]
		m.data[unit] = nil
	}
	if free {
		m.pool.put(int(unit))
		e.flags = 1
	}
	return done
}

func (m *media) undo(e *entry, _ time.Duration, _ *Loss) {
	if e.flags == 1 {
		m.pool.claim(int(e.a))
	}
	if m.data != nil {
		m.data[e.a] = e.pages
	}
}

func (m *media) settle(*entry) {}
