package flash

import "time"

// ppn is a physical page: its number within one media.
type ppn int64

// noPage is the place of a logical page that is nowhere.
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

// busy keeps a plane busy for a while from an instant on, or from when it is
// free, and says from when to when.
func (c *chip) busy(plane int64, at, d time.Duration) (start, end time.Duration) {
	p := &c.planes[plane]
	start = max(at, *p)
	*p = start + d
	return start, *p
}

// spread deals out n equal operations to all planes, beginning with first; each
// plane does its share one after the other. It says when the first begins and
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
// numbered through: unit × per + place in the unit.
//
// Consecutive pages lie on consecutive planes, and so do consecutive erase
// blocks: a page keeps plane number modulo planes busy, an erase likewise by
// the block's number.
//
// Contents are held by physical page. They are never changed in place: moving
// a page moves the pointer, and a page that is written anew is a new one. So
// two places may share one, and a reader may keep it.
type media struct {
	*chip
	per     int64 // pages of a unit
	blocks  int64 // erase blocks of a unit
	units   int64
	read    time.Duration // of a page
	program time.Duration // of a page
	pool    *pool         // which units are free, and how worn each is
	data    [][][]byte    // by unit and page; nil where nothing is held
}

// newMedia makes an erased area of so many units of so many erase blocks each,
// all free.
func newMedia(c *chip, units, blocks int64, read, program time.Duration, w Wear) *media {
	return &media{chip: c, per: blocks * c.block, blocks: blocks, units: units,
		read: read, program: program, pool: newPool(int(units), w)}
}

// readPage takes the time that reading a page takes.
func (m *media) readPage(at time.Duration, p ppn) (done time.Duration) {
	m.stats.PagesRead++
	_, done = m.busy(int64(p)%int64(len(m.planes)), at, m.read)
	return done
}

// programPage takes the time that programming a page takes, counts it, and
// keeps its contents (nil: none, reads as zeros). Data is kept, not copied. The
// caller journals it, and takes it back with unprogram.
func (m *media) programPage(at time.Duration, p ppn, data []byte, copied bool) (start, done time.Duration) {
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

// count counts n pages as programmed; fewer than 0 takes them back.
func (m *media) count(n int64, copied bool) {
	m.stats.Programmed += n * m.page
	if copied {
		m.stats.Copied += n * m.page
	}
}

// unprogram takes back the program of one page that an entry stands for, in
// the counters only: uncounted if it had not begun, torn if it was under way.
func (m *media) unprogram(e *entry, now time.Duration, copied bool, l *Loss) {
	switch {
	case e.start >= now:
		m.count(-1, copied)
	case e.end > now:
		l.Torn++
	}
}

// copyPages takes the time that copying n pages within the area takes, all
// planes at work, and counts them. The contents are moved with put.
func (m *media) copyPages(at time.Duration, n int64) (start, done time.Duration) {
	if n == 0 {
		return at, at
	}
	m.stats.PagesRead += n
	m.count(n, true)
	return m.spread(0, n, at, m.read+m.program)
}

// uncopy takes back copyPages in the counters: what had not begun at now.
func (m *media) uncopy(n int64, start, end, now time.Duration, l *Loss) {
	if n == 0 || end <= now {
		return
	}
	begun := int64(0)
	if planes := int64(len(m.planes)); now > start {
		rounds := int64((now-start)/(m.read+m.program)) + 1
		begun = min(n, rounds*planes)
		l.Torn += min(n-(rounds-1)*planes, planes)
	}
	m.stats.PagesRead -= n - begun
	m.count(begun-n, true)
}

// content is what a page holds; nil reads as zeros. It must not be changed.
func (m *media) content(p ppn) []byte {
	if p == noPage || m.data == nil {
		return nil
	}
	u := m.data[int64(p)/m.per]
	if u == nil {
		return nil
	}
	return u[int64(p)%m.per]
}

// put sets what a page holds, without taking time.
func (m *media) put(p ppn, data []byte) {
	if m.data == nil {
		if data == nil {
			return
		}
		m.data = make([][][]byte, m.units)
	}
	u := &m.data[int64(p)/m.per]
	if *u == nil {
		if data == nil {
			return
		}
		*u = make([][]byte, m.per)
	}
	(*u)[int64(p)%m.per] = data
}

// eraseUnit erases the blocks of a unit in use, and sets it free if asked to.
// That is journaled: undone, the unit has its contents back and is in use. The
// erase stays counted, because what a cut leaves half erased is erased again.
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
