package qemu

import (
	"whichfs/internal/host/machine"
	"whichfs/internal/plan/media"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
)

const (
	// baseMemory is for kernel, tools and page cache of a guest, on top of its data sets, in bytes,
	// unless less is requested.
	baseMemory = 640 << 20
	// leastMemory is the least that a guest without data sets works with, in bytes: the kernel
	// keeps 49 MiB of it for itself, and agent, tools and a filesystem's module take at most 65
	// (Btrfs, Debian 12). With 112 MiB every trial still passed; with 96 the kernel deadlocked on
	// memory while loading a module.
	leastMemory = 128 << 20
	mebibyte    = 1 << 20
)

// memoryOf is the memory of a guest: the requested amount, rounded up to MiB, or as much as it
// needs.
func (m *Machine) memoryOf(spec machine.Spec, s media.Storage) (int64, error) {
	asked := spec.Memory
	if asked == 0 {
		asked = m.o.Memory
	}
	if asked == 0 {
		return baseMemory + upToMiB(3*dataSize(spec.Data)) + diskMemory(s), nil
	}
	least := leastMemory + neededFor(spec.Data) + diskMemory(s)
	if asked < least {
		return 0, result.Refuse("give it "+media.FormatSize(least)+", or leave the memory to whichfs",
			"a guest with %s of memory is too small: with this storage and these data sets it needs at least %s",
			media.FormatSize(asked), media.FormatSize(least))
	}
	return upToMiB(asked), nil
}

// neededFor is the least memory for data sets, in bytes: streams once; trees once, plus twice where
// a read-only filesystem is made from them, as a directory and as the image.
func neededFor(data []scenario.Data) int64 {
	var sum int64
	for _, d := range data {
		if d.Kind == "tree" {
			sum += 3 * max(d.Size, d.Archive)
		} else {
			sum += d.Size
		}
	}
	return upToMiB(sum)
}

// dataSize is the length of all data sets, in bytes.
func dataSize(data []scenario.Data) int64 {
	var sum int64
	for _, d := range data {
		if d.Kind == "tree" {
			sum += max(d.Size, d.Archive)
		} else {
			sum += d.Size
		}
	}
	return sum
}

// diskMemory is how much of the guest's memory its storage takes, in bytes.
func diskMemory(s media.Storage) int64 {
	switch s.Kind {
	case media.KindRAM:
		return memoryFor(s.Size)
	case media.KindNAND:
		n, err := s.NAND()
		if err != nil {
			return 0 // the storage check reports it
		}
		return chipMemory(n)
	}
	return 0
}

func upToMiB(n int64) int64 { return (n + mebibyte - 1) &^ (mebibyte - 1) }

// nandArray is the simulator's overhead per page, used or not: one pointer, in bytes.
const nandArray = 8

// chipMemory is the most that a simulated raw chip takes of a guest's memory, in bytes: twice the
// contents of all pages, spare bytes included, because a chip's contents are kept while another one
// takes its place (workload.Chip); plus an eighth for how the kernel's allocator packs pages of odd
// sizes (528 and 2112 bytes). Unused pages take no memory.
func chipMemory(n media.NAND) int64 {
	all := n.Pages() * int64(n.Page+n.OOB)
	return upToMiB(2*all + all/8 + n.Pages()*nandArray)
}
