package programs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"whichfs/internal/sys/command"
)

// Serve runs the programs that a client asks for. When the stream ends, their inputs end, and those that
// have not ended themselves within patience are killed. The error is that of the stream; its end is
// none.
func Serve(stream io.ReadWriter, patience time.Duration) error {
	s := &server{w: writer{w: stream}, live: map[uint16]*running{}}
	err := s.read(stream)
	if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	s.mu.Lock()
	var all []*running
	for _, r := range s.live {
		all = append(all, r)
	}
	s.mu.Unlock()
	for _, r := range all {
		r.feed(nil)
	}
	timer := time.AfterFunc(patience, func() {
		for _, r := range all {
			_ = r.p.Kill() // what cannot be killed cannot be waited for either
		}
	})
	defer timer.Stop()
	s.all.Wait()
	return err
}

type server struct {
	w   writer
	all sync.WaitGroup

	mu   sync.Mutex
	live map[uint16]*running
}

type running struct {
	p *command.Piped

	mu      sync.Mutex
	changed *sync.Cond
	input   []byte
	closed  bool // after input
	gone    bool
}

func (s *server) read(stream io.Reader) error {
	for {
		m, err := receive(stream)
		if err != nil {
			return err
		}
		s.mu.Lock()
		r := s.live[m.id]
		s.mu.Unlock()
		switch {
		case m.kind == start && r == nil:
			var argv []string
			if err := json.Unmarshal(m.body, &argv); err != nil || len(argv) == 0 {
				return fmt.Errorf("%w: words of a program: %v", errNonsense, err)
			}
			s.start(m.id, argv)
		case m.kind == start || m.kind > kill:
			return fmt.Errorf("%w: kind %d", errNonsense, m.kind)
		case r == nil: // it has ended
		case m.kind == input:
			r.feed(m.body)
		case m.kind == kill:
			go func() { _ = r.p.Kill() }() // that it lives on is seen at its end
		}
	}
}

func (s *server) start(id uint16, argv []string) {
	errs := errorsTo{s, id}
	p, err := command.StartPiped(command.Options{Stderr: errs}, argv...)
	if err != nil {
		s.ended(id, end{Status: -1, Reason: err.Error()})
		return
	}
	r := &running{p: p}
	r.changed = sync.NewCond(&r.mu)
	s.mu.Lock()
	s.live[id] = r
	s.mu.Unlock()
	s.all.Go(func() { s.follow(id, r) })
	go r.write()
}

type errorsTo struct {
	s  *server
	id uint16
}

func (e errorsTo) Write(b []byte) (int, error) {
	return len(b), e.s.w.send(errorOutput, e.id, b[:min(len(b), longest)])
}

// follow passes on what a program prints, and how it ends.
func (s *server) follow(id uint16, r *running) {
	read := make(chan struct{})
	go func() {
		defer close(read)
		b := make([]byte, piece)
		lost := false // then the program must not block for want of a reader
		for {
			n, err := r.p.Out.Read(b)
			if n > 0 && !lost {
				lost = s.w.send(output, id, b[:n]) != nil
			}
			if err != nil {
				return
			}
		}
	}()
	<-r.p.Done()
	select {
	case <-read:
	case <-time.After(2 * time.Second): // something that it started has its output
	}
	_ = r.p.Out.Close()
	r.mu.Lock()
	r.gone = true
	r.changed.Broadcast()
	r.mu.Unlock()
	s.mu.Lock()
	delete(s.live, id)
	s.mu.Unlock()
	var e end
	if err := r.p.Err(); err != nil {
		e = end{Status: -1, Reason: err.Error()}
		if c, ok := errors.AsType[*command.Error](err); ok {
			e.Reason = c.Err.Error()
			if c.Status > 0 {
				e.Status = c.Status
			}
		}
	}
	s.ended(id, e)
}

func (s *server) ended(id uint16, e end) {
	b, err := json.Marshal(e)
	if err == nil {
		_ = s.w.send(ended, id, b) // without a stream there is no one to tell
	}
}

// mostInput is kept for a program that does not read, in bytes; then the stream waits.
const mostInput = 256 << 10

// feed gives a program input; nothing is the end of it.
func (r *running) feed(b []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(b) > 0 && len(r.input) > mostInput && !r.gone {
		r.changed.Wait()
	}
	r.input = append(r.input, b...)
	r.closed = r.closed || len(b) == 0
	r.changed.Broadcast()
}

// write is the only writer of a program's input.
func (r *running) write() {
	defer r.p.In.Close() //nolint:errcheck // the program has seen all that it wanted
	for {
		r.mu.Lock()
		for len(r.input) == 0 && !r.closed && !r.gone {
			r.changed.Wait()
		}
		b := r.input
		r.input = nil
		over := r.gone || len(b) == 0
		r.changed.Broadcast()
		r.mu.Unlock()
		if over {
			return
		}
		if _, err := r.p.In.Write(b); err != nil {
			r.mu.Lock()
			r.gone = true // it reads no more; its end is noticed elsewhere
			r.changed.Broadcast()
			r.mu.Unlock()
			return
		}
	}
}
