package states

import (
	"iter"
	"math/rand/v2"
	"slices"

	"whichfs/internal/fault/writelog"
)

// All enumerates the states of a log in the order of their points, numbered from 1;
// the same options always give the same states. Different states may have the same
// contents.
//
// A state is listed at the first point at which it is possible, so immediately
// after a volatile write only states that keep it are listed. It is listed again at
// each mark, because a mark changes what was acknowledged. Every point has at least
// one state: the first keeps all volatile writes; the second, if there is one,
// keeps none. The draw at a point depends only on the seed, the point and the log.
func All(l writelog.Log, o Options) iter.Seq2[int64, State] {
	o = o.withDefaults(len(l.Entries))
	return func(yield func(int64, State) bool) {
		shares := spread(l, o)
		number, index := int64(0), -1
		for p := range walk(l, o) {
			index++
			m := newMenu(l, p, o)
			for i := range chosen(m.count(), shares.of(index), o.Seed, p.at) {
				s, ok := m.state(i)
				if !ok {
					continue
				}
				number++
				if !yield(number, s) {
					return
				}
			}
		}
	}
}

// point is a point of a log at which states are listed.
type point struct {
	at int
	// free are the volatile entries, any subset of which may have been kept.
	free []int
	// last is the volatile entry immediately before the point, which all states
	// listed here keep; -1 if there is none.
	last int
	// flight is the FUA write immediately before the point; -1 if there is none.
	flight int
}

// walk iterates over the points that the options select. A point is valid until the
// next iteration.
func walk(l writelog.Log, o Options) iter.Seq[point] {
	return func(yield func(point) bool) {
		var volatile []int
		for at := 0; at <= o.To; at++ {
			p := point{at: at, last: -1, flight: -1}
			if at > 0 {
				e := l.Entries[at-1]
				volatile = sent(volatile, at-1, e)
				switch {
				case isVolatile(e):
					p.last = at - 1
				case e.IsWrite():
					p.flight = at - 1
				}
			}
			p.free = volatile
			if p.last >= 0 {
				p.free = volatile[:len(volatile)-1]
			}
			if at >= o.From && !yield(p) {
				return
			}
		}
	}
}

// shares holds the number of states for each point.
type shares struct {
	all  bool // no limit
	each int64
	// The points with more than each states divide extra among themselves.
	more, extra int64
	counts      []int64 // of states, by point
	rank        []int64 // how many earlier points have more than each
}

// spread divides Most among the points: no point gets more than its number of
// states, and the shares of points that could use more differ by at most one.
func spread(l writelog.Log, o Options) shares {
	if o.Most <= 0 {
		return shares{all: true}
	}
	s := shares{}
	total := int64(0)
	for p := range walk(l, o) {
		n := newMenu(l, p, o).count()
		s.counts = append(s.counts, n)
		total += n
	}
	left := int64(o.Most)
	if total <= left {
		return shares{all: true}
	}
	sorted := slices.Sorted(slices.Values(s.counts))
	for i, n := range sorted {
		rest := int64(len(sorted) - i)
		if (n-s.each)*rest > left {
			s.each, s.extra = s.each+left/rest, left%rest
			break
		}
		left -= (n - s.each) * rest
		s.each = n
	}
	for _, n := range s.counts {
		s.rank = append(s.rank, s.more)
		if n > s.each {
			s.more++
		}
	}
	return s
}

// of is the share of the point with that index; -1: no limit.
func (s shares) of(index int) int64 {
	if s.all {
		return -1
	}
	if n := s.counts[index]; n <= s.each {
		return n
	}
	j := s.rank[index]
	if (j+1)*s.extra/s.more > j*s.extra/s.more {
		return s.each + 1
	}
	return s.each
}

// chosen yields share of the numbers from 0 to count-1, ascending: 0 and 1 always,
// the others drawn.
func chosen(count, share int64, seed uint64, at int) iter.Seq[int64] {
	if share < 0 || share >= count {
		share = count
	}
	return func(yield func(int64) bool) {
		if share <= 2 || share == count {
			for i := range share {
				if !yield(i) {
					return
				}
			}
			return
		}
		// Floyd's algorithm: a sample without repetition in memory of its own size.
		r := source(seed, at, choosing, 0)
		drawn := map[int64]bool{0: true, 1: true}
		for j := count - (share - 2); j < count; j++ {
			if i := 2 + r.Int64N(j-1); !drawn[i] {
				drawn[i] = true
			} else {
				drawn[j] = true
			}
		}
		picked := make([]int64, 0, share)
		for i := range drawn {
			picked = append(picked, i)
		}
		slices.Sort(picked)
		for _, i := range picked {
			if !yield(i) {
				return
			}
		}
	}
}

// The purposes of random numbers.
const (
	choosing = iota + 1
	keeping
	tearing
)

// source returns the random numbers for one purpose at one point.
func source(seed uint64, at, what int, index int64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, scramble(scramble(uint64(at)<<2|uint64(what))+uint64(index))))
}
