package flash

import "time"

// Cut implements Device. What was left of the gap before it was used as any
// other; then the buffer is gone, and the medium goes back to the last state
// from which on something was unfinished: pages that were being programmed are
// torn, so that the versions before them count, and merges that were under way
// are undone (with Power.MergeLoses their segment is lost and reads as zeros).
//
// A page that was torn is programmed again in the same place, and units that a
// merge had begun to fill are erased outside the account: what a translation
// layer does at power on takes no time here.
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

// idle uses the time since the last completion, if there was any.
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
