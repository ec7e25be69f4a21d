package flash

import (
	"math"
	"math/bits"
	"time"
)

// bufferIdle is how long a device is idle before it writes out its buffer. No
// source states one; a millisecond is longer than a host takes between the
// requests of a stream, and shorter than its pauses.
const bufferIdle = time.Millisecond

// sectors are the sectors of a page, one bit each.
type sectors [maxPage / Sector / 64]uint64

// add adds the sectors of a byte range of the page.
func (s *sectors) add(from, to int64) {
	for i := range s {
		if lo, hi := int64(i)<<6, int64(i+1)<<6; from/Sector < hi && to/Sector > lo {
			s[i] |= span(int64(i), from/Sector, to/Sector)
		}
	}
}

func (s *sectors) count() (n int64) {
	for _, w := range s {
		n += int64(bits.OnesCount64(w))
	}
	return n
}

// held is a page in the buffer.
type held struct {
	lp    int64
	mask  sectors // written while in the buffer
	sure  sectors // of these, acknowledged before the latest write
	acked time.Duration
	data  *contents // the whole page as it will be programmed; nil: no contents
	page  int64
}

// covers reports whether all of a byte range was written here.
func (e *held) covers(from, to int64) bool {
	m := e.mask
	m.add(from, to)
	return m == e.mask
}

// completes reports whether the whole page is new once a range is written.
func (e *held) completes(from, to int64) bool {
	m := e.mask
	m.add(from, to)
	return m.count()*Sector == e.page
}

// extent is the range from the first to the last new byte of the page, once a
// range is written.
func (e *held) extent(from, to int64) (int64, int64) {
	m := e.mask
	m.add(from, to)
	first, last := int64(math.MaxInt64), int64(0)
	for i, w := range m {
		if w != 0 {
			first = min(first, int64(i)<<6+int64(bits.TrailingZeros64(w)))
			last = int64(i)<<6 + int64(bits.Len64(w))
		}
	}
	return first * Sector, last * Sector
}

// buffer is volatile memory for writes. While there is room it accepts them at
// the speed of the bus. Once it is full, each new page evicts another, in
// address order from the last one evicted, so that sequential writes stay
// sequential. A flush or idle time empties it.
//
// The methods that a drive calls for every request accept a nil receiver: a
// device without a buffer.
type buffer struct {
	d       *drive
	room    int64 // pages
	index   map[int64]*held
	dirty   bitset
	cursor  int64
	leaving pipe
	touched []*held // by the current request
	spare   []*held
}

func newBuffer(d *drive) *buffer {
	return &buffer{d: d, room: d.m.Buffer.Size / d.page, index: map[int64]*held{},
		dirty: newBitset(d.pages), leaving: pipe{depth: 2 * d.m.Media.Planes}}
}

func (b *buffer) find(lp int64) *held {
	if b == nil {
		return nil
	}
	return b.index[lp]
}

// write stores a piece and returns when it is in the buffer.
func (b *buffer) write(at time.Duration, p piece) time.Duration {
	e := b.index[p.lp]
	if e == nil {
		at = b.makeRoom(at)
		e = b.take()
		*e = held{lp: p.lp, page: b.d.page, acked: math.MaxInt64}
		e.data = b.d.compose(p)
		b.index[p.lp] = e
		b.dirty.set(p.lp)
	} else {
		if e.acked <= b.d.latest {
			e.sure = e.mask
		}
		e.acked = math.MaxInt64
		e.overlay(b.d, p)
	}
	e.mask.add(p.from, p.to)
	b.touched = append(b.touched, e)
	return at
}

// overlay puts new data over the buffered data.
func (e *held) overlay(d *drive, p piece) {
	switch {
	case e.data == nil:
		e.data = d.compose(p)
	case p.data == nil:
		clear(e.data.Data[p.from:p.to])
	default:
		copy(e.data.Data[p.from:], p.data)
	}
}

// acknowledge records when the current request completes.
func (b *buffer) acknowledge(done time.Duration) {
	for _, e := range b.touched {
		e.acked = done
	}
	b.touched = b.touched[:0]
}

func (b *buffer) take() *held {
	if n := len(b.spare); n > 0 {
		e := b.spare[n-1]
		b.spare = b.spare[:n-1]
		return e
	}
	return new(held)
}

