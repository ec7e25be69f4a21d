package generated

import (
	"math/bits"
	"slices"
	"strconv"

	"whichfs/internal/plan/tree/texture"
)

// shuffle permutes a list.
func shuffle[T any](c *texture.Source, list []T) {
	for i := len(list) - 1; i > 0; i-- {
		j := int(c.Below(int64(i + 1)))
		list[i], list[j] = list[j], list[i]
	}
}

// share divides total among parts in proportion to their weights: whole
// numbers whose sum is total (largest remainders, Hamilton's method).
func share(total int64, weights []int64) []int64 {
	var sum int64
	for _, w := range weights {
		sum += w
	}
	out := make([]int64, len(weights))
	if sum == 0 {
		return out
	}
	rest := make([]uint64, len(weights))
	left, order := total, make([]int, len(weights))
	for i, w := range weights {
		hi, lo := bits.Mul64(uint64(total), uint64(w))
		q, r := bits.Div64(hi, lo, uint64(sum))
		out[i], rest[i], order[i] = int64(q), r, i
		left -= int64(q)
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case rest[a] > rest[b]:
			return -1
		case rest[a] < rest[b]:
			return 1
		}
		return 0
	})
	for _, i := range order[:left] {
		out[i]++
	}
	return out
}

// widen converts counts for share.
func widen(counts []int) []int64 {
	out := make([]int64, len(counts))
	for i, n := range counts {
		out[i] = int64(n)
	}
	return out
}

// draws returns n numbers, in any order, distributed over the classes of a
// profile according to its counts.
func draws(c *texture.Source, n int, counts []int) []int64 {
	var out []int64
	for k, times := range share(int64(n), widen(counts)) {
		for range times {
			out = append(out, inClass(c, k))
		}
	}
	shuffle(c, out)
	return out
}

// inClass returns a number of a class; see Profile.Sizes.
func inClass(c *texture.Source, k int) int64 {
	if k == 0 {
		return 0
	}
	low := int64(1) << (k - 1)
	return low + c.Below(low)
}

// spread divides n things among bins so that their distribution follows the
// counts, as far as the sum allows.
func spread(c *texture.Source, n, bins int, counts []int) []int64 {
	weights := draws(c, bins, counts)
	if total(weights) == 0 {
		weights = slices.Repeat([]int64{1}, bins)
	}
	return share(int64(n), weights)
}

// branch is a directory of a tree under construction.
type branch struct {
	path  string
	depth int // of what is in it
	names int // given so far
	most  int // names that it will have
}

// letters of names. Only their number matters to a filesystem.
const nameLetters = "abcdefghijklmnopqrstuvwxyz0123456789_"

// name makes a name of about the given length that is unique in the directory:
// it ends with its number, in as many digits as the last one needs.
func (f *branch) name(c *texture.Source, length int64) string {
	digits := len(strconv.FormatInt(int64(f.most), 36))
	number := strconv.FormatInt(int64(f.names), 36)
	f.names++
	out := make([]byte, max(int(length), digits))
	for i := range out {
		out[i] = nameLetters[c.Below(int64(len(nameLetters)))]
	}
	tail := out[len(out)-digits:]
	for i := range tail {
		tail[i] = '0'
	}
	copy(tail[digits-len(number):], number)
	if f.path == "" {
		return string(out)
	}
	return f.path + "/" + string(out)
}

// nameLengths draws lengths of n names, in bytes.
func nameLengths(c *texture.Source, n int, counts []int) []int64 {
	out := make([]int64, 0, n)
	for k, times := range share(int64(n), widen(counts)) {
		for range times {
			out = append(out, max(1, int64(k*nameClass)+c.Below(nameClass)))
		}
	}
	shuffle(c, out)
	return out
}
