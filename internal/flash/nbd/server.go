// Package nbd serves a simulated device in real time, as a network block
// device. It implements only the part of the protocol that QEMU needs: fixed
// newstyle negotiation, simple replies, one unnamed export.
//
// Its point of view: a client may send any bytes, and can harm only its own
// connection.
package nbd

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"whichfs/internal/flash"
	"whichfs/internal/flash/realtime"
)

// ErrClosed means that the server was closed.
var ErrClosed = realtime.ErrClosed

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
	o      Options
	device *realtime.Device

	lock   sync.Mutex // guards what follows; never held while waiting
	closed bool
	conns  map[*connection]bool
	served sync.WaitGroup // connections
}

// New makes a server for a device, whose time begins now. The server owns the
// device until it is closed.
func New(device flash.Device, o Options) *Server { return Share(realtime.New(device), o) }

// Share makes a server for a device that may have other front ends. Closing any
// of them closes the device.
func Share(device *realtime.Device, o Options) *Server {
	if o.Handshake <= 0 {
		o.Handshake = 10 * time.Second
	}
	if o.Stall <= 0 {
		o.Stall = 2 * time.Minute
	}
	return &Server{o: o, device: device, conns: map[*connection]bool{}}
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
	h := handshake{in: c.in, out: conn, size: s.device.Size(), flags: s.flags()}
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
	flags := uint16(flagHasFlags | flagSendFlush | flagSendFUA | flagWriteZeroes | flagMultiConn)
	if s.o.Trim {
		flags |= flagSendTrim
	}
	if s.o.Rotational {
		flags |= flagRotational
	}
	return flags
}

// Stats returns the device's counters, as realtime.Device does.
func (s *Server) Stats() flash.Stats { return s.device.Stats() }

// Contents passes on the device's contents, as realtime.Device does.
func (s *Server) Contents(piece func(offset int64, data []byte) error) error {
	return s.device.Contents(piece)
}

// Cut disconnects all clients and cuts the device's power: requests in flight
// are never answered. The device is then as after power on, and accepts new
// clients. A closed server has nothing to lose.
func (s *Server) Cut() flash.Loss {
	s.hangUp()
	return s.device.Cut()
}

// Restart cuts the device's power and restores it at once, as a rebooting
// machine does. Clients stay connected; they must have nothing in flight.
func (s *Server) Restart() flash.Loss { return s.device.Cut() }

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
	s.device.Close()
	return nil
}