// remove removes a page from the buffer.
func (b *buffer) remove(e *held) {
	delete(b.index, e.lp)
	b.dirty.clear(e.lp)
}

// drop discards n pages from lp on.
func (b *buffer) drop(lp, n int64) {
	if b == nil {
		return
	}
	for i := b.dirty.next(lp); i >= 0 && i < lp+n; i = b.dirty.next(i + 1) {
		b.remove(b.index[i])
	}
}

// makeRoom returns the instant at which there is room for one more page.
func (b *buffer) makeRoom(at time.Duration) time.Duration {
	for {
		b.leaving.settle(at)
		if int64(len(b.index)+b.leaving.len()) < b.room {
			return at
		}
		if len(b.index) > 0 && !b.leaving.full() {
			b.destage(at)
		} else {
			at = b.leaving.wait(at)
		}
	}
}

// destage programs the next page.
func (b *buffer) destage(at time.Duration) {
	lp := b.dirty.next(b.cursor)
	if lp < 0 {
		lp = b.dirty.next(0)
	}
	b.cursor = lp + 1
	e := b.index[lp]
	b.remove(e)
	if e.mask.count()*Sector < b.d.page {
		if m, place := b.d.locate(lp); place != noPage {
			at = m.readPage(at, place)
		}
	}
	w := pageWrite{lp: lp, data: e.data}
	w.from, w.to = e.extent(b.d.page, b.d.page)
	e.data = nil
	done := b.d.at(lp).write(at, w)
	b.leaving.push(done)
	j := b.d.chip.journal.add(b, 0, at, done)
	j.x, j.notify = e, true
}

// settle and undo: a page that left the buffer is on the medium, or lost.
func (b *buffer) settle(e *entry) { b.spare = append(b.spare, e.x.(*held)) }

func (b *buffer) undo(e *entry, now time.Duration, l *Loss) {
	b.lose(e.x.(*held), now, l)
	b.settle(e)
}

func (b *buffer) lose(e *held, now time.Duration, l *Loss) {
	n := e.sure.count()
	if e.acked <= now {
		n = e.mask.count()
	}
	l.Buffered += n * Sector
}

// drain programs everything.
func (b *buffer) drain(at time.Duration) {
	if b == nil {
		return
	}
	b.cursor = 0
	for len(b.index) > 0 {
		b.destage(at)
	}
}

// idle programs what fits into idle time and starts nothing at or after until.
func (b *buffer) idle(from, until time.Duration) {
	if b == nil {
		return
	}
	at := from + bufferIdle
	for len(b.index) > 0 {
		b.leaving.settle(at)
		if b.leaving.full() {
			at = b.leaving.wait(at)
		}
		if at >= until {
			return
		}
		b.destage(at)
	}
}

// cut discards the buffer's contents.
func (b *buffer) cut(now time.Duration, l *Loss) {
	if b == nil {
		return
	}
	for i := b.dirty.next(0); i >= 0; i = b.dirty.next(i) {
		e := b.index[i]
		b.lose(e, now, l)
		b.remove(e)
		b.spare = append(b.spare, e)
	}
	b.leaving.reset()
}

// pipe is work that was handed to the planes and is unfinished, limited to
// what keeps them all busy.
type pipe struct {
	depth int
	q     []time.Duration // when each ends, in order
	head  int
}

func (p *pipe) len() int { return len(p.q) - p.head }

func (p *pipe) full() bool { return p.len() >= p.depth }

func (p *pipe) push(done time.Duration) {
	if n := len(p.q); n > p.head {
		done = max(done, p.q[n-1])
	}
	p.q = append(p.q, done)
}

// wait returns when the oldest finishes, now at the earliest, and removes it.
func (p *pipe) wait(now time.Duration) time.Duration {
	now = max(now, p.q[p.head])
	p.settle(now)
	return now
}

// settle removes what is finished.
func (p *pipe) settle(now time.Duration) {
	for p.head < len(p.q) && p.q[p.head] <= now {
		p.head++
	}
	if p.head == len(p.q) {
		p.reset()
	} else if p.head > 1024 {
		p.q = p.q[:copy(p.q, p.q[p.head:])]
		p.head = 0
	}
}

func (p *pipe) reset() { p.q, p.head = p.q[:0], 0 }
