package nbd

import (
	"container/heap"
	"net"
	"sync"
	"time"
)

// reply answers a request that the device has accepted or that was refused.
type reply struct {
	due     time.Duration // when to send it, in the device's time
	place   uint64        // order of arrival, for replies due at the same instant
	handle  uint64
	status  uint32  // 0 or an error
	carries int64   // B of data in request or reply
	data    *buffer // of a read: room for the header, then the data
}

// queue holds a connection's replies until they are due, and limits what is in
// flight.
type queue struct {
	mu      sync.Mutex
	room    *sync.Cond // signals that a request finished or the queue closed
	closed  bool
	waiting replies
	places  uint64
	flying  int   // requests admitted and unfinished
	data    int64 // their bytes
	// changed counts events that a sleeping sender must notice: a reply
	// that is due before all others, or the end.
	changed uint32
	sleeper *sleeper // of the sender; nil until it first sleeps
}

func newQueue() *queue {
	q := &queue{}
	q.room = sync.NewCond(&q.mu)
	return q
}

// admit waits until there is room for a request with n bytes of data; it
// returns false if the queue was closed.
func (q *queue) admit(n int64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.closed && q.flying > 0 && (q.flying >= maxFlying || q.data+n > maxFlyingData) {
		q.room.Wait()
	}
	if q.closed {
		return false
	}
	q.flying++
	q.data += n
	return true
}

// finished releases the room of a request.
func (q *queue) finished(p *reply) {
	q.mu.Lock()
	q.flying--
	q.data -= p.carries
	q.mu.Unlock()
	q.room.Signal()
}

// add queues the reply to an admitted request.
func (q *queue) add(p *reply) error {
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return net.ErrClosed
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
	return nil
}

// next waits until a reply is due and returns it; nil if the queue was closed.
func (q *queue) next(now func() time.Duration, s *sleeper) *reply {
	for {
		q.mu.Lock()
		q.sleeper = s
		if q.closed {
			q.mu.Unlock()
			return nil
		}
		left := time.Duration(-1) // forever
		if len(q.waiting) > 0 {
			if left = q.waiting[0].due - now(); left <= 0 {
				p := heap.Pop(&q.waiting).(*reply)
				q.mu.Unlock()
				return p
			}
		}
		seen := q.changed
		q.mu.Unlock()
		s.sleep(&q.changed, seen, left)
	}
}

// close ends the queue and drops what waits in it.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.waiting = nil
	q.changed++
	s := q.sleeper
	q.mu.Unlock()
	q.room.Broadcast()
	if s != nil {
		s.wake(&q.changed)
	}
}

// replies is a heap, earliest first.
type replies []*reply

func (r replies) Len() int { return len(r) }
func (r replies) Less(i, j int) bool {
	if r[i].due != r[j].due {
		return r[i].due < r[j].due
	}
	return r[i].place < r[j].place
}
func (r replies) Swap(i, j int) { r[i], r[j] = r[j], r[i] }
func (r *replies) Push(x any)   { *r = append(*r, x.(*reply)) }
func (r *replies) Pop() any {
	old := *r
	n := len(old) - 1
	p := old[n]
	old[n] = nil
	*r = old[:n]
	return p
}
