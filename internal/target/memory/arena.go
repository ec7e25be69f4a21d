package memory

import (
	"fmt"
	"math"

	"golang.org/x/sys/unix"
)

// reserve maps size bytes of anonymous memory. It costs nothing until it is
// written to, and lies outside the garbage-collected heap. It requests huge
// pages if the kernel has them: the copy into the page cache then has fewer
// TLB misses, which under emulation are most of its cost.
func reserve(size int64) ([]byte, error) {
	if size <= 0 {
		return nil, nil // mmap rejects an empty mapping
	}
	if size > math.MaxInt {
		return nil, fmt.Errorf("%d bytes are more than this processor can address", size)
	}
	b, err := unix.Mmap(-1, 0, int(size), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("%d bytes of memory: %w", size, err)
	}
	_ = unix.Madvise(b, unix.MADV_HUGEPAGE) // a kernel without them returns EINVAL
	return b, nil
}

func release(arena *[]byte) error {
	if *arena == nil {
		return nil
	}
	err := unix.Munmap(*arena)
	*arena = nil
	return err
}

// Close frees the memory, after which nothing of the tree may be used. It may
// be called more than once.
func (t *Tree) Close() error {
	t.Entries = nil
	return release(&t.arena)
}

// Close frees the memory. It may be called more than once.
func (s *Stream) Close() error {
	s.Data = nil
	return release(&s.arena)
}
