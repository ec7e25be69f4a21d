package virtio

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"
)

// A split virtqueue (virtio 1.2, 2.7): a table of descriptors, a ring of chains that the guest makes
// available, a ring of those that the device has used.
const (
	DescriptorSize     = 16
	DescriptorNext     = 1 // flag: another follows
	DescriptorWrite    = 2 // flag: for the device to write
	DescriptorIndirect = 4 // flag: points to a table
	AvailableQuiet     = 1 // flag: no interrupts, please

	queueMost = 1024
)

// Queue is one of a device's queues, for use by one goroutine at a time.
type Queue struct {
	Memory *Memory

	length  uint32
	enabled bool

	descriptors, used, available uint64 // the front end's addresses
	taken                        uint16 // chains taken from the available ring
	done                         uint16 // chains put on the used ring
}

// Resize sets the number of descriptors.
func (q *Queue) Resize(n uint32) error {
	if n == 0 || n > queueMost || n&(n-1) != 0 {
		return fmt.Errorf("a queue of %d", n)
	}
	q.length = n
	return nil
}

// Place says where the queue is. What a device before this one has used stays used.
func (q *Queue) Place(descriptors, used, available uint64) error {
	if descriptors%DescriptorSize != 0 || used%4 != 0 || available%2 != 0 {
		return fmt.Errorf("a queue that is not aligned: %#x, %#x, %#x", descriptors, used, available)
	}
	q.descriptors, q.used, q.available = descriptors, used, available
	ring, err := q.Memory.at(used, 4)
	if err != nil {
		return err
	}
	q.done = binary.LittleEndian.Uint16(ring[2:])
	return nil
}

// Begin sets the number of chains that were taken before.
func (q *Queue) Begin(taken uint16) { q.taken = taken }

// Taken is the number of chains that were taken, modulo 65536.
func (q *Queue) Taken() uint16 { return q.taken }

// Enable lets the queue work.
func (q *Queue) Enable(on bool) { q.enabled = on }

// Ready reports whether the queue can be used.
func (q *Queue) Ready() bool { return q.enabled && q.length > 0 }

// Segment is a part of a chain, in the guest's memory.
type Segment struct {
	Bytes []byte
	Write bool // for the device to write
}

// Chain is a request or a buffer of the guest.
type Chain struct {
	Segments []Segment

	q    *Queue
	head uint16
}

// ErrChain means that a chain of descriptors never ends.
var ErrChain = errors.New("a chain of descriptors that never ends")

// Take returns the next chain that the guest has made available; ok is false if there is none.
func (q *Queue) Take() (c Chain, ok bool, err error) {
	ring, err := q.Memory.at(q.available, uint64(4+2*q.length))
	if err != nil {
		return c, false, err
	}
	more := index(ring) - q.taken
	if more == 0 {
		return c, false, nil
	}
	if uint32(more) > q.length {
		return c, false, fmt.Errorf("%d chains are available in a queue of %d", more, q.length)
	}
	c = Chain{q: q, head: binary.LittleEndian.Uint16(ring[4+2*(uint32(q.taken)%q.length):])}
	q.taken++
	c.Segments, err = q.follow(c.head)
	return c, err == nil, err
}

// follow collects the segments of a chain.
func (q *Queue) follow(head uint16) ([]Segment, error) {
	table, err := q.Memory.at(q.descriptors, uint64(q.length)*DescriptorSize)
	if err != nil {
		return nil, err
	}
	var out []Segment
	for i, steps := uint32(head), 0; ; steps++ {
		if steps > 2*queueMost {
			return nil, ErrChain
		}
		if uint64(i)*DescriptorSize+DescriptorSize > uint64(len(table)) {
			return nil, fmt.Errorf("there is no descriptor %d", i)
		}
		d := table[i*DescriptorSize:]
		address, size := binary.LittleEndian.Uint64(d), uint64(binary.LittleEndian.Uint32(d[8:]))
		flags, next := binary.LittleEndian.Uint16(d[12:]), binary.LittleEndian.Uint16(d[14:])
		bytes, err := q.Memory.At(address, size)
		if err != nil {
			return nil, err
		}
		if flags&DescriptorIndirect != 0 {
			table, i = bytes, 0
			continue
		}
		out = append(out, Segment{bytes, flags&DescriptorWrite != 0})
		if flags&DescriptorNext == 0 {
			return out, nil
		}
		i = uint32(next)
	}
}

// Finish gives a chain back, of which the device has written n bytes.
func (c Chain) Finish(n int) error {
	q := c.q
	ring, err := q.Memory.at(q.used, uint64(4+8*q.length))
	if err != nil {
		return err
	}
	e := ring[4+8*(uint32(q.done)%q.length):]
	binary.LittleEndian.PutUint32(e, uint32(c.head))
	binary.LittleEndian.PutUint32(e[4:], uint32(n))
	q.done++
	// Flags are 0: kicks are wanted. The guest may run now: what it sees of the index, it also sees
	// of the entry.
	atomic.StoreUint32((*uint32)(unsafe.Pointer(&ring[0])), uint32(q.done)<<16)
	return nil
}

// Quiet reports whether the guest does not want to be interrupted for finished chains.
func (q *Queue) Quiet() (bool, error) {
	ring, err := q.Memory.at(q.available, 4)
	return err == nil && binary.LittleEndian.Uint16(ring)&AvailableQuiet != 0, err
}

// Filled reports whether the guest has made a chain available.
func (q *Queue) Filled() bool {
	ring, err := q.Memory.at(q.available, 6)
	return err == nil && q.taken != index(ring)
}

// Put fills the next chain with as much of b as it holds.
func (q *Queue) Put(b []byte) (n int, err error) {
	c, ok, err := q.Take()
	if err != nil || !ok {
		return 0, err
	}
	for _, s := range c.Segments {
		if s.Write {
			n += copy(s.Bytes, b[n:])
		}
	}
	if n == 0 && len(b) > 0 {
		return 0, errors.New("a buffer of no bytes")
	}
	return n, c.Finish(n)
}

// index is that of the available ring, which the guest may be advancing: all that it wrote before is
// visible once the index is. The index is in the lower or upper half of an aligned word; hosts are
// little-endian.
func index(ring []byte) uint16 {
	if at := unsafe.Pointer(&ring[0]); uintptr(at)%4 == 0 {
		return uint16(atomic.LoadUint32((*uint32)(at)) >> 16)
	}
	return uint16(atomic.LoadUint32((*uint32)(unsafe.Pointer(&ring[2]))))
}
