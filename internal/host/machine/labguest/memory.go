// Package labguest is what the lab's guests have in common, whatever runs them: how much memory they
// need, what their console says, and how the device under test is described and wears.
package labguest

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"whichfs/internal/flash"
	"whichfs/internal/host/lab"
	"whichfs/internal/host/machine"
	"whichfs/internal/plan/media"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/sys/spill"

	"golang.org/x/sys/unix"
)

const (
	// baseMemory is for kernel, tools and page cache of a guest, on top of its data sets, in bytes,
	// unless less is requested.
	baseMemory = 640 << 20
	// LeastMemory is the least that a guest without data sets works with, in bytes: the kernel
	// keeps 49 MiB of it for itself, and agent, tools and a filesystem's module take at most 65
	// (Btrfs, Debian 12). With 112 MiB every trial still passed; with 96 the kernel deadlocked on
	// memory while loading a module.
	LeastMemory = 128 << 20
	mebibyte    = 1 << 20
)

// permitted is the least that may be requested for a guest of an architecture, by Debian's name, without
// data sets. Debian's kernel for 32-bit ARM keeps 19 MiB for itself. With 64 MiB one guest in eight was
// deadlocked on memory while loading XFS's module, and mkfs.f2fs was killed in one of four.
func permitted(arch string) int64 {
	if a, err := lab.ArchNamed(arch); err == nil && a.Name == "armhf" {
		return 96 << 20
	}
	return LeastMemory
}

// Memory is the memory of a guest in bytes: the requested amount, rounded up to MiB, or, for 0, as
// much as it needs.
func Memory(asked int64, spec machine.Spec, s media.Storage) (int64, error) {
	if asked == 0 {
		return baseMemory + upToMiB(3*dataSize(spec.Data)) + diskMemory(s), nil
	}
	least := Least(spec, s) - LeastMemory + permitted(spec.Arch)
	if asked < least {
		return 0, result.Refuse("give it "+media.FormatSize(least)+", or leave the memory to whichfs",
			"a guest with %s of memory is too small: with this storage and these data sets it needs at least %s",
			media.FormatSize(asked), media.FormatSize(least))
	}
	return upToMiB(asked), nil
}

// Least is the least memory that a guest works with, in bytes.
func Least(spec machine.Spec, s media.Storage) int64 {
	return LeastMemory + DataMemory(spec.Data, spec.Trees, 1) + diskMemory(s)
}

// DataMemory is the least memory for data sets, in bytes: streams once, trees as often as the work holds
// them (machine.Spec), and those that are brought as an archive no less often than least.
func DataMemory(data []scenario.Data, held map[string]int, least int) int64 {
	var sum int64
	for _, d := range data {
		if d.Kind == "tree" {
			times := cmp.Or(held[d.Name], 3)
			if d.Generated == "" {
				times = max(least, times)
			}
			sum += int64(times) * max(d.Size, d.Archive)
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

// memoryFor is the memory for a disk in memory of a given size, in bytes, including the tree that
// indexes its pages; a multiple of 1 MiB.
func memoryFor(size int64) int64 { return upToMiB(size + size/32) }

// available is the host's available memory in bytes; 0 if unknown.
func available() int64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		var kib int64
		if n, _ := fmt.Sscanf(line, "MemAvailable: %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	return 0
}

// Afford checks that this host has the memory for a guest, and room for the contents of a simulated
// device, which grow with what is written up to its full size. device names the storage; its size is
// 0 if the guest has none.
func Afford(memory int64, device string, size int64) error {
	free := available()
	if free <= 0 { // unknown
		return nil
	}
	room, where := spill.Room()
	return afford(memory, device, size, free, room, where)
}

// afford is Afford on a host with so much memory, and room for files at a place, in bytes.
func afford(memory int64, device string, size, free, room int64, where string) error {
	kept, filed := flash.Keeps(size)
	switch {
	case memory > free:
		return result.Refuse("use smaller data sets, or --quick", "the guest needs %d MiB of memory, but this host has %d MiB available", memory>>20, free>>20)
	case kept+max(0, filed-room) > free-memory: // memory is used where the file has no room
		return result.Refuse(fmt.Sprintf("make it smaller (sim:%s,1G), or have TMPDIR name a directory with more room", device),
			"what is written to simulated storage of %d MiB is kept in memory, and beyond %d MiB in a file; this host has %d MiB of memory available, of which the guest takes %d, and %d MiB of storage in %s",
			size>>20, kept>>20, free>>20, memory>>20, room>>20, where)
	}
	return nil
}

// InMemory returns an anonymous file with the given content.
func InMemory(name string, content []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("memfd: %w", err)
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err := f.Write(content); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}
