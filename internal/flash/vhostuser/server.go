// Package vhostuser serves a simulated device in real time to vhost-user front ends, such as QEMU's
// vhost-user-blk: the requests are in the memory of the front end's guest, and no copy of them passes
// through a socket.
//
// Its point of view: as for package nbd, a reply is given when the model says, and a front end can
// harm only its own connection, whatever it says and whatever becomes of the memory that it shares.
package vhostuser

import (
	"errors"
	"net"
	"sync"

	"whichfs/internal/flash"
	"whichfs/internal/flash/realtime"
	"whichfs/internal/flash/virtio"
)

// queues is the most that a guest can use: QEMU gives a disk one per processor.
const queues = 64

// Options of a server.
type Options struct {
	// Trim: the device supports discards.
	Trim bool
	// Serial number of the disk, at most 20 bytes.
	Serial string
}

// Server serves one device to any number of connections, and is safe for use by several goroutines.
type Server struct {
	device *realtime.Device
	disk   virtio.Disk

	lock   sync.Mutex // guards what follows; never held while waiting
	closed bool
	conns  map[*connection]bool
	served sync.WaitGroup // connections
}

// Share makes a server for a device that may have other front ends. Closing any of them closes the
// device.
func Share(device *realtime.Device, o Options) *Server {
	return &Server{
		device: device, conns: map[*connection]bool{},
		disk: virtio.Disk{Size: device.Size() / flash.Sector * flash.Sector, Serial: o.Serial, Trim: o.Trim},
	}
}

// Serve serves one front end until it disconnects, misbehaves or the server is closed, and closes the
// connection. It returns nil if the front end disconnected.
func (s *Server) Serve(conn *net.UnixConn) error {
	f, err := conn.File() // a descriptor of its own, without time limits
	_ = conn.Close()
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // the front end hangs up as well
	c := newConnection(s, f)
	s.lock.Lock()
	if s.closed {
		s.lock.Unlock()
		return realtime.ErrClosed
	}
	s.conns[c] = true
	s.served.Add(1)
	s.lock.Unlock()
	defer s.served.Done()
	err = c.serve()
	s.lock.Lock()
	defer s.lock.Unlock()
	delete(s.conns, c)
	switch {
	case s.closed:
		return realtime.ErrClosed
	case errors.Is(err, virtio.ErrGone):
		return nil
	}
	return err
}

// HangUp disconnects all front ends. What is in flight is answered with an error, so that they find
// their queues in order when they connect again.
func (s *Server) HangUp() {
	s.lock.Lock()
	defer s.lock.Unlock()
	for c := range s.conns {
		c.end(net.ErrClosed)
	}
}

// Close disconnects all front ends, waits until all of the server's goroutines have ended, and closes
// the device. It may be called more than once.
func (s *Server) Close() {
	s.lock.Lock()
	s.closed = true
	s.lock.Unlock()
	s.HangUp()
	s.served.Wait()
	s.device.Close()
}
