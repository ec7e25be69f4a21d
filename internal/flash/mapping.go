package flash

import "time"

// mapping is how the logical pages of an area of the device, numbered from 0,
// become physical ones. What it does on the medium takes time there (through
// media) and is journaled, so that a cut can take it back. Changes take effect
// at once in what find says, although the medium finishes them later.
//
// An implementation adds a journal entry for each page it programs and for
// each change of its own tables (media.eraseUnit journals the erase, the
// contents and the unit's becoming free; taking a unit from the pool is for the
// mapping to journal, and to undo with put), in the order in which it makes
// them; undo is called in the opposite order and restores its tables exactly. The start and
// end of an entry are those of the work on the medium that makes the change
// last; for a change of tables alone both are the present instant. What is
// moved about by itself must be programmed (entry added) before the old place
// is erased.
type mapping interface {
	undoer
	worn
	// find says where a page is; noPage (media of no meaning) where nothing
	// was written, or what was there reads as zeros. It takes no time.
	find(lp int64) (*media, ppn)
	// write programs a new version of a page at or after an instant and says
	// when it is on the medium. Whatever must happen first (collection,
	// merges) happens first and is part of the time.
	write(at time.Duration, w pageWrite) (done time.Duration)
	// trim drops n pages from lp on. With TrimModel.Zeroes find then says
	// noPage; otherwise it says the old place for as long as that has not been
	// erased. Nothing of them need be copied any more.
	trim(at time.Duration, lp, n int64)
}

// pageWrite is a new version of a logical page.
type pageWrite struct {
	lp int64
	// from and to are the part of the page that is new, in bytes; the rest of
	// data is what was there before. The page is programmed as a whole.
	from, to int64
	// data is the whole page; nil: no contents. The mapping owns it from now on.
	data []byte
	// copied: it is moved from elsewhere (folding), not written by the host.
	copied bool
}

// Page mappings (page.go) are made by
//
//	newPage(c *chip, logical int64, spare float64, w Wear, t TrimModel, media Media) mapping
//
// with logical pages and the share of over-provisioning; it makes its own media
// (a unit is an erase block), with as many blocks as that takes, never fewer
// than it needs to work.

// worn is a mapping that says which areas of the medium it has, for the wear
// counters. Every mapping is one.
type worn interface {
	areas() []*media
}

// idler is a mapping that has something to do in idle time.
type idler interface {
	// idle does what is worth doing, beginning no step at or after until.
	idle(from, until time.Duration)
}

// recoverer is a mapping that has something to do after a cut, once all
// unfinished entries are undone.
type recoverer interface {
	recover(now time.Duration, l *Loss)
}
