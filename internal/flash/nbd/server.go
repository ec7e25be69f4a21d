// Package nbd serves a simulated device in real time, as a network block
// device. It implements only the part of the protocol that QEMU needs: fixed
// newstyle negotiation, simple replies, one unnamed export.
//
// Its point of view: the model says when a request completes, and the reply is
// sent at that instant, never before. If we are late, we do not compensate by
// answering the next request early. A client may send any bytes: it can harm
// only its own connection.
package nbd

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"whichfs/internal/flash"
)

// ErrClosed means that the server was closed.
var ErrClosed = errors.New("the NBD server was closed")

// Options of a server; the zero value is usable.
type Options struct {
	// Trim: the device supports discards. Otherwise the server does not
	// offer them, and refuses them.
	Trim bool
	// Rotational: announce a rotating device to clients.
	Rotational bool
	// Handshake limits the negotiation; 0: 10 s.
	Handshake time.Duration
	// Stall is how long a client may leave a reply unread, or a write half
	// sent, before its connection ends; 0: 2 min.
	Stall time.Duration
}

// Server serves one device to any number of connections, and is safe for use
// by several goroutines.
type Server struct {
	o     Options
	start time.Time // power on
	size  int64

	mu     sync.Mutex   // serialises access to the device
	device flash.Device // nil once the server is closed
	last   flash.Stats  // the closed server's counters

	lock   sync.Mutex // guards what follows; never held while waiting
	closed bool
	conns  map[*connection]bool
	served sync.WaitGroup // connections
}

// New makes a server for a device, whose time begins now. The server owns the
// device until it is closed.
func New(device flash.Device, o Options) *Server {
	if o.Handshake <= 0 {
		o.Handshake = 10 * time.Second
	}
	if o.Stall <= 0 {
		o.Stall = 2 * time.Minute
	}
	return &Server{o: o, start: time.Now(), size: device.Size(), device: device, conns: map[*connection]bool{}}
}

// Serve serves one client until it disconnects, misbehaves or the server is
// closed, and closes the connection. It returns nil if the client disconnected
// properly.
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

// flags returns the flags of the export.
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

// submit passes a request that arrived at an instant to the device.
func (s *Server) submit(arrived time.Duration, r flash.Request) (time.Duration, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.device.Submit(arrived, r)
}

// Stats returns the device's counters. It may wait for a request that is being
// computed, but never for one in flight in the device.
func (s *Server) Stats() flash.Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.device == nil {
		return s.last
	}
	return s.device.Stats()
}

// Cut disconnects all clients and cuts the device's power: requests in flight
// are never answered. The device is then as after power on, and accepts new
// clients. A closed server has nothing to lose.
func (s *Server) Cut() flash.Loss {
	s.hangUp()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.device == nil {
		return flash.Loss{}
	}
	return s.device.Cut(s.now())
}

// Restart cuts the device's power and restores it at once, as a rebooting
// machine does. Clients stay connected; they must have nothing in flight.
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

// Close disconnects all clients and waits until all of the server's goroutines
// have ended. It releases the device with its contents; Stats still works. It
// may be called more than once.
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
