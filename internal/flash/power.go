package flash

import "time"

// Cut implements Device. The idle time before it is used as usual; then the
// buffer is lost, and the medium returns to the last state before any
// unfinished work: pages that were being programmed are torn, so that their
// previous versions are current again, and merges in progress are undone (with
// Power.MergeLoses their segment is lost and reads as zeros).
//
// A torn page is programmed again in the same place, and units that a merge
// had begun to fill are erased without being counted: what a translation layer
// does at power on takes no time here.
func (d *drive) Cut(now time.Duration) Loss {
	var l Loss
	now = d.advance(now)
	d.buf.cut(now, &l)
	d.chip.journal.undo(now, &l)
	for _, m := range []mapping{d.fat, d.main} {
		if r, ok := m.(recoverer); ok {
			r.recover(now, &l)
		}
	}
	for i := range d.chip.planes {
		d.chip.planes[i] = now
	}
	d.host.cut(now)
	return l
}

// idle uses the time since the last completion, if any.
func (d *drive) idle(now time.Duration) {
	from := d.host.until
	if now <= from {
		return
	}
	d.buf.idle(from, now)
	for _, m := range []mapping{d.fat, d.main} {
		if i, ok := m.(idler); ok {
			i.idle(from, now)
		}
	}
}
