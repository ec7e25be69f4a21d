package realtime

import (
	"container/heap"
	"sync"
	"time"
)

// Reply answers a request that the device has accepted or that was refused.
type Reply[T any] struct {
	Due   time.Duration // when to send it, in the device's time
	Bytes int64         // of data in request or reply
	What  T

	place uint64 // order of arrival, for replies due at the same instant
}

// Queue holds a front end's replies until they are due, and limits what is in flight.
type Queue[T any] struct {
	mu          sync.Mutex
	room        *sync.Cond // signals that a request finished or the queue closed
	closed      bool
	waiting     replies[T]
	places      uint64
	most        int   // requests in flight
	mostBytes   int64 // their data; one request is always admitted
	flying      int   // requests admitted and unfinished
	flyingBytes int64
	// changed counts events that a sleeping sender must notice: a reply
	// that is due before all others, or the end.
	changed uint32
	sleeper *Sleeper // of the sender; nil until it first sleeps
}

// NewQueue makes a queue for so many requests in flight with so many bytes of data; one request is
// always admitted.
func NewQueue[T any](requests int, bytes int64) *Queue[T] {
	q := &Queue[T]{most: requests, mostBytes: bytes}
	q.room = sync.NewCond(&q.mu)
	return q
}

// Admit waits until there is room for a request with n bytes of data; it
// returns false if the queue was closed.
func (q *Queue[T]) Admit(n int64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.closed && q.flying > 0 && (q.flying >= q.most || q.flyingBytes+n > q.mostBytes) {
		q.room.Wait()
	}
	if q.closed {
		return false
	}
	q.flying++
	q.flyingBytes += n
	return true
}

// Finished releases the room of a request.
func (q *Queue[T]) Finished(p *Reply[T]) {
	q.mu.Lock()
	q.flying--
	q.flyingBytes -= p.Bytes
	q.mu.Unlock()
	q.room.Signal()
}

// Add queues the reply to an admitted request; false if the queue was closed.
func (q *Queue[T]) Add(p *Reply[T]) bool {
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return false
	}
	p.place = q.places
	q.places++
	heap.Push(&q.waiting, p)
	first := q.waiting[0] == p
	if first {
		q.changed++
	}
	s := q.sleeper
	q.mu.Unlock()
	if first && s != nil {
		s.wake(&q.changed)
	}
	return true
}

// Next waits until a reply is due and returns it; nil if the queue was closed.
func (q *Queue[T]) Next(now func() time.Duration, s *Sleeper) *Reply[T] {
	for {
		q.mu.Lock()
		q.sleeper = s
		if q.closed {
			q.mu.Unlock()
			return nil
		}
		left := time.Duration(-1) // forever
		if len(q.waiting) > 0 {
			if left = q.waiting[0].Due - now(); left <= 0 {
				p := heap.Pop(&q.waiting).(*Reply[T])
				q.mu.Unlock()
				return p
			}
		}
		seen := q.changed
		q.mu.Unlock()
		s.sleep(&q.changed, seen, left)
	}
}

// Close ends the queue and returns what waited in it, in no order.
func (q *Queue[T]) Close() []*Reply[T] {
	q.mu.Lock()
	dropped := q.waiting
	q.closed, q.waiting = true, nil
	q.changed++
	s := q.sleeper
	q.mu.Unlock()
	q.room.Broadcast()
	if s != nil {
		s.wake(&q.changed)
	}
	return dropped
}

// replies is a heap, earliest first.
type replies[T any] []*Reply[T]

func (r replies[T]) Len() int { return len(r) }
func (r replies[T]) Less(i, j int) bool {
	if r[i].Due != r[j].Due {
		return r[i].Due < r[j].Due
	}
	return r[i].place < r[j].place
}
func (r replies[T]) Swap(i, j int) { r[i], r[j] = r[j], r[i] }
func (r *replies[T]) Push(x any)   { *r = append(*r, x.(*Reply[T])) }
func (r *replies[T]) Pop() any {
	old := *r
	n := len(old) - 1
	p := old[n]
	old[n] = nil
	*r = old[:n]
	return p
}
