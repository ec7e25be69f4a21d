package flash

import "time"

// readAhead is what the track buffer holds for reading: one run of bytes that
// grows by itself behind a read until the buffer is full, or the arm is needed
// elsewhere. Bytes that the host has passed make room for those to come.
type readAhead struct {
	held     bool          // there is something
	on       bool          // it is growing
	lo       int64         // its first byte
	base     int64         // where it grew from
	since    time.Duration // and when
	limit    int64         // where it stops growing
	capacity int64         // B
}

// start begins a run: it holds what was read, and grows from the instant on.
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

// first is the first byte that is still there when the run ends at a place.
func (b *readAhead) first(reached int64) int64 { return max(b.lo, reached-b.capacity) }

// hit reports whether a place is in the run, or about to be, and when all of it
// is there.
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
	// What the head has passed over and the buffer could not take comes round
	// again: that is for the arm. A run that is growing takes the rest as the
	// host passes on.
	if !b.on || reached >= b.limit {
		return 0, false
	}
	return b.since + g.turns(g.track(end)-g.track(b.base)), true
}

// passed notes that the host has read up to a place at an instant, so that the
// run may grow further. A run that was full goes on growing only when half of
// the buffer is free, because that costs a revolution.
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

// stop ends the growing.
func (b *readAhead) stop(g *geometry, at time.Duration) {
	b.base = b.reached(g, at)
	b.on, b.limit = false, b.base
}

// drop forgets the run if something in it, or that it might grow into, is
// written.
func (b *readAhead) drop(off, end int64) {
	if b.held && end > b.lo && off < max(b.base, b.limit) {
		*b = readAhead{}
	}
}
