package vhostuser

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/flash"
	"whichfs/internal/flash/realtime"
	"whichfs/internal/flash/virtio"
)

// connection is a front end. One goroutine handles its messages, one per queue waits for the guest's
// kicks and passes its requests to the device, one answers them when they are due.
type connection struct {
	s      *Server
	fd     int
	queue  *realtime.Queue[pending] // the guest's own queues limit what is in flight
	kicked sync.WaitGroup           // the goroutines of queues

	mu      sync.Mutex // guards what follows, and the guest's memory
	drained *sync.Cond // signals that a request was answered, or the end
	back    *virtio.Back
	rings   [queues]ring
	buffer  []byte
	why     error // of the end
}

// ring is what besides its memory a queue has.
type ring struct {
	kick   *os.File // the guest has made requests available
	call   int      // an interrupt for the guest; -1: it wants none
	flying int      // requests
}

// pending is a request in the device.
type pending struct {
	ring    int
	request virtio.Request
}

func newConnection(s *Server, f *os.File) *connection {
	c := &connection{
		s: s, fd: int(f.Fd()), queue: realtime.NewQueue[pending](0, 0),
		back: virtio.NewBack(s.disk.Features(queues), virtio.ProtocolQueues|virtio.ProtocolReplyAck|virtio.ProtocolConfig, s.disk.Config(queues), queues),
	}
	c.drained = sync.NewCond(&c.mu)
	for i := range c.rings {
		c.rings[i].call = -1
	}
	return c
}

// serve handles messages until the connection ends, and returns when all of its goroutines have
// ended.
func (c *connection) serve() error {
	sent := make(chan struct{})
	go func() { defer close(sent); c.send() }()
	for {
		m, err := virtio.Receive(c.fd)
		var answer []byte
		if err == nil {
			answer, err = c.handle(&m)
		}
		if err == nil {
			err = m.Reply(c.fd, answer)
		}
		m.Close()
		if err != nil {
			c.end(err)
			break
		}
	}
	<-sent
	c.mu.Lock()
	for i := range c.rings {
		c.rings[i].setKick(nil) // its goroutine returns
		c.rings[i].setCall(-1)
	}
	c.mu.Unlock()
	c.kicked.Wait()
	c.back.Memory.Unmap()
	return c.why
}

// end stops all goroutines, and answers what is in flight with an error. The first reason counts.
func (c *connection) end(why error) {
	dropped := c.queue.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.why != nil {
		return
	}
	c.why = why
	_ = intact(func() error {
		for _, p := range dropped {
			p.What.request.Status = virtio.BlockError
			if err := c.answer(&p.What); err != nil {
				return err // its memory is of no use
			}
		}
		return nil
	})
	c.drained.Broadcast()
	_ = unix.Shutdown(c.fd, unix.SHUT_RDWR)
}

func (r *ring) setKick(f *os.File) {
	if r.kick != nil {
		_ = r.kick.Close()
	}
	r.kick = f
}

func (r *ring) setCall(fd int) {
	if r.call >= 0 {
		_ = unix.Close(r.call)
	}
	r.call = fd
}

// intact runs what uses the guest's memory. A front end that truncates the file behind it makes that
// a fault (SIGBUS), which is its own.
func intact(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			fault, ok := r.(interface{ Addr() uintptr })
			if !ok {
				panic(r)
			}
			err = fmt.Errorf("the guest's memory was truncated: a fault at %#x", fault.Addr())
		}
	}()
	return f()
}

// handle carries out a message.
func (c *connection) handle(m *virtio.Message) (answer []byte, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.back.Check(m); err != nil {
		return nil, err
	}
	switch m.Request {
	case virtio.SetVringKick, virtio.SetVringCall, virtio.SetVringErr:
		return nil, c.connect(m)
	case virtio.GetVringBase:
		n := m.Half(0)
		c.stop(int(n))
		answer = binary.LittleEndian.AppendUint32(nil, n)
		return binary.LittleEndian.AppendUint32(answer, uint32(c.back.Queues[n].Taken())), nil
	}
	err = intact(func() error { answer, err = c.back.Handle(m); return err })
	if err == nil && m.Request == virtio.SetVringEnable {
		err = c.work(int(m.Half(0))) // what was kicked before
	}
	return answer, err
}

