package flash

import "time"

// mapping maps the logical pages of an area of the device, numbered from 0, to
// physical ones. Its work on the medium takes time (through media) and is
// journaled, so that a cut can undo it. find reflects changes at once,
// although the medium finishes them later.
//
// An implementation adds a journal entry for each page it programs and for
// each change of its own tables, in the order in which it makes them
// (media.eraseUnit journals the erase, the contents and the unit's becoming
// free; the mapping journals taking a unit from the pool, and undoes it with
// put). undo is called in the opposite order and restores its tables exactly.
// The start and end of an entry are those of the work on the medium that makes
// the change durable; for a change of tables alone both are the current
// instant. A page that is moved must be programmed (entry added) before its
// old location is erased.
type mapping interface {
	undoer
	worn
	// find returns where a page is; noPage (with a meaningless media) if
	// nothing was written or the page reads as zeros. It takes no time.
	find(lp int64) (*media, ppn)
	// write programs a new version of a page at or after an instant and
	// returns when it is on the medium. Any preparation (collection,
	// merges) happens first and is part of the time.
	write(at time.Duration, w pageWrite) (done time.Duration)
	// trim drops n pages from lp on. With TrimModel.Zeroes find then
	// returns noPage; otherwise it returns the old location until that is
	// erased. Dropped pages no longer need to be copied.
	trim(at time.Duration, lp, n int64)
}

// pageWrite is a new version of a logical page.
type pageWrite struct {
	lp int64
	// from and to delimit the new bytes of the page; the rest of data is
	// its previous contents. The page is programmed as a whole.
	from, to int64
	// data is the whole page; nil: no contents. The mapping owns it from
	// now on.
	data *contents
	// copied: it is moved internally (folding), not written by the host.
	copied bool
}

// Page mappings (page.go) are made by
//
//	newPage(c *chip, logical int64, spare float64, w Wear, t TrimModel, media Media) mapping
//
// with the number of logical pages and the share of over-provisioning; it
// makes its own media (a unit is an erase block), with as many blocks as
// needed and never fewer than it needs to work.

// worn is a mapping that lists its areas of the medium, for the wear counters.
// Every mapping is one.
type worn interface {
	areas() []*media
}

// idler is a mapping that uses idle time.
type idler interface {
	// idle does optional work and begins no step at or after until.
	idle(from, until time.Duration)
}

// recoverer is a mapping that has work to do after a cut, once all unfinished
// entries are undone.
type recoverer interface {
	recover(now time.Duration, l *Loss)
}
