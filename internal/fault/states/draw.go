package states

import (
	"maps"
	"math/rand/v2"
	"slices"

	"whichfs/internal/fault"
	"whichfs/internal/fault/writelog"
)

// Remains draws one of the states that a power loss after the first point entries
// can leave. Of the requests that no flush made durable, none reached the medium in a
// third of the cases, in a third all but the end of the last one, and in a third each
// one with probability 1/2: a device writes its cache back in any order.
func Remains(r *rand.Rand, l writelog.Log, point int) State {
	s := State{Point: point}
	all := Volatile(l, point)
	switch r.IntN(3) {
	case 0:
	case 1:
		s.Kept = all
		if len(all) == 0 {
			break
		}
		last := all[len(all)-1]
		if n := int(l.Entries[last].Sectors); n > 1 {
			s.Torn = &Torn{Entry: last, Sectors: 1 + r.IntN(n-1)}
		} else {
			s.Kept = all[:len(all)-1]
		}
	default:
		for _, entry := range all {
			if r.IntN(2) == 0 {
				s.Kept = append(s.Kept, entry)
			}
		}
	}
	return s
}

// Flipped draws bits, with equal probability, from the sectors with these numbers,
// and returns the blocks of the disk that differ once the bits are flipped.
func Flipped(r *rand.Rand, im fault.Image, sectors []int64, bits int) []Block {
	const perSector = writelog.SectorSize * 8
	flips := map[int64]bool{}
	for most := int64(len(sectors)) * perSector; int64(len(flips)) < min(int64(bits), most); {
		flips[sectors[r.IntN(len(sectors))]*perSector+int64(r.IntN(perSector))] = true
	}
	changed := map[int64][]byte{}
	for bit := range flips {
		n := bit / 8 / fault.BlockSize
		if changed[n] == nil {
			changed[n] = slices.Clone(im.Blocks[n])
		}
		changed[n][bit/8%fault.BlockSize] ^= 1 << (bit % 8)
	}
	var out []Block
	for _, n := range slices.Sorted(maps.Keys(changed)) {
		out = append(out, Block{Number: n, Data: changed[n]})
	}
	return out
}

// draw draws count different subsets of n writes that are not in taken; there must
// be that many. taken is nil if n is so large that repetitions do not occur. Four
// kinds alternate, because random halves of all writes never show the effect of one
// missing write.
func draw(n, count int, taken map[uint64]bool, r *rand.Rand) [][]int {
	sets := make([][]int, 0, count)
	for i := range count {
		set := drawKind(n, i%4, r)
		for tries := 0; taken != nil && taken[mask(set)] && tries < 16; tries++ {
			set = drawKind(n, i%4, r)
		}
		if taken != nil {
			bits := mask(set)
			for taken[bits] { // the next free one
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
	case 0: // each with probability 1/2
		keeps = func(int) bool { return r.Uint64()&1 == 1 }
	case 1: // few are missing
		missing := few()
		keeps = func(i int) bool { return !slices.Contains(missing, i) }
	case 2: // few are kept
		there := few()
		keeps = func(i int) bool { return slices.Contains(there, i) }
	default: // a prefix, with some of its last 8 missing
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
