package monitor

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"whichfs/internal/flash"
	"whichfs/internal/flash/virtio"
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

// block is a disk.
type block struct {
	m      *Monitor
	d      *device
	disk   Disk
	as     virtio.Disk // what the guest sees of it
	buffer []byte
}

func newBlock(m *Monitor, d Disk) (*block, error) {
	b := &block{m: m, disk: d, as: virtio.Disk{Serial: d.Serial, Trim: d.Trim, ReadOnly: d.Device == nil}}
	size := int64(0)
	switch {
	case d.Device != nil:
		size = d.Device.Size()
	case d.File != nil:
		info, err := d.File.Stat()
		if err != nil {
			return nil, err
		}
		size = info.Size()
	default:
		return nil, fmt.Errorf("disk %s has no contents", d.Serial)
	}
	b.as.Size = (size + flash.Sector - 1) / flash.Sector * flash.Sector
	return b, nil
}

func (b *block) attach(d *device) { b.d = d }

func (b *block) id() int { return virtio.BlockID }

func (b *block) features() uint64 { return b.as.Features(1) }

func (b *block) config() []byte { return b.as.Config(1) }

// kicked takes all requests in their order. Each is carried out at once, and answered when the model
// says.
func (b *block) kicked(number int) error {
	q := &b.d.back.Queues[number]
	for {
		c, ok, err := q.Take()
		if err != nil || !ok {
			return err
		}
		r, err := b.as.Parse(c)
		if err != nil {
			return err
		}
		done, err := b.carryOut(&r)
		if err != nil {
			return err
		}
		b.m.at(uint64(done), func() error {
			if b.d.gone {
				return nil
			}
			if err := r.Answer(); err != nil {
				return err
			}
			return b.d.interruptUnlessQuiet(number)
		})
	}
}

// carryOut carries out a request and returns the instant at which it is to be answered.
func (b *block) carryOut(r *virtio.Request) (time.Duration, error) {
	now := b.m.clock.elapsed()
	switch {
	case r.Op == 0:
		return now, nil
	case b.disk.Device == nil:
		return now, b.fromFile(r)
	}
	return max(now, r.Submit(&b.buffer, func(f flash.Request) (time.Duration, error) { return b.disk.Device.Submit(now, f) })), nil
}

// fromFile reads from a file, in no time.
func (b *block) fromFile(r *virtio.Request) error {
	if r.Op != flash.Read {
		return nil // a flush
	}
	off := r.Offset
	for _, s := range r.Data {
		n, err := b.disk.File.ReadAt(s.Bytes, off)
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("disk %s: %w", b.disk.Serial, err)
		}
		clear(s.Bytes[n:]) // the rest of the last sector
		off += int64(len(s.Bytes))
	}
	r.Written = int(r.Length)
	return nil
}
