package monitor

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"sync"

	"whichfs/internal/flash/virtio"
	"whichfs/internal/wire"
)

// virtio's console (virtio 1.2, 5.3) with several ports, of which the guest gets one, number 1:
// number 0 would be a terminal.
const (
	consoleID        = 3
	consoleMultiport = 1 << 1
	portNumber       = 1

	queueControlIn  = 2 // to the guest
	queueControlOut = 3
	queuePortIn     = 4 // to the guest
	queuePortOut    = 5

	controlReady     = 0
	controlAdd       = 1
	controlPortReady = 3
	controlOpen      = 6
	controlName      = 7
	controlSize      = 8
)

// unreadMost is how much the guest may send that the host does not read, in bytes.
const unreadMost = 256 << 20

// port is the stream between host and guest. What the guest sends is taken at once. What the host
// sends arrives when the guest has nothing to do, so that it does not matter how soon the host sends
// it, and not before the guest has opened the port.
type port struct {
	m      *Monitor
	d      *device
	name   string
	stream *stream
	seen   func(kind string) // see Options.Seen

	open     bool      // by the guest
	pending  []pending // of the host, not admitted yet
	incoming []byte    // for the guest
	line     []byte    // from the guest, unfinished
	requests int       // of the host
	answers  int       // of the guest, final ones
	control  [][]byte
}

// pending is a message of the host.
type pending struct {
	text []byte
	asks bool
}

func newPort(m *Monitor, o Options) *port {
	p := &port{m: m, name: o.Port, seen: o.Seen}
	p.stream = newStream(p)
	return p
}

func (p *port) attach(d *device) { p.d = d }

func (p *port) id() int { return consoleID }

func (p *port) features() uint64 { return consoleMultiport }

func (p *port) config() []byte {
	c := make([]byte, 12)
	binary.LittleEndian.PutUint32(c[4:], portNumber+1)
	return c
}

// admit takes the host's messages.
func (p *port) admit() {
	for _, m := range p.pending {
		if m.asks {
			p.requests++
		}
		p.incoming = append(p.incoming, m.text...)
	}
	p.pending = nil
}

// asked reports whether the host waits for an answer.
func (p *port) asked() bool { return p.requests > p.answers }

func (p *port) kicked(number int) error {
	switch number {
	case queueControlOut:
		return p.drain(number, p.controlled)
	case queuePortOut:
		return p.drain(number, p.heard)
	}
	return nil // a new buffer, for deliver
}

// drain takes everything that the guest has sent over a queue. No interrupt tells the guest: it
// waits for the kick's reply, and finds its buffers used.
func (p *port) drain(number int, take func([]byte) error) error {
	for {
		c, ok, err := p.d.back.Queues[number].Take()
		if err != nil || !ok {
			return err
		}
		for _, s := range c.Segments {
			if s.Write {
				return fmt.Errorf("queue %d: a buffer to be written", number)
			}
			if err := take(s.Bytes); err != nil {
				return err
			}
		}
		if err := c.Finish(0); err != nil {
			return err
		}
	}
}

// controlled handles a message of the guest's driver.
func (p *port) controlled(b []byte) error {
	if len(b) < controlSize {
		return virtio.ErrShort
	}
	number, event, value := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint16(b[4:]), binary.LittleEndian.Uint16(b[6:])
	tell := func(event, value uint16, more string) {
		b := binary.LittleEndian.AppendUint32(nil, portNumber)
		b = binary.LittleEndian.AppendUint16(b, event)
		b = binary.LittleEndian.AppendUint16(b, value)
		p.control = append(p.control, append(b, more...))
	}
	switch {
	case event == controlReady && value == 1:
		tell(controlAdd, 0, "")
	case number != portNumber:
	case event == controlPortReady && value == 1:
		tell(controlName, 1, p.name)
		tell(controlOpen, 1, "")
	case event == controlOpen:
		p.open = value == 1
	}
	return nil
}

// heard takes what the program in the guest has written.
func (p *port) heard(b []byte) error {
	for len(b) > 0 {
		end := bytes.IndexByte(b, '\n') + 1
		if end == 0 {
			p.line = append(p.line, b...)
			return p.fits(0)
		}
		p.line = append(p.line, b[:end]...)
		b = b[end:]
		if m, err := wire.Decode(p.line); err == nil {
			if wire.Answers(m.Kind) {
				p.answers++
			}
			if p.seen != nil {
				p.seen(m.Kind)
			}
		}
		if err := p.fits(p.stream.send(p.line)); err != nil {
			return err
		}
		p.line = p.line[:0]
	}
	return nil
}

func (p *port) fits(unread int) error {
	if n := unread + len(p.line); n > unreadMost {
		return fmt.Errorf("the guest has sent %d MiB that were not read", n>>20)
	}
	return nil
}

// toward is the queue to the guest for which there is something that the guest can take; ok is false
// if there is none.
func (p *port) toward() (number int, ok bool) {
	if q := &p.d.back.Queues[queueControlIn]; len(p.control) > 0 && q.Ready() && q.Filled() {
		return queueControlIn, true
	}
	q := &p.d.back.Queues[queuePortIn]
	return queuePortIn, p.open && len(p.incoming) > 0 && q.Ready() && q.Filled()
}

// deliver gives the guest, which waits, what it can take from a queue.
func (p *port) deliver(number int) error {
	q := &p.d.back.Queues[number]
	for q.Filled() {
		if number == queueControlIn && len(p.control) > 0 {
			if _, err := q.Put(p.control[0]); err != nil {
				return err
			}
			p.control = p.control[1:]
		} else if number == queuePortIn && len(p.incoming) > 0 {
			n, err := q.Put(p.incoming)
			if err != nil {
				return err
			}
			p.incoming = p.incoming[n:]
		} else {
			break
		}
	}
	return p.d.interruptUnlessQuiet(number)
}

// end ends the stream: everything the guest has sent can still be read.
func (p *port) end() { p.stream.end() }

// stream is the host's end.
type stream struct {
	p     *port
	mu    sync.Mutex
	more  sync.Cond
	lines []byte // not read yet
	over  bool
}

func newStream(p *port) *stream {
	s := &stream{p: p}
	s.more.L = &s.mu
	return s
}

// send has the host read something, and returns how much it has not read.
func (s *stream) send(b []byte) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, b...)
	s.more.Signal()
	return len(s.lines)
}

func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	s.more.Broadcast()
}

// Read implements io.Reader.
func (s *stream) Read(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.lines) == 0 && !s.over {
		s.more.Wait()
	}
	if len(s.lines) == 0 {
		return 0, io.EOF
	}
	n := copy(b, s.lines)
	s.lines = s.lines[n:]
	return n, nil
}

// Write implements io.Writer. It takes one whole message of package wire.
func (s *stream) Write(b []byte) (int, error) {
	m, err := wire.Decode(b)
	asks := err == nil && wire.Asks(m.Kind)
	sent := s.p.m.Do(func() { s.p.pending = append(s.p.pending, pending{bytes.Clone(b), asks}) })
	if !sent {
		return 0, io.ErrClosedPipe
	}
	return len(b), nil
}

// Close implements io.Closer: nothing is read any more.
func (s *stream) Close() error {
	s.end()
	return nil
}
