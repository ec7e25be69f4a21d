package states

import (
	"math/rand/v2"

	"whichfs/internal/fault/writelog"
)

// structured is the number of prefixes, and of states that lack one write, at a
// point where not all subsets are listed.
const structured = 16

// menu lists the states at a point by number: first the whole states, then the torn
// ones. A torn number may have no state.
type menu struct {
	log  writelog.Log
	p    point
	seed uint64
	// complete: all subsets of the free writes are listed.
	complete bool
	whole    int64 // number of states without a torn write
	torn     int64 // how many numbers torn states have
	perPoint int
	drawn    [][]int // indices in free; nil: not drawn yet
}

func newMenu(l writelog.Log, p point, o Options) *menu {
	m := &menu{log: l, p: p, seed: o.Seed, perPoint: o.PerPoint}
	n := len(p.free)
	volatile := n
	if p.last >= 0 {
		volatile++
	}
	m.whole = int64(2 + 2*m.spaced() + o.PerPoint)
	if volatile <= o.Complete || n < 31 && int64(1)<<n <= m.whole {
		m.complete, m.whole = true, int64(1)<<n
	}
	if o.Whole || !m.tearable() {
		return m
	}
	m.torn = 3
	if m.whole > 1 {
		m.torn = 6 + m.whole - 2
	}
	return m
}

// tearable reports whether any write here has more than one sector.
func (m *menu) tearable() bool {
	if m.tears(m.p.last) || m.tears(m.p.flight) {
		return true
	}
	for i := len(m.p.free) - 1; i >= 0; i-- {
		if m.tears(m.p.free[i]) {
			return true
		}
	}
	return false
}

// tears reports whether an entry is a write with more than one sector.
func (m *menu) tears(entry int) bool {
	return entry >= 0 && m.log.Entries[entry].IsWrite() && m.log.Entries[entry].Sectors > 1
}

func (m *menu) count() int64 { return m.whole + m.torn }

// spaced is the number of prefixes, and of states that lack one write, at a point
// that is not complete.
func (m *menu) spaced() int { return min(structured, max(len(m.p.free)-1, 0)) }

// state returns the state with a number; false if there is none.
func (m *menu) state(number int64) (State, bool) {
	s := State{Point: m.p.at}
	if number < m.whole {
		s.Kept = m.kept(number)
		return s, true
	}
	// If all writes or none are kept, the newest write is torn in each form; for
	// every other state, one write in one form.
	number -= m.whole
	r := source(m.seed, m.p.at, tearing, number)
	which, form := number/3, int(number%3)
	if number >= 6 {
		which, form = number-4, r.IntN(3)
	}
	s.Kept = m.kept(which)
	var candidates []int
	for _, k := range s.Kept {
		if m.tears(k) {
			candidates = append(candidates, k)
		}
	}
	if m.tears(m.p.flight) {
		candidates = append(candidates, m.p.flight)
	}
	if len(candidates) == 0 {
		return s, false
	}
	entry := candidates[len(candidates)-1]
	if number >= 6 {
		entry = candidates[r.IntN(len(candidates))]
	}
	s.Torn = tear(entry, int(m.log.Entries[entry].Sectors), form, r)
	return s, s.Torn != nil
}

// tear cuts a write: 0 its beginning reached the medium, 1 its end, 2 a piece in
// between; nil if it is too short for that.
func tear(entry, sectors, form int, r *rand.Rand) *Torn {
	if form == 2 && sectors < 3 {
		return nil
	}
	switch n := 1 + r.IntN(sectors-1); form {
	case 0:
		return &Torn{Entry: entry, First: 0, Sectors: n}
	case 1:
		return &Torn{Entry: entry, First: n, Sectors: sectors - n}
	}
	n := 1 + r.IntN(sectors-2)
	return &Torn{Entry: entry, First: 1 + r.IntN(sectors-1-n), Sectors: n}
}

// kept returns the volatile entries of the whole state with a number.
func (m *menu) kept(number int64) []int {
	n := len(m.p.free)
	kept := make([]int, 0, n+1)
	switch spaced := int64(m.spaced()); {
	case number == 0:
		kept = append(kept, m.p.free...)
	case number == 1:
	case m.complete:
		for i, k := range m.p.free {
			if (number-1)>>i&1 == 1 {
				kept = append(kept, k)
			}
		}
	case number < 2+spaced:
		kept = append(kept, m.p.free[:1+m.space(number-2)]...)
	case number < 2+2*spaced:
		lacks := m.space(number - 2 - spaced)
		kept = append(append(kept, m.p.free[:lacks]...), m.p.free[lacks+1:]...)
	default:
		if m.drawn == nil {
			m.drawn = draw(n, m.perPoint, m.taken(), source(m.seed, m.p.at, keeping, 0))
		}
		for _, i := range m.drawn[number-2-2*spaced] {
			kept = append(kept, m.p.free[i])
		}
	}
	if m.p.last >= 0 {
		kept = append(kept, m.p.last)
	}
	if len(kept) == 0 {
		return nil
	}
	return kept
}

// space is the ith of the evenly spaced numbers from 0 to len(free)-2, which
// include the last.
func (m *menu) space(i int64) int {
	return int((i+1)*int64(len(m.p.free)-1)/int64(m.spaced())) - 1
}

// taken holds the subsets that are listed before any is drawn, as bits; nil if
// there are too many writes for that.
func (m *menu) taken() map[uint64]bool {
	n := len(m.p.free)
	if n > 63 {
		return nil
	}
	all := uint64(1)<<n - 1
	taken := map[uint64]bool{0: true, all: true}
	for i := range int64(m.spaced()) {
		taken[uint64(1)<<(1+m.space(i))-1] = true
		taken[all&^(1<<m.space(i))] = true
	}
	return taken
}
