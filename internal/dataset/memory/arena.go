package memory

import (
	"fmt"
	"math"

	"golang.org/x/sys/unix"
)

// reserve maps size bytes of anonymous memory. It costs nothing until it is
// written to, and lies outside the collector's heap. Huge pages are asked for
// where the kernel has them: the copy into the page cache then misses the TLB
// less, which under emulation is most of its cost.
func reserve(size int64) ([]byte, error) {
	if size <= 0 {
		return nil, nil // mmap refuses an empty mapping
	}
	if size > math.MaxInt {
		return nil, fmt.Errorf("%d bytes are more than this processor can address", size)
	}
	b, err := unix.Mmap(-1, 0, int(size), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("%d bytes of memory: %w", size, err)
	}
	_ = unix.Madvise(b, unix.MADV_HUGEPAGE) // a kernel without them says EINVAL
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

// Close gives the memory back. Nothing of the tree may be used afterwards; it
// may be called more than once.
func (t *Tree) Close() error {
	t.Entries = nil
	return release(&t.arena)
}

// Close gives the memory back. It may be called more than once.
func (s *Stream) Close() error {
	s.Data = nil
	return release(&s.arena)
}
