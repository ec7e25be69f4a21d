package monitor

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// The vhost-user protocol as arch/um/drivers/virtio_uml.c speaks it, with notifications in band: the
// guest says on the connection that a queue has work, and waits for the reply, so that everything
// has an order. Numbers are from QEMU's docs/interop/vhost-user.rst.
const (
	vhostGetFeatures     = 1
	vhostSetFeatures     = 2
	vhostSetOwner        = 3
	vhostSetMemory       = 5
	vhostSetVringNum     = 8
	vhostSetVringAddress = 9
	vhostSetVringBase    = 10
	vhostGetProtocol     = 15
	vhostSetProtocol     = 16
	vhostSetVringEnable  = 18
	vhostSetBackChannel  = 21
	vhostGetConfig       = 24
	vhostSetConfig       = 25
	vhostVringKick       = 35
	vhostBackVringCall   = 4

	vhostVersion   = 1
	vhostReply     = 1 << 2
	vhostNeedReply = 1 << 3

	// Protocol features: acknowledgement of every message, a channel back, configuration space,
	// notifications in band.
	protocolFeatures = 1<<3 | 1<<5 | 1<<9 | 1<<14
	// Features of every device.
	featureIndirect = 1 << 28
	featureProtocol = 1 << 30
	featureVersion1 = 1 << 32

	vhostHeader = 12
	// vhostMost is more than any message is long, in bytes.
	vhostMost = 4096
	// queuesMost is more than any device has.
	queuesMost = 8
)

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
	back     int // the channel back; -1: none yet
	gone     bool
	memory   []region
	queues   [queuesMost]queue
}

// region is a part of the guest's memory.
type region struct {
	guest uint64 // address
	bytes []byte
	whole []byte // as it was mapped
}

func newDevice(m *Monitor, name string, k kind) *device {
	d := &device{m: m, name: name, kind: k, listener: -1, fd: -1, back: -1}
	for i := range d.queues {
		d.queues[i].d, d.queues[i].number = d, i
	}
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
	for _, fd := range []*int{&d.listener, &d.fd, &d.back} {
		if *fd >= 0 {
			_ = unix.Close(*fd)
			*fd = -1
		}
	}
	d.forget()
}

func (d *device) forget() {
	for _, r := range d.memory {
		_ = unix.Munmap(r.whole)
	}
	d.memory = nil
}

// receive handles one message of the guest.
func (d *device) receive() error {
	request, flags, body, fds, err := d.read()
	if errors.Is(err, errGone) {
		// The driver lets go of the device when the guest powers off, which takes the clock until the
		// end.
		d.close()
		d.gone, d.m.stale = true, true
		return nil
	}
	if err != nil {
		return err
	}
	defer func() {
		for _, fd := range fds {
			_ = unix.Close(fd)
		}
	}()
	answer, err := d.handle(request, body, &fds)
	if err != nil {
		return fmt.Errorf("guest's %s: %w", d.name, err)
	}
	if answer != nil {
		return d.reply(request, answer)
	}
	if flags&vhostNeedReply != 0 {
		return d.reply(request, make([]byte, 8))
	}
	return nil
}

// read reads one message.
func (d *device) read() (request, flags uint32, body []byte, fds []int, err error) {
	header, oob := make([]byte, vhostHeader), make([]byte, unix.CmsgSpace(queuesMost*4))
	var n, control int
	for {
		n, control, _, _, err = unix.Recvmsg(d.fd, header, oob, unix.MSG_CMSG_CLOEXEC)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if errors.Is(err, unix.ECONNRESET) || err == nil && n == 0 {
		return 0, 0, nil, nil, errGone
	}
	if err != nil {
		return 0, 0, nil, nil, fmt.Errorf("read from the guest: %w", err)
	}
	if control > 0 {
		messages, err := unix.ParseSocketControlMessage(oob[:control])
		if err != nil {
			return 0, 0, nil, nil, fmt.Errorf("descriptors from the guest: %w", err)
		}
		for i := range messages {
			more, err := unix.ParseUnixRights(&messages[i])
			if err != nil {
				return 0, 0, nil, fds, fmt.Errorf("descriptors from the guest: %w", err)
			}
			fds = append(fds, more...)
		}
	}
	if err := readFull(d.fd, header[n:]); err != nil {
		return 0, 0, nil, fds, err
	}
	request, flags = binary.LittleEndian.Uint32(header), binary.LittleEndian.Uint32(header[4:])
	size := binary.LittleEndian.Uint32(header[8:])
	if size > vhostMost {
		return 0, 0, nil, fds, fmt.Errorf("the guest's %s sent a message of %d bytes", d.name, size)
	}
	body = make([]byte, size)
	return request, flags, body, fds, readFull(d.fd, body)
}

func (d *device) reply(request uint32, body []byte) error {
	b := binary.LittleEndian.AppendUint32(make([]byte, 0, vhostHeader+len(body)), request)
	b = binary.LittleEndian.AppendUint32(b, vhostVersion|vhostReply)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(body)))
	return writeFull(d.fd, append(b, body...))
}

var errShort = errors.New("a message is too short")

