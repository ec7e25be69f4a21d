package virtio

import (
	"encoding/binary"
	"errors"
	"time"

	"whichfs/internal/flash"
)

// virtio's block device (virtio 1.2, 5.2).
const (
	BlockID = 2

	blockSizeMax = 1 << 1
	blockSegMax  = 1 << 2
	blockRO      = 1 << 5
	blockSize    = 1 << 6
	blockFlush   = 1 << 9
	blockQueues  = 1 << 12
	blockDiscard = 1 << 13

	BlockIn      = 0
	BlockOut     = 1
	blockSync    = 4
	blockName    = 8
	blockTrim    = 11
	BlockOK      = 0
	BlockError   = 1
	BlockUnknown = 2

	BlockHeader = 16
	// The most segments of a request, and the most bytes of a segment: a page. Where neighbouring
	// pages count as one, a request is the longer the less memory has been used before.
	segmentsMost = flash.LongestRequest / segmentMost
	segmentMost  = 4096
	// The most sectors of a discard.
	trimMost = 1 << 22
	// The most data of a request, in bytes, whatever the guest makes of the limits above.
	dataMost = 32 << 20
)

// Disk is a block device as a guest sees it.
type Disk struct {
	Size     int64  // B, a multiple of a sector
	Serial   string // at most 20 bytes, virtio's limit
	ReadOnly bool
	Trim     bool // it supports discards
}

// Features of the disk with a number of queues.
func (d Disk) Features(queues int) uint64 {
	f := uint64(blockSizeMax | blockSegMax | blockSize | blockFlush)
	if d.ReadOnly {
		f |= blockRO
	}
	if d.Trim {
		f |= blockDiscard
	}
	if queues > 1 {
		f |= blockQueues
	}
	return f
}

// Config is the disk's configuration space.
func (d Disk) Config(queues int) []byte {
	c := make([]byte, 60)
	binary.LittleEndian.PutUint64(c, uint64(d.Size/flash.Sector))
	binary.LittleEndian.PutUint32(c[8:], segmentMost)
	binary.LittleEndian.PutUint32(c[12:], segmentsMost)
	binary.LittleEndian.PutUint32(c[20:], flash.Sector)
	binary.LittleEndian.PutUint16(c[34:], uint16(queues))
	if d.Trim {
		binary.LittleEndian.PutUint32(c[36:], trimMost)
		binary.LittleEndian.PutUint32(c[40:], 1)
		binary.LittleEndian.PutUint32(c[44:], 1) // sectors, of alignment
	}
	return c
}

// Request is a request to a disk. If Op is 0, it is decided already: it is answered with Status.
type Request struct {
	flash.Request
	Data   []Segment
	Status byte
	// Written is how much of the guest's memory the request has written, without its status, in bytes.
	Written int

	chain  Chain
	answer *byte
}

// Parse reads a request from its chain. A chain without header or status has no answer: it is an
// error.
func (d Disk) Parse(c Chain) (Request, error) {
	r := Request{chain: c}
	last := len(c.Segments) - 1
	if last < 1 || len(c.Segments[0].Bytes) < BlockHeader || len(c.Segments[last].Bytes) < 1 || !c.Segments[last].Write {
		return r, errors.New("a request without header or status")
	}
	// Data may share a segment with what is before or after it (virtio 1.2, 2.7.4).
	first, end := c.Segments[0], c.Segments[last]
	header, n := first.Bytes[:BlockHeader], len(end.Bytes)-1
	r.answer = &end.Bytes[n]
	if rest := first.Bytes[BlockHeader:]; len(rest) > 0 {
		r.Data = append(r.Data, Segment{rest, first.Write})
	}
	r.Data = append(r.Data, c.Segments[1:last]...)
	if n > 0 {
		r.Data = append(r.Data, Segment{end.Bytes[:n], true})
	}
	d.decide(&r, binary.LittleEndian.Uint32(header), binary.LittleEndian.Uint64(header[8:]))
	return r, nil
}

// decide says what a request asks of the disk, or answers it.
func (d Disk) decide(r *Request, kind uint32, sector uint64) {
	length := int64(0)
	for _, s := range r.Data {
		length += int64(len(s.Bytes))
	}
	f := flash.Request{Length: length}
	switch kind {
	case BlockIn:
		f.Op = flash.Read
	case BlockOut:
		f.Op = flash.Write
	case blockSync:
		r.Op = flash.Flush
		return
	case blockTrim:
		if length != 16 || len(r.Data) != 1 {
			r.Status = BlockError
			return
		}
		f.Op = flash.Trim
		sector, f.Length = binary.LittleEndian.Uint64(r.Data[0].Bytes), int64(binary.LittleEndian.Uint32(r.Data[0].Bytes[8:]))*flash.Sector
	case blockName:
		if len(r.Data) != 1 || !r.Data[0].Write {
			r.Status = BlockError
			return
		}
		clear(r.Data[0].Bytes)
		r.Written = len(r.Data[0].Bytes)
		copy(r.Data[0].Bytes, d.Serial)
		return
	default:
		r.Status = BlockUnknown
		return
	}
	r.Status = BlockError
	if sector > uint64(d.Size/flash.Sector) {
		return
	}
	f.Offset = int64(sector) * flash.Sector
	if f.Length > d.Size-f.Offset || d.ReadOnly && f.Op != flash.Read {
		return
	}
	if f.Op != flash.Trim && f.Length > dataMost {
		return
	}
	for _, s := range r.Data {
		if s.Write != (f.Op == flash.Read) {
			return
		}
	}
	r.Request, r.Status = f, BlockOK
}

// Submit passes the request to the model, with a copy of its data, for which buffer is reused: the
// guest may change or lose its memory at any time. It returns what submit returns, and sets the
// status.
func (r *Request) Submit(buffer *[]byte, submit func(flash.Request) (time.Duration, error)) time.Duration {
	f := r.Request
	if f.Op == flash.Read || f.Op == flash.Write {
		if int64(cap(*buffer)) < f.Length {
			*buffer = make([]byte, f.Length)
		}
		f.Data = (*buffer)[:f.Length]
	}
	at := 0
	if f.Op == flash.Write {
		for _, s := range r.Data {
			at += copy(f.Data[at:], s.Bytes)
		}
	}
	done, err := submit(f)
	switch {
	case errors.Is(err, flash.ErrTrim):
		r.Status = BlockUnknown
	case err != nil:
		r.Status = BlockError // the guest hears of it
	case f.Op == flash.Read:
		for _, s := range r.Data {
			at += copy(s.Bytes, f.Data[at:])
		}
		r.Written = at
	}
	return done
}

// Answer gives the request back to the guest.
func (r *Request) Answer() error {
	*r.answer = r.Status
	return r.chain.Finish(r.Written + 1)
}
