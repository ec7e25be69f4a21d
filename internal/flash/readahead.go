package flash

import "time"

// readAhead is the track buffer's read data: one run of bytes that grows after
// a read until the buffer is full or the arm is needed elsewhere. Bytes that
// the host has read make room for new ones.
type readAhead struct {
	held     bool          // the run exists
	on       bool          // it is growing
	lo       int64         // its first byte
	base     int64         // where it started growing
	since    time.Duration // when it started growing
	limit    int64         // where it stops growing
	capacity int64         // B
}

// start begins a run: it holds what was read, and grows from that instant.
func (b *readAhead) start(off, end int64, since time.Duration, capacity int64) {
	*b = readAhead{}
	if capacity <= 0 {
		return
	}
	*b = readAhead{held: true, on: true, lo: max(off, end-capacity), base: end, since: since, limit: end + capacity, capacity: capacity}
}

// reached is the end of the run at an instant.
func (b *readAhead) reached(g *geometry, at time.Duration) int64 {
	if !b.on || at <= b.since {
		return b.base
	}
	n := g.offset(g.track(b.base) + float64(at-b.since)/g.turn)
	return min(max(n, b.base), b.limit, int64(g.size))
}

// first is the first byte that is still buffered when the run ends at a place.
func (b *readAhead) first(reached int64) int64 { return max(b.lo, reached-b.capacity) }

// hit reports whether a range is in the run, or about to be, and when all of
// it is.
func (b *readAhead) hit(g *geometry, at time.Duration, off, end int64) (ready time.Duration, ok bool) {
	if !b.held {
		return 0, false
	}
	reached := b.reached(g, at)
	if off < b.first(reached) || off > reached {
		return 0, false
	}
	if end <= reached {
		return at, true
	}
	// Data that passed the head while the buffer was full was not read: the arm must fetch it.
	// A growing run reads the rest as the host makes room.
	if !b.on || reached >= b.limit {
		return 0, false
	}
	return b.since + g.turns(g.track(end)-g.track(b.base)), true
}

// passed records that the host has read up to a place at an instant, so that
// the run may continue to grow. A run that was full resumes only when half of
// the buffer is free, because resuming costs a revolution.
func (b *readAhead) passed(g *geometry, at time.Duration, end, capacity int64) {
	reached := max(b.reached(g, at), min(end, int64(g.size)))
	b.lo = b.first(reached)
	b.capacity = max(capacity, reached-end)
	full := b.on && reached >= b.limit
	if b.on && !full {
		b.limit = max(b.limit, end+capacity)
		return
	}
	b.on, b.base, b.limit = false, reached, reached
	if reached-end <= capacity/2 && reached < int64(g.size) {
		b.on, b.limit = true, end+capacity
		b.since = at + g.wait(at, g.track(reached))
	}
}

// stop ends the growth.
func (b *readAhead) stop(g *geometry, at time.Duration) {
	b.base = b.reached(g, at)
	b.on, b.limit = false, b.base
}

// drop discards the run if a write touches it or what it might grow into.
func (b *readAhead) drop(off, end int64) {
	if b.held && end > b.lo && off < max(b.base, b.limit) {
		*b = readAhead{}
	}
}
