package states

import (
	"encoding/binary"
	"math/bits"

	"whichfs/internal/fault"
)

// Hash is a hash of a disk's contents: equal contents have equal hashes, on every
// machine and in every process. It distinguishes states that occur; it does not
// resist deliberate collisions.
type Hash [16]byte

// sum is the contribution of one block to the hash of a disk, which is the sum of
// the contributions of its blocks, so that one block can be replaced without
// reading the others. A block of zeros contributes zero, so that the number of
// blocks and the blocks omitted from an image do not matter.
type sum struct{ a, b uint64 }

func (s sum) plus(o sum) sum  { return sum{s.a + o.a, s.b + o.b} }
func (s sum) minus(o sum) sum { return sum{s.a - o.a, s.b - o.b} }

func (s sum) hash() (h Hash) {
	binary.LittleEndian.PutUint64(h[:], s.a)
	binary.LittleEndian.PutUint64(h[8:], s.b)
	return h
}

// Digits of pi after the point, as nothing-up-my-sleeve numbers.
const (
	pi0 = 0x243f6a8885a308d3
	pi1 = 0x13198a2e03707344
	pi2 = 0xa4093822299f31d0
	pi3 = 0x082efa98ec4e6c89
)

// mix folds the product of two numbers (as in wyhash, which is fast because it
// needs one multiplication for 16 bytes).
func mix(x, y uint64) uint64 {
	high, low := bits.Mul64(x, y)
	return high ^ low
}

// scramble is the finaliser of splitmix64: a bijection in which every bit of x
// changes half of the bits.
func scramble(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// blockSum is the contribution of a block of fault.BlockSize bytes. It has two
// lanes, which multiply different words by their state, so that data that make a
// product vanish in one lane do not in the other.
func blockSum(number int64, b []byte) sum {
	seed := scramble(uint64(number))
	p, q := seed^pi0, seed^pi1
	seen := uint64(0)
	for b = b[:fault.BlockSize]; len(b) >= 16; b = b[16:] {
		x, y := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
		seen |= x | y
		p = mix(x^pi2, y^p) + x
		q = mix(y^pi3, x^q) + y
	}
	if seen == 0 {
		return sum{}
	}
	return sum{scramble(p ^ bits.RotateLeft64(seed, 17)), scramble(q + seed)}
}
