// Package nbd serves a simulated device in real time, as a network block
// device. It speaks just what QEMU needs of the protocol: fixed newstyle
// negotiation, simple replies, one export without a name.
//
// Its point of view: the model says when a request completes, and the reply is
// sent at that instant, never before it. Lateness is our own fault and is not
// made up for by answering the next request early. A client may send any bytes
// at all: it can harm its own connection, and nothing else.
package nbd

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"whichfs/internal/flash"
)

// ErrClosed is the error of a server that was closed.
var ErrClosed = errors.New("the NBD server was closed")

// Options of a server; the zero value is fine.
type Options struct {
	// Trim: the device takes discards. Otherwise clients are told that it does
	// not, and one that comes all the same is refused.
	Trim bool
	// Rotational: clients are told that the device rotates.
	Rotational bool
	// Handshake limits the negotiation; 0: 10 s.
	Handshake time.Duration
	// Stall is how long a client may leave a reply unread, or a write half
	// sent, before its connection ends; 0: 2 min.
	Stall time.Duration
}

// Server serves one device to any number of connections. It may be used from
// several goroutines.
type Server struct {
	o     Options
	start time.Time // power on
	size  int64

	mu     sync.Mutex   // the device is used by one at a time
	device flash.Device // nil once the server is closed
	last   flash.Stats  // of a closed server's device

	lock   sync.Mutex // of what follows; never held while waiting
	closed bool
	conns  map[*connection]bool
	served sync.WaitGroup // connections
}

// New makes a server for a device, whose time begins now. The device belongs to
// the server until it is closed.
func New(device flash.Device, o Options) *Server {
	if o.Handshake <= 0 {
		o.Handshake = 10 * time.Second
	}
	if o.Stall <= 0 {
		o.Stall = 2 * time.Minute
	}
	return &Server{o: o, start: time.Now(), size: device.Size(), device: device, conns: map[*connection]bool{}}
}

// Serve serves one client until it leaves, misbehaves or the server is closed,
// and closes the connection. It returns nil if the client took its leave.
func (s *Server) Serve(conn net.Conn) error {
	defer conn.Close() //nolint:errcheck // what was sent was sent
	s.lock.Lock()
	if s.closed {
		s.lock.Unlock()
		return ErrClosed
	}
	c := newConnection(s, conn)
	s.conns[c] = true
	s.served.Add(1)
	s.lock.Unlock()
	err := s.talk(c)
	s.lock.Lock()
	delete(s.conns, c)
	if s.closed {
		err = ErrClosed
	}
	s.lock.Unlock()
	s.served.Done()
	return err
}

func (s *Server) talk(c *connection) error {
	conn := c.conn
	if err := conn.SetDeadline(time.Now().Add(s.o.Handshake)); err != nil {
		return err
	}
	h := handshake{in: c.in, out: conn, size: s.size, flags: s.flags()}
	if err := h.run(); err != nil {
		if errors.Is(err, errAborted) {
			return nil
		}
		return fmt.Errorf("NBD handshake: %w", err)
	}
	if err := conn.SetDeadline(time.Time{}); err != nil {
		return err
	}
	return c.serve()
}

// flags of the export.
func (s *Server) flags() uint16 {
	flags := uint16(flagHasFlags | flagSendFlush | flagSendFUA | flagWriteZeroes)
	if s.o.Trim {
		flags |= flagSendTrim
	}
	if s.o.Rotational {
		flags |= flagRotational
	}
	return flags
}

// now is the device's time.
func (s *Server) now() time.Duration { return time.Since(s.start) }

// submit hands a request that arrived at an instant to the device.
func (s *Server) submit(arrived time.Duration, r flash.Request) (time.Duration, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.device.Submit(arrived, r)
}

// Stats are the device's counters. It waits for a request that is just being
// computed, and never for one that is under way in the device.
func (s *Server) Stats() flash.Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.device == nil {
		return s.last
	}
	return s.device.Stats()
}

// Cut hangs up on all clients and takes the device's power away: no request
// that was under way is ever answered. The device is then as after power on,
// and new clients may come. A closed server has nothing to lose.
func (s *Server) Cut() flash.Loss {
	s.hangUp()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.device == nil {
		return flash.Loss{}
	}
	return s.device.Cut(s.now())
}

// Restart takes the device's power away and gives it back at once, as a machine
// that starts anew does. Clients stay; they must have nothing under way.
func (s *Server) Restart() flash.Loss {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.device == nil {
		return flash.Loss{}
	}
	return s.device.Cut(s.now())
}

func (s *Server) hangUp() {
	s.lock.Lock()
	defer s.lock.Unlock()
	for c := range s.conns {
		c.end()
	}
}

// Close hangs up on all clients and waits until nothing of the server runs any
// more. The device is let go, contents and all; Stats still answers. It may be
// called more than once.
func (s *Server) Close() error {
	s.lock.Lock()
	s.closed = true
	s.lock.Unlock()
	s.hangUp()
	s.served.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.device != nil {
		s.last, s.device = s.device.Stats(), nil
	}
	return nil
}
