package command

import (
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// pipeDelay is how long to wait for the output of a program that has ended: a
// process that still holds the pipe is not a known child of the program.
const pipeDelay = 2 * time.Second

// pipes copy a program's output to writers. os/exec does the same, but either
// it waits forever for a process that holds the output, or a slow reader loses
// what the program wrote last.
type pipes struct {
	ours, theirs []*os.File
	writers      []io.Writer
	err          error // too few descriptors

	left    atomic.Int32
	drained chan struct{} // closed when all output has arrived
	mu      sync.Mutex
	failed  error // from a writer
}

// to returns the file that the program is to write to.
func (p *pipes) to(w io.Writer) *os.File {
	r, theirs, err := os.Pipe()
	if err != nil {
		p.err = err
		return nil
	}
	p.ours, p.theirs, p.writers = append(p.ours, r), append(p.theirs, theirs), append(p.writers, w)
	return theirs
}

// started starts copying. By now the program has its own ends, or never will.
func (p *pipes) started() {
	for _, f := range p.theirs {
		_ = f.Close()
	}
	p.drained = make(chan struct{})
	p.left.Store(int32(len(p.ours)))
	for i, r := range p.ours {
		go func() {
			_, err := io.Copy(p.writers[i], r)
			if err != nil && !errors.Is(err, os.ErrClosed) {
				p.mu.Lock()
				p.failed = err
				p.mu.Unlock()
			}
			_ = r.Close() // unread output must not block the program
			if p.left.Add(-1) == 0 {
				close(p.drained)
			}
		}()
	}
}

// wait waits for the rest of the output, up to limit.
func (p *pipes) wait(limit time.Duration) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.drained:
	case <-timer.C:
	}
}

// fault returns why output was not passed on.
func (p *pipes) fault() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}

// close abandons output that has not arrived.
func (p *pipes) close() {
	for _, r := range p.ours {
		_ = r.Close()
	}
}
