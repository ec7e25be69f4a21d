package states

import (
	"math/rand/v2"
	"slices"
)

// draw draws count different subsets of n writes that are not taken yet, of which
// there must be as many; where n is so large that repetitions do not happen, taken
// is nil. Four kinds alternate, because half of all writes at random never shows
// what one that is missing does.
func draw(n, count int, taken map[uint64]bool, r *rand.Rand) [][]int {
	sets := make([][]int, 0, count)
	for i := range count {
		set := drawKind(n, i%4, r)
		for tries := 0; taken != nil && taken[mask(set)] && tries < 16; tries++ {
			set = drawKind(n, i%4, r)
		}
		if taken != nil {
			bits := mask(set)
			for taken[bits] { // the next that is free
				bits = (bits + 1) & (1<<n - 1)
			}
			taken[bits] = true
			set = unmask(bits)
		}
		sets = append(sets, set)
	}
	return sets
}

// drawKind draws a subset of the numbers below n, ascending.
func drawKind(n, kind int, r *rand.Rand) []int {
	few := func() []int {
		var some []int
		for range 1 + r.IntN(3) {
			some = append(some, r.IntN(n))
		}
		return some
	}
	var keeps func(i int) bool
	switch kind {
	case 0: // each or not
		keeps = func(int) bool { return r.Uint64()&1 == 1 }
	case 1: // few are missing
		missing := few()
		keeps = func(i int) bool { return !slices.Contains(missing, i) }
	case 2: // few are there
		there := few()
		keeps = func(i int) bool { return slices.Contains(there, i) }
	default: // in order, with disorder in the last ones
		end := 1 + r.IntN(n)
		keeps = func(i int) bool { return i < end && (i < end-8 || r.Uint64()&1 == 1) }
	}
	set := []int{}
	for i := range n {
		if keeps(i) {
			set = append(set, i)
		}
	}
	return set
}

func mask(set []int) uint64 {
	bits := uint64(0)
	for _, i := range set {
		bits |= 1 << i
	}
	return bits
}

func unmask(bits uint64) []int {
	set := []int{}
	for i := 0; bits>>i != 0; i++ {
		if bits>>i&1 == 1 {
			set = append(set, i)
		}
	}
	return set
}
