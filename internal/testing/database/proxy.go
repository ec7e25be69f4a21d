package database

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"testing"

	"whichfs/internal/testing/must"
)

// Proxy stands between a client and the server and cuts the connection at a
// chosen statement, once.
type Proxy struct {
	Port     int
	listener net.Listener
	server   string
	under    sync.WaitGroup

	mu       sync.Mutex
	left     int  // statements until the cut; 0: none
	executed bool // the cut comes after the server has executed the statement
	open     map[net.Conn]bool
}

// NewProxy starts a proxy, until the test ends.
func NewProxy(t testing.TB, s *Server) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	p := &Proxy{listener: l, Port: l.Addr().(*net.TCPAddr).Port, server: (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: s.Port}).String(), open: map[net.Conn]bool{}} //nolint:forcetypeassert // tcp
	p.under.Go(p.accept)
	t.Cleanup(func() {
		_ = l.Close()
		p.mu.Lock()
		for c := range p.open {
			_ = c.Close()
		}
		p.mu.Unlock()
		p.under.Wait()
	})
	return p
}

// CutAt has the proxy cut the connection at the nth statement from now: before
// the server gets it, or when the server has executed it and the client does
// not know.
func (p *Proxy) CutAt(n int, executed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left, p.executed = n, executed
}

// Pending reports whether the cut is still to come.
func (p *Proxy) Pending() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.left > 0
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		c := &cutter{p: p, client: client, server: server}
		p.mu.Lock()
		p.open[client], p.open[server] = true, true
		p.mu.Unlock()
		p.under.Go(c.forward)
		p.under.Go(c.back)
	}
}

// cutter is one connection.
type cutter struct {
	p              *Proxy
	client, server net.Conn
	mu             sync.Mutex
	last           bool // the next answer is cut off
}

func (c *cutter) close() {
	_, _ = c.client.Close(), c.server.Close()
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	delete(c.p.open, c.client)
	delete(c.p.open, c.server)
}

// forward passes on what the client sends. A statement ends with a Query or a
// Sync message.
func (c *cutter) forward() {
	defer c.close()
	kind, message, err := c.message(c.client, true)
	for ; err == nil; kind, message, err = c.message(c.client, false) {
		if kind == 'Q' || kind == 'S' {
			now, executed := c.p.statement()
			if now && !executed {
				return
			}
			c.mu.Lock()
			c.last = now
			c.mu.Unlock()
		}
		if _, err = c.server.Write(message); err != nil {
			return
		}
	}
}

// back passes on what the server sends. An answer ends with ReadyForQuery.
func (c *cutter) back() {
	defer c.close()
	for {
		kind, message, err := c.message(c.server, false)
		if err != nil {
			return
		}
		c.mu.Lock()
		last := c.last
		c.mu.Unlock()
		if last && kind == 'Z' {
			return
		}
		if last {
			continue
		}
		if _, err := c.client.Write(message); err != nil {
			return
		}
	}
}

// statement counts one and reports whether to cut there.
func (p *Proxy) statement() (now, executed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left == 0 {
		return false, false
	}
	p.left--
	return p.left == 0, p.executed
}

// message reads one: a type, except the first, and a length that includes
// itself.
func (c *cutter) message(from net.Conn, first bool) (kind byte, message []byte, err error) {
	head := 5
	if first {
		head = 4
	}
	message = make([]byte, head)
	if _, err := io.ReadFull(from, message); err != nil {
		return 0, nil, err
	}
	length := binary.BigEndian.Uint32(message[head-4:])
	if length < 4 || length > 1<<30 {
		return 0, nil, errors.New("not a message")
	}
	message = append(message, make([]byte, length-4)...)
	_, err = io.ReadFull(from, message[head:])
	if !first {
		kind = message[0]
	}
	return kind, message, err
}
