package usermode

import (
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// processors shares this host's processors among guests. A guest's kernel and its processes take
// turns, thousands of times a second, and the kernel and its monitor too: on one processor they do so
// up to twice as fast as on two, which would have to wake each other.
type processors struct {
	mu     sync.Mutex
	guests map[int]int // by processor
}

var hosts = processors{guests: map[int]int{}}

// take returns one of the processors with the fewest guests, of those that this process may use. The
// caller puts it back.
func (p *processors) take() (int, error) {
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		return -1, fmt.Errorf("sched_getaffinity: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	best := -1
	for n := range len(allowed) * 64 {
		if allowed.IsSet(n) && (best < 0 || p.guests[n] < p.guests[best]) {
			best = n
		}
	}
	if best < 0 {
		return -1, fmt.Errorf("this process may use no processor")
	}
	p.guests[best]++
	return best, nil
}

// join moves the calling thread to a processor, where it may.
func join(n int) {
	var one unix.CPUSet
	one.Set(n)
	_ = unix.SchedSetaffinity(0, &one)
}

func (p *processors) put(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.guests[n]--
}
