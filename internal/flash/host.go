package flash

import "time"

// host is the host side of a device: a queue with a number of slots, and a
// bus.
//
// A request waits for a free slot. The command overhead applies to each
// request separately and overlaps requests in other slots; the bus carries one
// transfer at a time.
type host struct {
	bus     Bus
	read    float64         // ns per byte
	write   float64         // ns per byte
	slots   []time.Duration // a heap of the instants at which each becomes free
	carries time.Duration   // the bus is busy until
	until   time.Duration   // the last completion so far
	busy    time.Duration
}

func newHost(b Bus) host {
	return host{bus: b, read: 1e9 / b.Read, write: 1e9 / b.Write, slots: make([]time.Duration, b.Queue)}
}

// begin returns when a request that arrives now has a slot and its command
// overhead has passed. end must follow.
func (h *host) begin(now time.Duration) time.Duration {
	return max(now, h.slots[0]) + h.bus.Command
}

// end frees the slot that begin took when the request completes.
func (h *host) end(now, done time.Duration) {
	i := 0
	for {
		k := 2*i + 1
		if k >= len(h.slots) {
			break
		}
		if k+1 < len(h.slots) && h.slots[k+1] < h.slots[k] {
			k++
		}
		if h.slots[k] >= done {
			break
		}
		h.slots[i] = h.slots[k]
		i = k
	}
	h.slots[i] = done
	if done > h.until {
		h.busy += done - max(now, h.until)
		h.until = done
	}
}

// send occupies the bus for n bytes to the device and returns when they have
// arrived.
func (h *host) send(at time.Duration, n int64) time.Duration {
	h.carries = max(h.carries, at) + transfer(n, h.write)
	return h.carries
}

// fetch occupies the bus for n bytes to the host. Other transfers can use it
// until the data is ready; reserve reserves the bus for a request.
func (h *host) fetch(at time.Duration, n int64) time.Duration {
	return at + transfer(n, h.read)
}

// reserve occupies the bus for the n bytes of a whole read that begins at an
// instant, and returns when it ends if the data is ready in time.
func (h *host) reserve(at time.Duration, n int64) time.Duration {
	h.carries = max(h.carries, at) + transfer(n, h.read)
	return h.carries
}

func transfer(n int64, ns float64) time.Duration {
	return time.Duration(float64(n)*ns + 0.5)
}

// cut simulates a power loss: nothing is in flight any more.
func (h *host) cut(now time.Duration) {
	if h.until > now {
		h.busy -= h.until - now
	}
	for i := range h.slots {
		h.slots[i] = now
	}
	h.carries, h.until = now, now
}
