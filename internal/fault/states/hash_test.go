package states

import (
	"encoding/binary"
	"encoding/hex"
	"math/bits"
	"testing"

	"whichfs/internal/fault"
)

const goldenHash = "3c1fe5041febaac5e0423bedb511d105"

func hashText(h Hash) string { return hex.EncodeToString(h[:]) }

// Contents that occur on disks, and contents that simple checksums confuse: each
// block has a unique contribution in both lanes.
func TestBlockSumCollisions(t *testing.T) {
	a, b := map[uint64]string{}, map[uint64]string{}
	n := 0
	check := func(what string, number int64, block []byte) {
		t.Helper()
		s := blockSum(number, block)
		if was, ok := a[s.a]; ok {
			t.Fatalf("%s has the first half of %s", what, was)
		}
		if was, ok := b[s.b]; ok {
			t.Fatalf("%s has the second half of %s", what, was)
		}
		a[s.a], b[s.b] = what, what
		n++
	}
	block := make([]byte, fault.BlockSize)
	for bit := range 8 * fault.BlockSize { // one set bit, in each place
		block[bit/8] = 1 << (bit % 8)
		check("one bit", 1, block)
		block[bit/8] = 0
	}
	for number := range int64(20000) { // the same contents in each block
		block[100] = 7
		check("same block elsewhere", number, block)
	}
	for v := 1; v < 256; v++ { // filled with one byte value, partly and wholly
		for _, length := range []int{8, 16, 512, 1024, 4088, 4096} {
			clear(block)
			for i := range length {
				block[i] = byte(v)
			}
			check("filled", 3, block)
		}
	}
	for counter := range uint64(20000) { // a counter in two places
		clear(block)
		binary.LittleEndian.PutUint64(block[16:], counter+1)
		check("counter", 5, block)
		binary.LittleEndian.PutUint64(block[24:], counter+1)
		check("counter twice", 5, block)
	}
	for i := range 511 { // two words swapped
		for w := range 512 {
			binary.LittleEndian.PutUint64(block[8*w:], uint64(w+1))
		}
		binary.LittleEndian.PutUint64(block[8*i:], uint64(i+2))
		binary.LittleEndian.PutUint64(block[8*i+8:], uint64(i+1))
		check("exchanged", 6, block)
	}
	// Words that make a product vanish: one lane loses its state, the other does
	// not.
	for i := range 1000 {
		clear(block)
		binary.LittleEndian.PutUint64(block, uint64(i+1))
		binary.LittleEndian.PutUint64(block[128:], pi2)
		s := blockSum(9, block)
		if was, ok := b[s.b]; ok {
			t.Fatalf("after the first lane's own constant: the second half of %s", was)
		}
		b[s.b] = "vanishing"
	}
	if n < 90000 {
		t.Errorf("only %d blocks", n)
	}
}

// Swapped blocks, and equal changes in two blocks, do not cancel out in the sum.
func TestSumOfBlocks(t *testing.T) {
	x, y := make([]byte, fault.BlockSize), make([]byte, fault.BlockSize)
	x[0], y[0] = 1, 2
	if blockSum(1, x).plus(blockSum(2, y)) == blockSum(1, y).plus(blockSum(2, x)) {
		t.Error("two swapped blocks have the same sum")
	}
	seen := map[sum]bool{}
	for i := range 300 {
		for j := range 300 {
			x[0], x[1], y[0], y[1] = byte(i), byte(i>>8), byte(j), byte(j>>8)
			s := blockSum(10, x).plus(blockSum(11, y))
			if seen[s] {
				t.Fatalf("%d and %d have the sum of another pair", i, j)
			}
			seen[s] = true
		}
	}
	if (blockSum(7, make([]byte, fault.BlockSize)) != sum{}) {
		t.Error("a block of zeros changes the sum")
	}
}

// One flipped bit changes half of the bits in each half of the contribution.
func TestBlockSumMixes(t *testing.T) {
	block := make([]byte, fault.BlockSize)
	for i := range block {
		block[i] = byte(i * i)
	}
	was := blockSum(1, block)
	changedA, changedB, n := 0, 0, 0
	for bit := 0; bit < 8*fault.BlockSize; bit += 7 {
		block[bit/8] ^= 1 << (bit % 8)
		s := blockSum(1, block)
		block[bit/8] ^= 1 << (bit % 8)
		changedA += bits.OnesCount64(s.a ^ was.a)
		changedB += bits.OnesCount64(s.b ^ was.b)
		n++
	}
	for _, c := range []int{changedA, changedB} {
		if mean := float64(c) / float64(n); mean < 31.5 || mean > 32.5 {
			t.Errorf("%v of 64 bits change on average", mean)
		}
	}
}