// handle carries out a request; answer is nil if it has none of its own. It takes the descriptors
// that it keeps out of fds.
func (d *device) handle(request uint32, body []byte, fds *[]int) (answer []byte, err error) {
	word := func(n int) uint64 { return binary.LittleEndian.Uint64(body[8*n:]) }
	half := func(n int) uint32 { return binary.LittleEndian.Uint32(body[4*n:]) }
	least := map[uint32]int{
		vhostSetMemory: 8, vhostSetVringNum: 8, vhostSetVringAddress: 40, vhostSetVringBase: 8,
		vhostSetVringEnable: 8, vhostGetConfig: 12, vhostVringKick: 8,
	}
	if len(body) < least[request] {
		return nil, errShort
	}
	switch request {
	case vhostGetFeatures:
		return binary.LittleEndian.AppendUint64(nil, d.kind.features()|featureIndirect|featureProtocol|featureVersion1), nil
	case vhostGetProtocol:
		return binary.LittleEndian.AppendUint64(nil, protocolFeatures), nil
	case vhostSetFeatures, vhostSetOwner, vhostSetProtocol, vhostSetConfig:
		return nil, nil
	case vhostSetMemory:
		return nil, d.map_(body, *fds)
	case vhostSetBackChannel:
		if len(*fds) != 1 || d.back >= 0 {
			return nil, errors.New("no descriptor, or a second one, for the channel back")
		}
		d.back, *fds = (*fds)[0], nil
		return nil, nil
	case vhostGetConfig:
		space, size := d.kind.config(), half(1)
		if size > vhostMost {
			return nil, fmt.Errorf("%d bytes of configuration space", size)
		}
		answer = append(answer, body[:12]...)
		answer = append(answer, make([]byte, size)...)
		copy(answer[12:], space)
		return answer, nil
	}
	if half(0) >= queuesMost {
		return nil, fmt.Errorf("there is no queue %d", half(0))
	}
	q := &d.queues[half(0)]
	switch request {
	case vhostSetVringNum:
		return nil, q.size(half(1))
	case vhostSetVringBase:
		q.taken = uint16(half(1))
	case vhostSetVringAddress:
		q.descriptors, q.used, q.available = word(1), word(2), word(3)
	case vhostSetVringEnable:
		q.enabled = half(1) != 0
	case vhostVringKick:
		if !q.ready() {
			return nil, fmt.Errorf("queue %d has work before it was set up", q.number)
		}
		if err := d.kind.kicked(q.number); err != nil {
			return nil, err
		}
		if !d.m.clock.waiting {
			return nil, d.m.clock.allowNow()
		}
	default:
		return nil, fmt.Errorf("unknown request %d", request)
	}
	return nil, nil
}

// map_ maps the guest's memory.
func (d *device) map_(body []byte, fds []int) error {
	n := int(binary.LittleEndian.Uint32(body))
	if n > len(fds) || len(body) < 8+32*n {
		return fmt.Errorf("%d regions of memory with %d descriptors", n, len(fds))
	}
	d.forget()
	for i := range n {
		r := body[8+32*i:]
		guest, size, offset := binary.LittleEndian.Uint64(r), binary.LittleEndian.Uint64(r[8:]), binary.LittleEndian.Uint64(r[24:])
		var st unix.Stat_t
		if err := unix.Fstat(fds[i], &st); err != nil || size == 0 || offset+size < size || offset+size > uint64(st.Size) {
			// Beyond the end of the file is SIGBUS.
			return fmt.Errorf("a region of %d bytes at %d of a file of %d", size, offset, st.Size)
		}
		bytes, err := unix.Mmap(fds[i], int64(offset), int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err != nil {
			return fmt.Errorf("map the guest's memory: %w", err)
		}
		d.memory = append(d.memory, region{guest: guest, bytes: bytes, whole: bytes})
	}
	return nil
}

// at is a part of the guest's memory.
func (d *device) at(address, size uint64) ([]byte, error) {
	for _, r := range d.memory {
		if off := address - r.guest; address >= r.guest && off <= uint64(len(r.bytes)) && size <= uint64(len(r.bytes))-off {
			return r.bytes[off : off+size : off+size], nil
		}
	}
	return nil, fmt.Errorf("%d bytes at %#x are not in the guest's memory", size, address)
}

// interrupt tells the guest that a queue has answers. The guest replies from its signal handler, in
// which it may first ask about the time.
func (d *device) interrupt(queue int) error {
	if d.gone {
		return nil
	}
	var b [vhostHeader + 8]byte
	binary.LittleEndian.PutUint32(b[:], vhostBackVringCall)
	binary.LittleEndian.PutUint32(b[4:], vhostVersion|vhostNeedReply)
	binary.LittleEndian.PutUint32(b[8:], 8)
	binary.LittleEndian.PutUint32(b[vhostHeader:], uint32(queue))
	if err := writeFull(d.back, b[:]); err != nil {
		return err
	}
	clock := &d.m.clock
	for {
		polled := []unix.PollFd{{Fd: int32(d.back), Events: unix.POLLIN}, {Fd: int32(clock.fd), Events: unix.POLLIN}}
		if err := poll(polled); err != nil {
			return err
		}
		if polled[1].Revents != 0 {
			if err := clock.receive(); err != nil {
				return err
			}
			continue
		}
		return readFull(d.back, b[:])
	}
}
