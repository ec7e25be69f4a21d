package flash

import "time"

// entry is one change of state that a power cut may have to undo: a page
// programmed, a segment closed, a block erased. Its owner defines the meaning
// of kind and the other fields.
type entry struct {
	who         undoer
	kind, flags uint8
	// notify: tell the owner when the entry can no longer be undone.
	notify bool
	// start and end are when the medium works on it.
	start, end time.Duration
	// done is the latest end of this entry and all before it.
	done time.Duration

	a, b, c, d int64
	page       *contents
	pages      []*contents
	x          any // a pointer, so that keeping it allocates nothing
}

// undoer undoes its own entries, latest first.
type undoer interface {
	// undo restores the state before the entry. What had not begun at now
	// (entry.start >= now) is removed from the statistics as well; what
	// had begun remains in them, because the medium did wear.
	undo(e *entry, now time.Duration, l *Loss)
	// settle is called for entries with notify set, once they can no longer
	// be undone.
	settle(e *entry)
}

// journal holds the unfinished changes in the order in which they were made. A
// cut keeps the longest finished prefix: a translation layer that replays its
// log at power on stops at the first page with a wrong checksum. So no
// surviving change depends on a lost one.
type journal struct {
	q    []entry
	head int
	last time.Duration // the latest done so far: when everything so far is on the medium
}

// add makes an entry for work on the medium from start to end. The pointer is
// valid until the next add.
func (j *journal) add(who undoer, kind uint8, start, end time.Duration) *entry {
	if end > j.last {
		j.last = end
	}
	if len(j.q) < cap(j.q) {
		j.q = j.q[:len(j.q)+1]
	} else {
		j.q = append(j.q, entry{})
	}
	e := &j.q[len(j.q)-1]
	e.who, e.kind, e.start, e.end, e.done = who, kind, start, end, j.last
	return e
}

// settle removes what is finished at an instant.
func (j *journal) settle(now time.Duration) {
	for j.head < len(j.q) && j.q[j.head].done <= now {
		e := &j.q[j.head]
		if e.notify {
			e.who.settle(e)
		}
		*e = entry{}
		j.head++
	}
	if j.head == len(j.q) {
		j.q, j.head = j.q[:0], 0
		return
	}
	if j.head > 4096 && j.head > len(j.q)/2 {
		n := copy(j.q, j.q[j.head:])
		clear(j.q[n:])
		j.q, j.head = j.q[:n], 0
	}
}

// undo reverts everything that was unfinished at an instant.
func (j *journal) undo(now time.Duration, l *Loss) {
	j.settle(now)
	for i := len(j.q) - 1; i >= j.head; i-- {
		e := &j.q[i]
		e.who.undo(e, now, l)
		*e = entry{}
	}
	j.q, j.head, j.last = j.q[:0], 0, now
}
