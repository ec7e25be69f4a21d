// Package virtio is the device's side of virtio: split queues in a guest's memory, the requests to a
// block device in them, and what a vhost-user front end, which owns guest and memory, says about
// them.
//
// Its point of view: guest and front end may say and write anything; the answer is an error.
package virtio

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Requests of vhost-user; numbers are from QEMU's docs/interop/vhost-user.rst.
const (
	GetFeatures       = 1
	SetFeatures       = 2
	SetOwner          = 3
	ResetOwner        = 4
	SetMemory         = 5
	SetVringNum       = 8
	SetVringAddress   = 9
	SetVringBase      = 10
	GetVringBase      = 11
	SetVringKick      = 12
	SetVringCall      = 13
	SetVringErr       = 14
	GetProtocol       = 15
	SetProtocol       = 16
	GetQueueNum       = 17
	SetVringEnable    = 18
	SetBackChannel    = 21
	GetConfig         = 24
	SetConfig         = 25
	VringKick         = 35
	BackVringCall     = 4
	Version           = 1
	NeedReply         = 1 << 3
	isReply           = 1 << 2
	HeaderLength      = 12
	Longest           = 4096 // more than any message, in bytes
	FeatureProtocol   = 1 << 30
	featureIndirect   = 1 << 28
	featureVersion1   = 1 << 32
	ProtocolQueues    = 1 << 0 // several queues
	ProtocolReplyAck  = 1 << 3
	ProtocolChannel   = 1 << 5 // a channel back
	ProtocolConfig    = 1 << 9
	ProtocolInBand    = 1 << 14 // notifications
	descriptorsAtMost = 8       // of a message
)

// ErrGone means that the front end closed the connection.
var ErrGone = errors.New("the front end has ended")

// ErrShort means that a message lacks something.
var ErrShort = errors.New("a message is too short")

// Message is a request of a front end.
type Message struct {
	Request, Flags uint32
	Body           []byte
	FDs            []int // Close closes them; who keeps one, takes it out
}

// Receive reads a message from a connection.
func Receive(fd int) (m Message, err error) {
	header, oob := make([]byte, HeaderLength), make([]byte, unix.CmsgSpace(descriptorsAtMost*4))
	var n, control int
	for {
		n, control, _, _, err = unix.Recvmsg(fd, header, oob, unix.MSG_CMSG_CLOEXEC)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if errors.Is(err, unix.ECONNRESET) || err == nil && n == 0 {
		return m, ErrGone
	}
	if err != nil {
		return m, fmt.Errorf("read from the front end: %w", err)
	}
	if control > 0 {
		messages, err := unix.ParseSocketControlMessage(oob[:control])
		if err != nil {
			return m, fmt.Errorf("descriptors from the front end: %w", err)
		}
		for i := range messages {
			more, err := unix.ParseUnixRights(&messages[i])
			if err != nil {
				return m, fmt.Errorf("descriptors from the front end: %w", err)
			}
			m.FDs = append(m.FDs, more...)
		}
	}
	if err := ReadFull(fd, header[n:]); err != nil {
		return m, err
	}
	m.Request, m.Flags = binary.LittleEndian.Uint32(header), binary.LittleEndian.Uint32(header[4:])
	size := binary.LittleEndian.Uint32(header[8:])
	if size > Longest {
		return m, fmt.Errorf("a message of %d bytes", size)
	}
	m.Body = make([]byte, size)
	return m, ReadFull(fd, m.Body)
}

// Close closes the remaining descriptors.
func (m *Message) Close() {
	for _, fd := range m.FDs {
		_ = unix.Close(fd)
	}
	m.FDs = nil
}

// Word is the nth 64 bits of the body, Half the nth 32; the caller has checked the length.
func (m *Message) Word(n int) uint64 { return binary.LittleEndian.Uint64(m.Body[8*n:]) }

// Half is the nth 32 bits of the body.
func (m *Message) Half(n int) uint32 { return binary.LittleEndian.Uint32(m.Body[4*n:]) }

// Reply answers the message: with answer, or if that is nil and the front end wants a reply, that all
// is well.
func (m *Message) Reply(fd int, answer []byte) error {
	if answer == nil {
		if m.Flags&NeedReply == 0 {
			return nil
		}
		answer = make([]byte, 8)
	}
	b := binary.LittleEndian.AppendUint32(make([]byte, 0, HeaderLength+len(answer)), m.Request)
	b = binary.LittleEndian.AppendUint32(b, Version|isReply)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(answer)))
	return WriteFull(fd, append(b, answer...))
}

// ReadFull reads as much as buf holds.
func ReadFull(fd int, buf []byte) error {
	for len(buf) > 0 {
		n, err := unix.Read(fd, buf)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ECONNRESET), err == nil && n == 0:
			return ErrGone
		case err != nil:
			return fmt.Errorf("read from the front end: %w", err)
		}
		buf = buf[n:]
	}
	return nil
}

// WriteFull writes all of buf.
func WriteFull(fd int, buf []byte) error {
	for len(buf) > 0 {
		n, err := unix.SendmsgN(fd, buf, nil, nil, unix.MSG_NOSIGNAL)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EPIPE), errors.Is(err, unix.ECONNRESET):
			return ErrGone
		case err != nil:
			return fmt.Errorf("write to the front end: %w", err)
		}
		buf = buf[n:]
	}
	return nil
}
