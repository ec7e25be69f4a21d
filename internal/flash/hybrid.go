package flash

// forward closes as SchemeSegment does. An open segment accepts writes while
// its new unit has free slots (Map.Random), or while they move forward. On
// close, pages that were not rewritten are copied after those that were; if
// pages were written several times and no room is left, everything is copied
// to a third unit.
type forward struct{ random bool }

func (c forward) fits(s *segmented, o *opened, at, n int64) bool {
	return o.used+n <= s.per && (c.random || at >= o.end)
}

func (c forward) gaps() bool { return !c.random }

func (c forward) inPlace(s *segmented, o *opened, n int64) bool { return o.used+n <= s.per }

// logBlock closes as SchemeHybrid does: block mapping with log blocks, one for
// each data block that is being written (J. Kim et al., "A space-efficient
// flash translation layer for CompactFlash systems", IEEE Transactions on
// Consumer Electronics 48(2), 2002; the scheme later called BAST). A log block
// accepts the pages of its data block in any order. When it is full, or when
// there are too many and it is the least recently used one,
//
//   - a switch merge makes it the data block, if it was written completely and
//     in order,
//   - a partial merge appends the remaining pages, if it was written in order
//     from its beginning,
//   - a full merge copies the newest version of every page to an erased block
//     otherwise.
//
// The data block itself is never written directly, even if it is empty.
type logBlock struct{}

func (logBlock) fits(s *segmented, o *opened, _, n int64) bool { return o.used+n <= s.per }

func (logBlock) gaps() bool { return false }

func (logBlock) inPlace(_ *segmented, o *opened, n int64) bool {
	return o.inOrder && o.fresh == o.used
}
