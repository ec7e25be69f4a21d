package squeeze

import (
	"bytes"
	"math/bits"
	"slices"
)

// Before it compresses a block, Btrfs examines a sample of it and skips data
// that seems incompressible (btrfs(5), "compression"; thresholds of
// fs/btrfs/compression.c, Linux 6.1).
const (
	sampleSize = 16  // bytes per sample
	sampleStep = 256 // bytes between samples
	fewBytes   = 64  // at most this many different bytes are worth compressing
	coreShare  = 90  // percent of the sample that the core set makes up
	coreLow    = 64  // at most this many bytes in the core set are worth compressing
	coreHigh   = 200 // this many are not
	entropyTop = 80  // percent of eight bits from which it is not
)

// Promising reports whether Btrfs tries to compress a block.
func Promising(p []byte) bool {
	var room [Block / sampleStep * sampleSize]byte
	sample := room[:0]
	for at := 0; at+sampleSize <= len(p); at += sampleStep {
		sample = append(sample, p[at:at+sampleSize]...)
	}
	if half := len(sample) / 2; bytes.Equal(sample[:half], sample[half:2*half]) {
		return true
	}
	var count [256]int
	for _, b := range sample {
		count[b]++
	}
	slices.SortFunc(count[:], func(a, b int) int { return b - a })
	different, core, sum := 0, 0, 0
	for i, n := range count {
		if n == 0 {
			break
		}
		different++
		if sum <= len(sample)*coreShare/100 {
			core = i + 1
		}
		sum += n
	}
	switch {
	case different < fewBytes, core <= coreLow:
		return true
	case core >= coreHigh:
		return false
	}
	return entropy(count[:different], len(sample)) < entropyTop
}

// entropy is Shannon's, in percent of eight bits, with the kernel's logarithms
// in whole quarters.
func entropy(count []int, size int) int {
	sum, base := 0, quarters(uint64(size))
	for _, n := range count {
		sum += n * (base - quarters(uint64(n)))
	}
	return sum / size * 100 / (8 * quarters(2))
}

// quarters is four times the logarithm to base two, rounded down.
func quarters(n uint64) int { return bits.Len64(n*n*n*n) - 1 }
