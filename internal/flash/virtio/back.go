package virtio

import (
	"encoding/binary"
	"fmt"
)

// Back is what a front end sets up: the guest's memory, and the queues of a device.
type Back struct {
	Features uint64 // besides those of every device
	Protocol uint64 // features of the protocol
	Config   []byte // the device's configuration space
	Memory   Memory
	Queues   []Queue
}

// NewBack makes the back end of a device with a number of queues.
func NewBack(features, protocol uint64, config []byte, queues int) *Back {
	b := &Back{Features: features, Protocol: protocol, Config: config, Queues: make([]Queue, queues)}
	for i := range b.Queues {
		b.Queues[i].Memory = &b.Memory
	}
	return b
}

// least is how long a message must be, in bytes.
var least = map[uint32]int{
	SetMemory: 8, SetVringNum: 8, SetVringAddress: 40, SetVringBase: 8, GetVringBase: 8, SetVringKick: 8, SetVringCall: 8,
	SetVringErr: 8, SetVringEnable: 8, GetConfig: 12, VringKick: 8,
}

// Check checks the length of a message, and which queue it names.
func (b *Back) Check(m *Message) error {
	if len(m.Body) < least[m.Request] {
		return ErrShort
	}
	switch m.Request {
	case SetVringNum, SetVringAddress, SetVringBase, GetVringBase, SetVringEnable, VringKick:
		if n := m.Half(0); n >= uint32(len(b.Queues)) {
			return fmt.Errorf("there is no queue %d", n)
		}
	}
	return nil
}

// Handle carries out a message that Check has accepted; answer is nil if it has none of its own. How
// the two ends notify each other is not Handle's, and unknown to it.
func (b *Back) Handle(m *Message) (answer []byte, err error) {
	switch m.Request {
	case GetFeatures:
		return binary.LittleEndian.AppendUint64(nil, b.Features|featureIndirect|FeatureProtocol|featureVersion1), nil
	case GetProtocol:
		return binary.LittleEndian.AppendUint64(nil, b.Protocol), nil
	case GetQueueNum:
		return binary.LittleEndian.AppendUint64(nil, uint64(len(b.Queues))), nil
	case SetFeatures, SetOwner, ResetOwner, SetProtocol, SetConfig:
		return nil, nil
	case SetMemory:
		return nil, b.Memory.share(m.Body, m.FDs)
	case GetConfig:
		size := m.Half(1)
		if size > Longest {
			return nil, fmt.Errorf("%d bytes of configuration space", size)
		}
		answer = append(answer, m.Body[:12]...)
		answer = append(answer, make([]byte, size)...)
		copy(answer[12:], b.Config)
		return answer, nil
	case SetVringNum:
		return nil, b.Queues[m.Half(0)].Resize(m.Half(1))
	case SetVringBase:
		b.Queues[m.Half(0)].Begin(uint16(m.Half(1)))
	case SetVringAddress:
		return nil, b.Queues[m.Half(0)].Place(m.Word(1), m.Word(2), m.Word(3))
	case SetVringEnable:
		b.Queues[m.Half(0)].Enable(m.Half(1) != 0)
	default:
		return nil, fmt.Errorf("unknown request %d", m.Request)
	}
	return nil, nil
}