// connect takes the descriptor over which a queue's ends notify each other: the lower 8 bits of the
// message are the queue, bit 8 means that there is none.
func (c *connection) connect(m *virtio.Message) error {
	n, none := int(m.Body[0]), m.Body[1]&1 != 0
	switch {
	case n >= queues:
		return fmt.Errorf("there is no queue %d", n)
	case none == (len(m.FDs) == 1), len(m.FDs) > 1:
		return fmt.Errorf("%d descriptors for queue %d", len(m.FDs), n)
	case m.Request == virtio.SetVringErr:
		return nil // an error ends the connection
	case none && m.Request == virtio.SetVringKick:
		return errors.New("a queue that is polled, not kicked")
	}
	fd := -1
	if !none {
		// The guest must not make the server wait.
		if err := unix.SetNonblock(m.FDs[0], true); err != nil {
			return fmt.Errorf("descriptor for queue %d: %w", n, err)
		}
		fd, m.FDs = m.FDs[0], nil
	}
	r := &c.rings[n]
	if m.Request == virtio.SetVringCall {
		r.setCall(fd)
		return nil
	}
	f := os.NewFile(uintptr(fd), "eventfd")
	r.setKick(f)
	c.kicked.Add(1)
	go func() { defer c.kicked.Done(); c.watch(n, f) }()
	return c.work(n)
}

// watch waits for the guest's kicks until the descriptor is closed.
func (c *connection) watch(n int, kick *os.File) {
	var count [8]byte
	for {
		if _, err := kick.Read(count[:]); err != nil {
			return
		}
		c.mu.Lock()
		err := c.work(n)
		c.mu.Unlock()
		if err != nil {
			c.end(err)
			return
		}
	}
}

// work passes the requests of a queue, if it is running, to the device.
func (c *connection) work(n int) error {
	q := &c.back.Queues[n]
	if c.why != nil || c.rings[n].kick == nil || !q.Ready() {
		return nil
	}
	return intact(func() error {
		for {
			chain, ok, err := q.Take()
			if err != nil || !ok {
				return err
			}
			now := c.s.device.Now()
			r, err := c.s.disk.Parse(chain)
			if err != nil {
				return err
			}
			due := now
			if r.Op != 0 {
				due = max(now, r.Submit(&c.buffer, func(f flash.Request) (time.Duration, error) { return c.s.device.Submit(now, f) }))
			}
			c.rings[n].flying++
			p := pending{n, r}
			if !c.queue.Add(&realtime.Reply[pending]{Due: due, What: p}) { // the end
				p.request.Status = virtio.BlockError
				return c.answer(&p)
			}
		}
	})
}

// stop ends a queue when all of its requests are answered.
func (c *connection) stop(n int) {
	r := &c.rings[n]
	r.setKick(nil)
	for r.flying > 0 && c.why == nil {
		c.drained.Wait()
	}
}

// send answers requests when they are due, until the queue is closed.
func (c *connection) send() {
	s := realtime.NewSleeper()
	defer s.Release()
	for {
		p := c.queue.Next(c.s.device.Now, s)
		if p == nil {
			return
		}
		c.mu.Lock()
		err := intact(func() error { return c.answer(&p.What) })
		c.mu.Unlock()
		if err != nil {
			c.end(err)
			return
		}
	}
}

func (c *connection) answer(p *pending) error {
	r := &c.rings[p.ring]
	r.flying--
	c.drained.Broadcast()
	if err := p.request.Answer(); err != nil {
		return err
	}
	quiet, err := c.back.Queues[p.ring].Quiet()
	if err != nil || quiet || r.call < 0 {
		return err
	}
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	_, _ = unix.Write(r.call, one[:]) // it fails only if the counter is full, which interrupts as well
	return nil
}
