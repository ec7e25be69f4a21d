package flash

import "math/bits"

// bitset is a set of numbers from 0 up to its size, with a summary bit for
// every 64-bit word of the level below, so that the next member is found in a
// few steps.
type bitset struct{ levels [][]uint64 }

func newBitset(size int64) bitset {
	var b bitset
	for n := size; ; {
		n = (n + 63) / 64
		b.levels = append(b.levels, make([]uint64, n))
		if n == 1 {
			return b
		}
	}
}

func (b *bitset) set(i int64) {
	for _, l := range b.levels {
		was := l[i>>6]
		l[i>>6] |= 1 << (i & 63)
		if was != 0 {
			return
		}
		i >>= 6
	}
}

func (b *bitset) clear(i int64) {
	for _, l := range b.levels {
		l[i>>6] &^= 1 << (i & 63)
		if l[i>>6] != 0 {
			return
		}
		i >>= 6
	}
}

// next returns the first member that is i or more; -1 if there is none.
func (b *bitset) next(i int64) int64 {
	for k := 0; k < len(b.levels); k++ {
		l := b.levels[k]
		if i>>6 >= int64(len(l)) {
			return -1
		}
		if w := l[i>>6] >> (i & 63); w != 0 {
			i += int64(bits.TrailingZeros64(w))
			for k--; k >= 0; k-- {
				i = i<<6 + int64(bits.TrailingZeros64(b.levels[k][i]))
			}
			return i
		}
		i = i>>6 + 1
	}
	return -1
}
