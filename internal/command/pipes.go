package command

import (
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// pipeDelay is how long the output of a program that has ended may still come,
// once nobody wants to wait any more: who holds it then is no child of the
// program that we know of.
const pipeDelay = 2 * time.Second

// pipes bring a program's output to writers. os/exec has the same, but there
// either a process that holds the output is waited for without end, or a slow
// reader loses what the program wrote last.
type pipes struct {
	ours, theirs []*os.File
	writers      []io.Writer
	err          error // there are not enough descriptors

	left    atomic.Int32
	drained chan struct{} // closed when all output has come
	mu      sync.Mutex
	failed  error // a writer's
}

// to returns what the program shall write to.
func (p *pipes) to(w io.Writer) *os.File {
	r, theirs, err := os.Pipe()
	if err != nil {
		p.err = err
		return nil
	}
	p.ours, p.theirs, p.writers = append(p.ours, r), append(p.theirs, theirs), append(p.writers, w)
	return theirs
}

// started begins to copy. The program has its own ends by now, or never will.
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
			_ = r.Close() // what nobody reads must not hold the program up
			if p.left.Add(-1) == 0 {
				close(p.drained)
			}
		}()
	}
}

// wait waits for the rest of the output, for so long.
func (p *pipes) wait(limit time.Duration) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.drained:
	case <-timer.C:
	}
}

// fault is why output was not passed on.
func (p *pipes) fault() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}

// close gives up what has not come.
func (p *pipes) close() {
	for _, r := range p.ours {
		_ = r.Close()
	}
}
