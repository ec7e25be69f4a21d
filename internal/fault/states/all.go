package states

import (
	"iter"
	"math/rand/v2"
	"slices"

	"whichfs/internal/fault/writelog"
)

// All are the states of a log in the order of their points, numbered from 1;
// the same options always give the same. Different states may have the same
// contents.
//
// A state is listed at the first point at which it can be, so right behind a
// volatile write only states that keep it are; and again at each mark, because
// marks change what had been acknowledged. Every point has at least one state:
// the first, which keeps everything. The second, where there is one, keeps
// nothing. What is drawn at a point depends on the seed, the point and the log
// alone.
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
	// free are the volatile entries of which any subset may have been kept.
	free []int
	// last is the volatile entry right before the point, which is kept in all
	// states here, or -1.
	last int
	// flight is the write with FUA right before the point, or -1.
	flight int
}

// walk goes through the points of the options. What it gives is valid until the
// next.
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

// shares says how many states each point may have.
type shares struct {
	all  bool // as many as there are
	each int64
	// The points that have more than each divide extra among themselves.
	more, extra int64
	counts      []int64 // of states, by point
	rank        []int64 // how many points before have more than each
}

// spread divides Most among the points: nobody gets more than there is at it, and
// nobody gets two more than another who could have had them too.
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

// of is the share of the point with that index; -1: all.
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

// chosen are share of the numbers from 0 to count-1, ascending: 0 and 1 first of
// all, the others drawn.
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
		// Floyd's algorithm: a sample without repetition, in memory of its size.
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

// What random numbers are drawn for.
const (
	choosing = iota + 1
	keeping
	tearing
)

// source gives random numbers for one thing at one point.
func source(seed uint64, at, what int, index int64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, scramble(scramble(uint64(at)<<2|uint64(what))+uint64(index))))
}
