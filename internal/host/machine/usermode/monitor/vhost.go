package monitor

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"whichfs/internal/flash/virtio"
)

// The vhost-user protocol as arch/um/drivers/virtio_uml.c speaks it, with notifications in band: the
// guest says on the connection that a queue has work, and waits for the reply, so that everything
// has an order.

// queuesMost is more than any device has.
const queuesMost = 8

// kind is what a device does.
type kind interface {
	attach(*device)   // before anything else
	id() int          // virtio's number of the kind
	features() uint64 // besides those of every device
	config() []byte   // its configuration space
	// kicked handles a queue that the guest has put something into.
	kicked(queue int) error
}

// device is one device of the guest.
type device struct {
	m        *Monitor
	name     string
	kind     kind
	listener int
	fd       int // the guest's connection; -1: none yet
	channel  int // back to the guest; -1: none yet
	gone     bool
	back     *virtio.Back
}

func newDevice(m *Monitor, name string, k kind) *device {
	d := &device{m: m, name: name, kind: k, listener: -1, fd: -1, channel: -1}
	d.back = virtio.NewBack(k.features(), virtio.ProtocolReplyAck|virtio.ProtocolChannel|virtio.ProtocolConfig|virtio.ProtocolInBand, k.config(), queuesMost)
	k.attach(d)
	return d
}

func (d *device) accept() (err error) {
	if d.fd, err = accept(&d.listener); err == nil {
		d.m.stale = true
	}
	return err
}

func (d *device) close() {
	for _, fd := range []*int{&d.listener, &d.fd, &d.channel} {
		if *fd >= 0 {
			_ = unix.Close(*fd)
			*fd = -1
		}
	}
	d.back.Memory.Unmap()
}

// receive handles one message of the guest.
func (d *device) receive() error {
	m, err := virtio.Receive(d.fd)
	defer m.Close()
	if errors.Is(err, virtio.ErrGone) {
		// The driver lets go of the device when the guest powers off, which takes the clock until the
		// end.
		d.close()
		d.gone, d.m.stale = true, true
		return nil
	}
	var answer []byte
	if err == nil {
		answer, err = d.handle(&m)
	}
	if err != nil {
		return fmt.Errorf("guest's %s: %w", d.name, err)
	}
	return m.Reply(d.fd, answer)
}

func (d *device) handle(m *virtio.Message) (answer []byte, err error) {
	if err := d.back.Check(m); err != nil {
		return nil, err
	}
	switch m.Request {
	case virtio.SetBackChannel:
		if len(m.FDs) != 1 || d.channel >= 0 {
			return nil, errors.New("no descriptor, or a second one, for the channel back")
		}
		d.channel, m.FDs = m.FDs[0], nil
	case virtio.VringKick:
		n := int(m.Half(0))
		if !d.back.Queues[n].Ready() {
			return nil, fmt.Errorf("queue %d has work before it was set up", n)
		}
		if err := d.kind.kicked(n); err != nil {
			return nil, err
		}
		if !d.m.clock.waiting {
			return nil, d.m.clock.allowNow()
		}
	default:
		return d.back.Handle(m)
	}
	return nil, nil
}

// interruptUnlessQuiet tells the guest about finished chains, if it wants to know.
func (d *device) interruptUnlessQuiet(queue int) error {
	quiet, err := d.back.Queues[queue].Quiet()
	if err != nil || quiet {
		return err
	}
	return d.interrupt(queue)
}

// interrupt tells the guest that a queue has answers. The guest replies from its signal handler, in
// which it may first ask about the time.
func (d *device) interrupt(queue int) error {
	if d.gone {
		return nil
	}
	var b [virtio.HeaderLength + 8]byte
	binary.LittleEndian.PutUint32(b[:], virtio.BackVringCall)
	binary.LittleEndian.PutUint32(b[4:], virtio.Version|virtio.NeedReply)
	binary.LittleEndian.PutUint32(b[8:], 8)
	binary.LittleEndian.PutUint32(b[virtio.HeaderLength:], uint32(queue))
	if err := virtio.WriteFull(d.channel, b[:]); err != nil {
		return err
	}
	clock := &d.m.clock
	for {
		polled := []unix.PollFd{{Fd: int32(d.channel), Events: unix.POLLIN}, {Fd: int32(clock.fd), Events: unix.POLLIN}}
		if err := poll(polled); err != nil {
			return err
		}
		if polled[1].Revents != 0 {
			if err := clock.receive(); err != nil {
				return err
			}
			continue
		}
		return virtio.ReadFull(d.channel, b[:])
	}
}
