package programs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"whichfs/internal/sys/command"
)

// Client is the end that has programs run.
type Client struct {
	w writer

	mu   sync.Mutex
	next uint16
	live map[uint16]*Process
	err  error // why nothing can be run any more
}

// NewClient speaks over a stream, which the caller closes. That ends everything.
func NewClient(stream io.ReadWriter) *Client {
	c := &Client{w: writer{w: stream}, live: map[uint16]*Process{}}
	go c.read(stream)
	return c
}

func (c *Client) read(r io.Reader) {
	for {
		m, err := receive(r)
		if err != nil {
			c.lose(err)
			return
		}
		c.mu.Lock()
		p := c.live[m.id]
		c.mu.Unlock()
		if p == nil {
			continue // it was given up
		}
		switch m.kind {
		case output:
			p.out.add(m.body)
		case errorOutput:
			_, _ = p.errs.Write(m.body)
		case ended:
			var e end
			if err := json.Unmarshal(m.body, &e); err != nil {
				c.lose(fmt.Errorf("%w: %v", errNonsense, err))
				return
			}
			c.over(p, e.err(p))
		}
	}
}

func (e end) err(p *Process) error {
	if e.Status == 0 {
		return nil
	}
	return &command.Error{Argv: p.argv, Status: e.Status, Stderr: p.said.String(), Err: errors.New(cmp.Or(e.Reason, "it failed"))}
}

// over notes the end of a program, once: a lost line is seen by who reads and by who writes.
func (c *Client) over(p *Process, err error) {
	c.mu.Lock()
	running := c.live[p.id] == p
	if running {
		delete(c.live, p.id)
	}
	c.mu.Unlock()
	if !running {
		return
	}
	p.err = err
	close(p.done)
	p.out.end()
}

func (c *Client) lose(err error) {
	c.mu.Lock()
	if c.err == nil {
		c.err = err
	}
	var all []*Process
	for _, p := range c.live {
		all = append(all, p)
	}
	c.mu.Unlock()
	for _, p := range all {
		c.over(p, &command.Error{Argv: p.argv, Status: -1, Stderr: p.said.String(), Err: fmt.Errorf("the line was lost: %w", err)})
	}
}

// Process is a program at the other end.
type Process struct {
	In  io.WriteCloser
	Out io.ReadCloser

	client *Client
	id     uint16
	argv   []string
	out    *buffer
	said   lastWords
	errs   io.Writer
	done   chan struct{}
	err    error
}

// mostSaid of a program's last words is kept, in bytes.
const mostSaid = 16 << 10

type lastWords struct {
	mu sync.Mutex
	b  []byte
}

func (l *lastWords) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b = append(l.b, b[:min(mostSaid-len(l.b), len(b))]...)
	return len(b), nil
}

func (l *lastWords) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.b)
}

// Start starts a program. What it prints to its standard error goes to errs, too; nil: only into the
// error of its end.
func (c *Client) Start(errs io.Writer, argv ...string) (*Process, error) {
	words, err := json.Marshal(argv)
	if err != nil {
		return nil, err
	}
	if len(words) > longest {
		return nil, fmt.Errorf("the command line of %s is %d bytes long, and %d are allowed", argv[0], len(words), longest)
	}
	p := &Process{client: c, argv: argv, out: newBuffer(), done: make(chan struct{})}
	p.errs = &p.said
	if errs != nil {
		p.errs = io.MultiWriter(p.errs, errs)
	}
	p.In, p.Out = &stdin{p: p}, p.out
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return nil, &command.Error{Argv: argv, Status: -1, Err: c.err}
	}
	for c.live[c.next] != nil {
		c.next++
	}
	p.id = c.next
	c.next++
	c.live[p.id] = p
	c.mu.Unlock()
	if err := c.w.send(start, p.id, words); err != nil {
		c.lose(err)
		return nil, &command.Error{Argv: argv, Status: -1, Err: err}
	}
	return p, nil
}

// Run runs a program to completion, as command.Run does here.
func (c *Client) Run(ctx context.Context, in io.Reader, argv ...string) (command.Result, error) {
	p, err := c.Start(nil, argv...)
	if err != nil {
		return command.Result{Status: -1}, err
	}
	go func() {
		_, _ = io.CopyBuffer(struct{ io.Writer }{p.In}, in, make([]byte, piece)) // how the program ended says more
		_ = p.In.Close()
	}()
	var out strings.Builder
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(&out, p.Out) // ends when the program does
	}()
	select {
	case <-p.done:
	case <-ctx.Done():
		_ = p.Kill()
		return command.Result{Status: -1}, context.Cause(ctx)
	}
	<-read
	r := command.Result{Stdout: out.String(), Stderr: p.said.String()}
	if e, ok := errors.AsType[*command.Error](p.err); ok {
		r.Status = e.Status
	}
	return r, p.err
}

// Done is closed when the program has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err says how it ended; valid after Done.
func (p *Process) Err() error { return p.err }

// Kill asks for the end of the program. It does not wait.
func (p *Process) Kill() error { return p.client.w.send(kill, p.id, nil) }

// End closes the program's input, at whose end it is to end, and has it killed if it does not within
// patience, which is an error that calls it name. What it still prints is dropped.
func (p *Process) End(name string, patience time.Duration) error {
	select {
	case <-p.done: // its input may be gone, too
		return p.Out.Close()
	default:
	}
	err := p.In.Close()
	go func() { _, _ = io.Copy(io.Discard, p.Out) }() // until it ends
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
		err = errors.Join(err, fmt.Errorf("%s did not end within %v and was killed", name, patience), p.Kill())
	}
	return errors.Join(err, p.Out.Close())
}

// stdin is the input of a program.
type stdin struct {
	p      *Process
	mu     sync.Mutex
	closed bool
}

func (s *stdin) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := 0; n < len(b); {
		select {
		case <-s.p.done:
			return n, io.ErrClosedPipe
		default:
		}
		if s.closed {
			return n, io.ErrClosedPipe
		}
		part := b[n:min(n+piece, len(b))]
		if err := s.p.client.w.send(input, s.p.id, part); err != nil {
			return n, err
		}
		n += len(part)
	}
	return len(b), nil
}

func (s *stdin) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	select {
	case <-s.p.done:
		return nil
	default:
		return s.p.client.w.send(input, s.p.id, nil)
	}
}

// buffer is output that was not read yet. It takes everything: a reader that is late must not stop what
// else the stream carries.
type buffer struct {
	mu      sync.Mutex
	changed *sync.Cond
	b       []byte
	over    bool
}

func newBuffer() *buffer {
	b := &buffer{}
	b.changed = sync.NewCond(&b.mu)
	return b
}

func (b *buffer) add(p []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.over {
		b.b = append(b.b, p...)
	}
	b.changed.Broadcast()
}

func (b *buffer) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
	b.changed.Broadcast()
}

func (b *buffer) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.b) == 0 {
		if b.over {
			return 0, io.EOF
		}
		b.changed.Wait()
	}
	n := copy(p, b.b)
	b.b = b.b[n:]
	return n, nil
}

// Close drops what was not read.
func (b *buffer) Close() error {
	b.end()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.b = nil
	return nil
}
