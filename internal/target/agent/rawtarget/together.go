package rawtarget

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"whichfs/internal/probe"
)

// series is a number of requests that several workers share.
type series struct {
	op      op
	fd      int
	offsets []int64
	length  int64
	memory  []byte // each request has its own part, if there is enough
	next    atomic.Int64
	ended   atomic.Int64 // requests
	left    sync.WaitGroup

	mu     sync.Mutex
	first  time.Time // the earliest request's beginning
	last   time.Time // the latest one's end
	failed *failure
}

// failure is the first failed request.
type failure struct {
	offset int64
	a      answer
}

// share makes requests until none is left or one has failed.
func (s *series) share() {
	defer s.left.Done()
	var first, last time.Time
	parts := int64(len(s.memory)) / s.length
	for {
		i := s.next.Add(1) - 1
		if i >= int64(len(s.offsets)) {
			break
		}
		at := i % parts * s.length
		r := request{op: s.op, fd: s.fd, offset: s.offsets[i], buffer: s.memory[at : at+s.length]}
		a := r.carryOut()
		s.ended.Add(1)
		if first.IsZero() {
			first = a.began
		}
		last = a.ended
		if a.err != nil || a.n != len(r.buffer) {
			s.fail(&failure{r.offset, a})
			break
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !first.IsZero() && (s.first.IsZero() || first.Before(s.first)) {
		s.first = first
	}
	if last.After(s.last) {
		s.last = last
	}
}

func (s *series) fail(f *failure) {
	s.next.Store(int64(len(s.offsets))) // the others stop, too
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil {
		s.failed = f
	}
}

// Together implements probe.Target. Each request in flight has its own thread; the time runs from
// the beginning of the first to the end of the last.
func (t *Target) Together(write bool, offsets []int64, length int64, depth int) (time.Duration, error) {
	if depth < 1 || depth > maxDepth || len(offsets) == 0 {
		return 0, fmt.Errorf("%d requests, %d at a time; at least one and at most %d at a time are possible", len(offsets), depth, maxDepth)
	}
	for _, offset := range offsets {
		if err := t.prepare(write, offset, length); err != nil {
			return 0, err
		}
	}
	if t.lost != nil {
		return 0, t.lost
	}
	// Writes have distinct contents, or repeat them if that would take too much memory.
	room := max(min(int64(len(offsets))*length, MaxRequest), min(int64(depth)*length, 4*MaxRequest))
	if room < int64(depth)*length {
		return 0, probe.ErrUnsupported // more in flight than there is memory for
	}
	if err := t.memory.grow(room); err != nil {
		return 0, err
	}
	s := &series{op: opRead, fd: t.fd, offsets: offsets, length: length, memory: t.memory.bytes[:room/length*length]}
	if write {
		s.op = opWrite
		for i := int64(0); i < int64(len(s.memory))/length && i < int64(len(offsets)); i++ {
			fill(s.memory[i*length:(i+1)*length], offsets[i], t.requests+uint64(i)) //nolint:gosec // not negative
		}
	}
	for len(t.workers) < depth {
		t.workers = append(t.workers, newWorker())
	}
	t.collectGarbage()
	t.requests += uint64(len(offsets))
	s.left.Add(depth)
	for _, w := range t.workers[:depth] {
		w.series <- s
	}
	if err := t.waitFor(s, depth); err != nil {
		return 0, err
	}
	if f := s.failed; f != nil {
		return 0, t.failed(request{op: s.op, offset: f.offset, buffer: s.memory[:length]}, f.a)
	}
	return s.last.Sub(s.first), nil
}

// waitFor waits for a series as long as it makes progress.
func (t *Target) waitFor(s *series, depth int) error {
	over := make(chan struct{})
	go func() { s.left.Wait(); close(over) }()
	limit := t.limit(s.length * int64(depth))
	for had := int64(-1); ; {
		t.timer.Reset(limit)
		select {
		case <-over:
			return nil
		case <-t.timer.C:
		}
		now := s.ended.Load()
		if now == had {
			return t.hangs(request{op: s.op, offset: s.offsets[min(int(now), len(s.offsets)-1)], buffer: s.memory[:s.length]}, limit)
		}
		had = now
	}
}
