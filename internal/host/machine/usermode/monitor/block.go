package monitor

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"whichfs/internal/flash"
)

// Disk is one of a guest's disks: simulated storage, whose model says how long each request takes,
// or a file of the host, whose requests take no time at all.
type Disk struct {
	Serial string // at most 20 bytes, virtio's limit
	// Device is simulated storage; the monitor uses it on its own goroutine alone.
	Device flash.Device
	// Trim: the device supports discards.
	Trim bool
	// File is read only.
	File *os.File
}

// virtio's block device (virtio 1.2, 5.2).
const (
	blockID = 2

	blockSizeMax = 1 << 1
	blockSegMax  = 1 << 2
	blockRO      = 1 << 5
	blockSize    = 1 << 6
	blockFlush   = 1 << 9
	blockDiscard = 1 << 13

	blockIn      = 0
	blockOut     = 1
	blockSync    = 4
	blockName    = 8
	blockTrim    = 11
	blockOK      = 0
	blockError   = 1
	blockUnknown = 2

	blockHeader = 16
	// The most segments of a request, and the most bytes of a segment: a page. Where neighbouring
	// pages count as one, a request is the longer the less memory has been used before.
	segmentsMost = flash.LongestRequest / segmentMost
	segmentMost  = 4096
	// The most sectors of a discard, and the most discards of a request.
	trimMost = 1 << 22
)

// block is a disk.
type block struct {
	m      *Monitor
	d      *device
	disk   Disk
	size   int64 // B
	buffer []byte
}

func newBlock(m *Monitor, d Disk) (*block, error) {
	b := &block{m: m, disk: d}
	switch {
	case d.Device != nil:
		b.size = d.Device.Size()
	case d.File != nil:
		info, err := d.File.Stat()
		if err != nil {
			return nil, err
		}
		b.size = info.Size()
	default:
		return nil, fmt.Errorf("disk %s has no contents", d.Serial)
	}
	b.size = (b.size + flash.Sector - 1) / flash.Sector * flash.Sector
	return b, nil
}

func (b *block) attach(d *device) { b.d = d }

func (b *block) id() int { return blockID }

func (b *block) features() uint64 {
	f := uint64(blockSizeMax | blockSegMax | blockSize | blockFlush)
	if b.disk.Device == nil {
		f |= blockRO
	}
	if b.disk.Trim {
		f |= blockDiscard
	}
	return f
}

func (b *block) config() []byte {
	c := make([]byte, 60)
	binary.LittleEndian.PutUint64(c, uint64(b.size/flash.Sector))
	binary.LittleEndian.PutUint32(c[8:], segmentMost)
	binary.LittleEndian.PutUint32(c[12:], segmentsMost)
	binary.LittleEndian.PutUint32(c[20:], flash.Sector)
	binary.LittleEndian.PutUint16(c[34:], 1) // queues
	if b.disk.Trim {
		binary.LittleEndian.PutUint32(c[36:], trimMost)
		binary.LittleEndian.PutUint32(c[40:], 1)
		binary.LittleEndian.PutUint32(c[44:], 1) // sectors, of alignment
	}
	return c
}

// kicked takes all requests in their order. Each is carried out at once, and answered when the model
// says.
func (b *block) kicked(number int) error {
	q := &b.d.queues[number]
	for {
		c, ok, err := q.take()
		if err != nil || !ok {
			return err
		}
		status, written, done, err := b.request(c)
		if err != nil {
			return err
		}
		b.m.at(uint64(done), func() error {
			if b.d.gone {
				return nil
			}
			c.segments[len(c.segments)-1].bytes[0] = status
			if err := c.finish(written + 1); err != nil {
				return err
			}
			return q.interrupt()
		})
	}
}

// request carries out a request. It returns its status, the number of bytes written to the guest's
// memory, and the instant at which it is to be answered.
func (b *block) request(c chain) (status byte, written int, done time.Duration, err error) {
	last := len(c.segments) - 1
	if last < 1 || len(c.segments[0].bytes) < blockHeader || len(c.segments[last].bytes) < 1 || !c.segments[last].write {
		return 0, 0, 0, errors.New("a request without header or status")
	}
	header, data := c.segments[0].bytes, c.segments[1:last]
	now := b.m.clock.elapsed()
	sector := binary.LittleEndian.Uint64(header[8:])
	length := int64(0)
	for _, s := range data {
		length += int64(len(s.bytes))
	}
	r := flash.Request{Length: length}
	switch binary.LittleEndian.Uint32(header) {
	case blockIn:
		r.Op = flash.Read
		written = int(length)
	case blockOut:
		r.Op = flash.Write
	case blockSync:
		r = flash.Request{Op: flash.Flush}
	case blockTrim:
		if length != 16 || len(data) != 1 {
			return blockError, 0, now, nil
		}
		r.Op = flash.Trim
		sector, r.Length = binary.LittleEndian.Uint64(data[0].bytes), int64(binary.LittleEndian.Uint32(data[0].bytes[8:]))*flash.Sector
	case blockName:
		if len(data) != 1 || !data[0].write {
			return blockError, 0, now, nil
		}
		clear(data[0].bytes)
		copy(data[0].bytes, b.disk.Serial)
		return blockOK, len(data[0].bytes), now, nil
	default:
		return blockUnknown, 0, now, nil
	}
	if sector > uint64(b.size/flash.Sector) {
		return blockError, 0, now, nil
	}
	r.Offset = int64(sector) * flash.Sector
	if r.Op != flash.Flush && r.Length > b.size-r.Offset {
		return blockError, 0, now, nil
	}
	for _, s := range data {
		if s.write != (r.Op == flash.Read) {
			return blockError, 0, now, nil
		}
	}
	if b.disk.Device == nil {
		return b.fromFile(r, data, now)
	}
	return b.simulated(r, data, now)
}

// fromFile reads from a file, in no time.
func (b *block) fromFile(r flash.Request, data []segment, now time.Duration) (byte, int, time.Duration, error) {
	switch r.Op {
	case flash.Flush:
		return blockOK, 0, now, nil
	case flash.Read:
	default:
		return blockError, 0, now, nil
	}
	off := r.Offset
	for _, s := range data {
		n, err := b.disk.File.ReadAt(s.bytes, off)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, 0, 0, fmt.Errorf("disk %s: %w", b.disk.Serial, err)
		}
		clear(s.bytes[n:]) // the rest of the last sector
		off += int64(len(s.bytes))
	}
	return blockOK, int(r.Length), now, nil
}

// simulated passes a request to the model. Its data must be in one piece.
func (b *block) simulated(r flash.Request, data []segment, now time.Duration) (byte, int, time.Duration, error) {
	whole := r.Op == flash.Read || r.Op == flash.Write
	if whole && len(data) == 1 {
		r.Data = data[0].bytes
	} else if whole {
		if int64(cap(b.buffer)) < r.Length {
			b.buffer = make([]byte, r.Length)
		}
		r.Data = b.buffer[:r.Length]
		if r.Op == flash.Write {
			at := 0
			for _, s := range data {
				at += copy(r.Data[at:], s.bytes)
			}
		}
	}
	done, err := b.disk.Device.Submit(now, r)
	if errors.Is(err, flash.ErrTrim) {
		return blockUnknown, 0, now, nil
	}
	if err != nil {
		return blockError, 0, now, nil //nolint:nilerr // the guest hears of it
	}
	if r.Op != flash.Read {
		return blockOK, 0, done, nil
	}
	if len(data) > 1 {
		at := 0
		for _, s := range data {
			at += copy(s.bytes, r.Data[at:])
		}
	}
	return blockOK, int(r.Length), done, nil
}
