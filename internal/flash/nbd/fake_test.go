package nbd

import (
	"errors"
	"math"
	"sync"
	"time"

	"whichfs/internal/flash"
)

// memory is a device that takes a fixed time per request, or misbehaves.
type memory struct {
	mu       sync.Mutex // for tests: the server serialises all other access
	contents []byte
	takes    map[flash.Op]time.Duration
	fails    error // of reads and writes from here on
	hangs    bool
	ops      []flash.Request // without their data
	cuts     int
}

func newMemory(size int) *memory {
	return &memory{contents: make([]byte, size), takes: map[flash.Op]time.Duration{}}
}

func (m *memory) Size() int64 { return int64(len(m.contents)) }
func (m *memory) Depth() int  { return 1 }

func (m *memory) Submit(now time.Duration, r flash.Request) (time.Duration, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	data := r.Data
	r.Data = nil
	m.ops = append(m.ops, r)
	if r.Op != flash.Flush && (r.Offset < 0 || r.Length < 0 || r.Offset+r.Length > m.Size()) {
		panic("the server let a request outside the device through")
	}
	if m.fails != nil {
		return 0, m.fails
	}
	switch r.Op {
	case flash.Read:
		copy(data, m.contents[r.Offset:])
	case flash.Write:
		copy(m.contents[r.Offset:], data)
	case flash.Trim, flash.WriteZeroes:
		clear(m.contents[r.Offset : r.Offset+r.Length])
	}
	if m.hangs {
		return math.MaxInt64, nil
	}
	return now + m.takes[r.Op], nil
}

func (m *memory) Cut(time.Duration) flash.Loss { m.cuts++; return flash.Loss{Buffered: 7} }

func (m *memory) Stats() flash.Stats {
	var s flash.Stats
	for _, r := range m.ops {
		switch r.Op {
		case flash.Read:
			s.Reads++
		case flash.Write:
			s.Writes++
		}
	}
	return s
}

var errBroken = errors.New("broken")
