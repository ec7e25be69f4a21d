package monitor

import (
	"encoding/binary"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/flash/virtio"
)

// Messages about time, include/uapi/linux/um_timetravel.h: each has an operation, a number that its
// acknowledgement repeats, and a time in nanoseconds.
const (
	timeAck       = 0
	timeStart     = 1
	timeRequest   = 2 // guest: run me then
	timeWait      = 3 // guest: I wait for it, with nothing to do; it is now
	timeGet       = 4
	timeUpdate    = 5 // guest: it is now
	timeRun       = 6 // monitor: run, it is now
	timeFreeUntil = 7 // monitor: until then you need not ask
	timeOfDay     = 8
	timeBusy      = 64 // guest: I wait for it, in the middle of something; ours
	timeMessage   = 16 // B
)

// calendar is the guest's clock.
type calendar struct {
	m   *Monitor
	fd  int // -1: the guest has not connected
	day uint64
	now uint64 // ns since the guest's start

	requested bool   // the guest asked to run at request
	request   uint64 // ns
	waiting   bool
	busy      bool   // and has more to do
	serial    uint32 // of our messages
	acked     uint32
	free      uint64 // until when the guest need not ask; 0: it must
}

func (c *calendar) elapsed() time.Duration { return time.Duration(c.now) }

func (c *calendar) accept() (err error) {
	if c.fd, err = accept(&c.m.control); err == nil {
		c.m.stale = true
	}
	return err
}

// receive handles one message of the guest.
func (c *calendar) receive() error {
	var b [timeMessage]byte
	if err := virtio.ReadFull(c.fd, b[:]); err != nil {
		return err
	}
	op, serial, t := binary.LittleEndian.Uint32(b[:]), binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint64(b[8:])
	answer := uint64(0)
	switch op {
	case timeAck:
		c.acked = serial
		return nil
	case timeStart:
		return c.start(serial)
	case timeRequest:
		c.requested, c.request = true, t
	case timeWait, timeBusy:
		if err := c.set(t); err != nil {
			return err
		}
		c.waiting, c.busy, c.free = true, op == timeBusy, 0
	case timeGet:
		answer = c.now
	case timeUpdate:
		if err := c.set(t); err != nil {
			return err
		}
	case timeOfDay:
		answer = c.day
	default:
		return fmt.Errorf("the guest's clock sent operation %d", op)
	}
	return c.send(timeAck, serial, answer)
}

// set moves the clock forward.
func (c *calendar) set(t uint64) error {
	if t < c.now {
		return fmt.Errorf("the guest's clock went back from %d to %d ns", c.now, t)
	}
	c.now = t
	return nil
}

func (c *calendar) message(op, serial uint32, t uint64) []byte {
	b := binary.LittleEndian.AppendUint32(make([]byte, 0, timeMessage), op)
	b = binary.LittleEndian.AppendUint32(b, serial)
	return binary.LittleEndian.AppendUint64(b, t)
}

func (c *calendar) send(op, serial uint32, t uint64) error {
	return virtio.WriteFull(c.fd, c.message(op, serial, t))
}

// start answers the first message. Kernels from 6.12 on read two descriptors with the answer, memory
// for a faster way to tell the time and a log; memory without its version number means that there is
// none.
func (c *calendar) start(serial uint32) error {
	memory, err := unix.MemfdCreate("clock", unix.MFD_CLOEXEC)
	if err != nil {
		return fmt.Errorf("memfd: %w", err)
	}
	defer unix.Close(memory) //nolint:errcheck // it has no contents
	if err := unix.Ftruncate(memory, 8192); err != nil {
		return fmt.Errorf("memfd: %w", err)
	}
	null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("/dev/null: %w", err)
	}
	defer unix.Close(null) //nolint:errcheck // nothing was written
	return unix.Sendmsg(c.fd, c.message(timeAck, serial, 0), unix.UnixRights(memory, null), nil, unix.MSG_NOSIGNAL)
}

// run lets the guest run at the instant that it asked for.
func (c *calendar) run() error {
	if err := c.set(c.request); err != nil {
		return err
	}
	if err := c.allow(); err != nil {
		return err
	}
	c.waiting, c.requested = false, false
	c.serial++
	return c.send(timeRun, c.serial, c.now)
}

// allow tells the guest until when nothing happens that it does not cause itself.
func (c *calendar) allow() error {
	until := c.m.next()
	if until == c.free {
		return nil
	}
	c.free = until
	c.serial++
	return c.send(timeFreeUntil, c.serial, until)
}

// allowNow does the same for a guest that is running, and waits until it knows: it must not pass the
// instant.
func (c *calendar) allowNow() error {
	before := c.serial
	if err := c.allow(); err != nil || c.serial == before {
		return err
	}
	for c.acked != c.serial {
		if err := c.receive(); err != nil {
			return err
		}
	}
	return nil
}
