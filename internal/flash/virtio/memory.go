package virtio

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"
)

// Memory is a guest's memory, as its front end shares it. The zero value is none.
type Memory struct{ regions []region }

// region is a part of the guest's memory.
type region struct {
	guest, user uint64 // addresses of the guest and of the front end
	bytes       []byte
	whole       []byte // as it was mapped
}

// share maps what a message describes, in place of what was mapped before.
func (m *Memory) share(body []byte, fds []int) error {
	n := int(binary.LittleEndian.Uint32(body))
	if n > len(fds) || len(body) < 8+32*n {
		return fmt.Errorf("%d regions of memory with %d descriptors", n, len(fds))
	}
	m.Unmap()
	for i := range n {
		word := func(k int) uint64 { return binary.LittleEndian.Uint64(body[8+32*i+8*k:]) }
		size, offset := word(1), word(3)
		var st unix.Stat_t
		if err := unix.Fstat(fds[i], &st); err != nil || size == 0 || offset+size < size || offset+size > uint64(st.Size) {
			// Beyond the end of the file is SIGBUS.
			return fmt.Errorf("a region of %d bytes at %d of a file of %d", size, offset, st.Size)
		}
		// From the start: the offset need not be one of a page of the file, which may be huge.
		whole, err := unix.Mmap(fds[i], 0, int(offset+size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err != nil {
			return fmt.Errorf("map the guest's memory: %w", err)
		}
		m.regions = append(m.regions, region{guest: word(0), user: word(2), bytes: whole[offset:], whole: whole})
	}
	return nil
}

// Own makes bytes the guest's memory, from address 0: a test has no front end.
func (m *Memory) Own(bytes []byte) { m.regions = []region{{bytes: bytes}} }

// Unmap forgets the memory. Nothing that At returned may be used any more.
func (m *Memory) Unmap() {
	for _, r := range m.regions {
		if r.whole != nil {
			_ = unix.Munmap(r.whole)
		}
	}
	m.regions = nil
}

// At is a part of the guest's memory, by the guest's address.
func (m *Memory) At(address, size uint64) ([]byte, error) {
	for _, r := range m.regions {
		if b, ok := r.at(address-r.guest, size); ok && address >= r.guest {
			return b, nil
		}
	}
	return nil, fmt.Errorf("%d bytes at %#x are not in the guest's memory", size, address)
}

// at is the same by the front end's address, which is how it says where queues are.
func (m *Memory) at(address, size uint64) ([]byte, error) {
	for _, r := range m.regions {
		if b, ok := r.at(address-r.user, size); ok && address >= r.user {
			return b, nil
		}
	}
	return nil, fmt.Errorf("%d bytes at the front end's address %#x are not in the guest's memory", size, address)
}

func (r region) at(off, size uint64) ([]byte, bool) {
	if off > uint64(len(r.bytes)) || size > uint64(len(r.bytes))-off {
		return nil, false
	}
	return r.bytes[off : off+size : off+size], true
}
