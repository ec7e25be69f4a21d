package monitor

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// A split virtqueue (virtio 1.2, 2.7): a table of descriptors, a ring of chains that the guest makes
// available, a ring of those that the device has used.
const (
	descriptorSize     = 16
	descriptorNext     = 1 // flag: another follows
	descriptorWrite    = 2 // flag: for the device to write
	descriptorIndirect = 4 // flag: points to a table
	availableQuiet     = 1 // flag: no interrupts, please
	queueMost          = 1024
)

// queue is one of a device's queues.
type queue struct {
	d       *device
	number  int
	length  uint32
	enabled bool

	descriptors, used, available uint64 // addresses in the guest's memory
	taken                        uint16 // chains taken from the available ring
	done                         uint16 // chains put on the used ring
}

func (q *queue) size(n uint32) error {
	if n == 0 || n > queueMost || n&(n-1) != 0 {
		return fmt.Errorf("a queue of %d", n)
	}
	q.length = n
	return nil
}

func (q *queue) ready() bool { return q.enabled && q.length > 0 }

// segment is a part of a chain, in the guest's memory.
type segment struct {
	bytes []byte
	write bool // for the device to write
}

// chain is a request or a buffer of the guest.
type chain struct {
	q        *queue
	head     uint16
	segments []segment
}

var errChain = errors.New("a chain of descriptors that never ends")

// take returns the next chain that the guest has made available; ok is false if there is none.
func (q *queue) take() (c chain, ok bool, err error) {
	ring, err := q.d.at(q.available, uint64(4+2*q.length))
	if err != nil {
		return c, false, err
	}
	more := binary.LittleEndian.Uint16(ring[2:]) - q.taken
	if more == 0 {
		return c, false, nil
	}
	if uint32(more) > q.length {
		return c, false, fmt.Errorf("%d chains are available in a queue of %d", more, q.length)
	}
	c = chain{q: q, head: binary.LittleEndian.Uint16(ring[4+2*(uint32(q.taken)%q.length):])}
	q.taken++
	c.segments, err = q.follow(c.head)
	return c, err == nil, err
}

// follow collects the segments of a chain.
func (q *queue) follow(head uint16) ([]segment, error) {
	table, err := q.d.at(q.descriptors, uint64(q.length)*descriptorSize)
	if err != nil {
		return nil, err
	}
	var out []segment
	for i, steps := uint32(head), 0; ; steps++ {
		if steps > 2*queueMost {
			return nil, errChain
		}
		if uint64(i)*descriptorSize+descriptorSize > uint64(len(table)) {
			return nil, fmt.Errorf("there is no descriptor %d", i)
		}
		d := table[i*descriptorSize:]
		address, size := binary.LittleEndian.Uint64(d), uint64(binary.LittleEndian.Uint32(d[8:]))
		flags, next := binary.LittleEndian.Uint16(d[12:]), binary.LittleEndian.Uint16(d[14:])
		bytes, err := q.d.at(address, size)
		if err != nil {
			return nil, err
		}
		if flags&descriptorIndirect != 0 {
			table, i = bytes, 0
			continue
		}
		out = append(out, segment{bytes, flags&descriptorWrite != 0})
		if flags&descriptorNext == 0 {
			return out, nil
		}
		i = uint32(next)
	}
}

// finish gives a chain back, of which the device has written n bytes.
func (c chain) finish(n int) error {
	q := c.q
	ring, err := q.d.at(q.used, uint64(4+8*q.length))
	if err != nil {
		return err
	}
	e := ring[4+8*(uint32(q.done)%q.length):]
	binary.LittleEndian.PutUint32(e, uint32(c.head))
	binary.LittleEndian.PutUint32(e[4:], uint32(n))
	q.done++
	binary.LittleEndian.PutUint16(ring[2:], q.done)
	return nil
}

// interrupt tells the guest about finished chains, if it wants to know.
func (q *queue) interrupt() error {
	ring, err := q.d.at(q.available, 4)
	if err != nil {
		return err
	}
	if binary.LittleEndian.Uint16(ring)&availableQuiet != 0 {
		return nil
	}
	return q.d.interrupt(q.number)
}

// filled reports whether the guest has made a chain available.
func (q *queue) filled() bool {
	ring, err := q.d.at(q.available, 4)
	return err == nil && q.taken != binary.LittleEndian.Uint16(ring[2:])
}

// put fills the next chain with as much of b as it holds.
func (q *queue) put(b []byte) (n int, err error) {
	c, ok, err := q.take()
	if err != nil || !ok {
		return 0, err
	}
	for _, s := range c.segments {
		if s.write {
			n += copy(s.bytes, b[n:])
		}
	}
	if n == 0 && len(b) > 0 {
		return 0, fmt.Errorf("queue %d: a buffer of no bytes", q.number)
	}
	return n, c.finish(n)
}
