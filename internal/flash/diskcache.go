package flash

import (
	"slices"
	"sort"
	"time"
)

// destagePart is how many bytes of the cache are written at a time; a request
// that arrives meanwhile waits.
const destagePart = 128 << 10

// cache puts data into the write cache at an instant.
func (d *disk) cache(at time.Duration, off, n int64, data []byte) {
	// For ranges that were in the cache before, keep the platters'
	// contents.
	w := &diskWrite{off: off, n: n, old: nil, at: at, cached: true}
	d.uncacheInto(w)
	d.data.set(off, n, data)
	i := d.after(off)
	d.dirty = slices.Insert(d.dirty, i, w)
	d.held += n
}

// uncacheInto removes a range from the cache and saves the platters' contents
// of it in w.
func (d *disk) uncacheInto(w *diskWrite) {
	d.uncache(w.off, w.off+w.n)
	w.old = d.data.get(w.off, w.n)
}

// after returns the first run of the cache that does not end before a place.
func (d *disk) after(off int64) int {
	return sort.Search(len(d.dirty), func(i int) bool { return d.dirty[i].off+d.dirty[i].n > off })
}

// uncache removes a range from the cache, so that the platters' contents are
// the newest again.
func (d *disk) uncache(off, end int64) {
	i := d.after(off)
	j := i
	var parts []*diskWrite
	for ; j < len(d.dirty) && d.dirty[j].off < end; j++ {
		w := d.dirty[j]
		from, to := max(off, w.off), min(end, w.off+w.n)
		d.data.set(from, to-from, w.part(from, to).old)
		d.held -= to - from
		if w.off < off {
			parts = append(parts, w.part(w.off, off))
		}
		if w.off+w.n > end {
			parts = append(parts, w.part(end, w.off+w.n))
		}
	}
	d.dirty = slices.Replace(d.dirty, i, j, parts...)
}

// part is a part of a run.
func (w *diskWrite) part(from, to int64) *diskWrite {
	p := *w
	p.off, p.n = from, to-from
	if w.old != nil {
		p.old = w.old[from-w.off : to-w.off]
	}
	return &p
}

// cached reports whether the write cache holds an entire range.
func (d *disk) cached(off, end int64) bool {
	for i := d.after(off); i < len(d.dirty) && d.dirty[i].off <= off; i++ {
		if off = d.dirty[i].off + d.dirty[i].n; off >= end {
			return true
		}
	}
	return false
}

// destageUntil writes out the cache in the time until an instant.
func (d *disk) destageUntil(now time.Duration) {
	for len(d.dirty) > 0 && d.idle < now {
		first := d.dirty[0].at
		for _, w := range d.dirty {
			first = min(first, w.at)
		}
		if at := max(d.idle, first); at < now {
			d.destage(at)
			continue
		}
		return
	}
}

// destage writes the next run of the cache: the first at or after the arm,
// else the first of all, so that the arm sweeps one way (C-LOOK).
func (d *disk) destage(at time.Duration) {
	place := d.head
	i := sort.Search(len(d.dirty), func(i int) bool { return d.geo.track(d.dirty[i].off) >= place-d.geo.slack })
	if i == len(d.dirty) {
		i = 0
	}
	w := d.dirty[i]
	if w.n > destagePart {
		d.dirty[i] = w.part(w.off+destagePart, w.off+w.n)
		w = w.part(w.off, w.off+destagePart)
	} else {
		d.dirty = slices.Delete(d.dirty, i, i+1)
	}
	d.held -= w.n
	w.begin, w.end = d.position(max(at, w.at), w.off, w.n)
	d.going = append(d.going, w)
}
