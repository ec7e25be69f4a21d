package database

import (
	"bytes"
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
	left     int    // statements until the cut; 0: none
	executed bool   // the cut comes after the server has executed the statement
	late     bool   // the server does not notice before Notice
	text     string // of the query whose execution is cut off; "": left counts
	kept     []net.Conn
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
	p.left, p.executed, p.late, p.text = n, executed, false, ""
}

// CutLate cuts when the server has executed a query that contains a text, and
// that the connection has not had before. The server keeps its end, and all its
// locks, until Notice.
func (p *Proxy) CutLate(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left, p.executed, p.late, p.text = 0, true, true, text
}

// parse begins to count at the query that CutLate names: it is prepared by one
// statement and executed by the next.
func (p *Proxy) parse(message []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.text != "" && bytes.Contains(message, []byte(p.text)) {
		p.left, p.text = 2, ""
	}
}

// Notice ends the connections that the server has kept.
func (p *Proxy) Notice() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.kept {
		_ = c.Close()
	}
	p.kept = nil
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
	keep           bool // the server's end stays
}

func (c *cutter) close() {
	c.mu.Lock()
	keep := c.keep
	c.mu.Unlock()
	_ = c.client.Close()
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	delete(c.p.open, c.client)
	if !keep {
		_ = c.server.Close()
		delete(c.p.open, c.server)
	}
}

// cut is the end of an answer that the client does not get.
func (c *cutter) cut() {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	if c.p.late {
		c.mu.Lock()
		c.keep = true
		c.mu.Unlock()
		c.p.kept = append(c.p.kept, c.server)
	}
}

// forward passes on what the client sends. A statement ends with a Query or a
// Sync message.
func (c *cutter) forward() {
	defer c.close()
	kind, message, err := c.message(c.client, true)
	for ; err == nil; kind, message, err = c.message(c.client, false) {
		if kind == 'P' {
			c.p.parse(message)
		}
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
			c.cut()
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
