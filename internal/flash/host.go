package flash

import "time"

// host is the side of a device that its host sees: a queue of so many slots,
// and a bus.
//
// A request waits for a free slot. The command overhead passes for each request
// by itself, so that requests in other slots go on meanwhile; the bus carries
// one transfer at a time.
type host struct {
	bus     Bus
	read    float64         // ns for a byte
	write   float64         // ns for a byte
	slots   []time.Duration // a heap of when each is free
	carries time.Duration   // the bus is taken until
	until   time.Duration   // the last completion so far
	busy    time.Duration
}

func newHost(b Bus) host {
	return host{bus: b, read: 1e9 / b.Read, write: 1e9 / b.Write, slots: make([]time.Duration, b.Queue)}
}

// begin says when a request that arrives now gets a slot and has had its
// command overhead. end must follow.
func (h *host) begin(now time.Duration) time.Duration {
	return max(now, h.slots[0]) + h.bus.Command
}

// end frees the slot that begin took at the completion of the request.
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

// send takes the bus for n bytes to the device and says when they are there.
func (h *host) send(at time.Duration, n int64) time.Duration {
	h.carries = max(h.carries, at) + transfer(n, h.write)
	return h.carries
}

// fetch takes the bus for n bytes to the host. Other transfers can use it until
// the data are ready; what a request needs of it is reserved by reserve.
func (h *host) fetch(at time.Duration, n int64) time.Duration {
	return at + transfer(n, h.read)
}

// reserve takes the bus for the n bytes of a whole read that begins at an
// instant, and says when it is through if the data are there in time.
func (h *host) reserve(at time.Duration, n int64) time.Duration {
	h.carries = max(h.carries, at) + transfer(n, h.read)
	return h.carries
}

func transfer(n int64, ns float64) time.Duration {
	return time.Duration(float64(n)*ns + 0.5)
}

// cut takes the power away: nothing is under way any more.
func (h *host) cut(now time.Duration) {
	if h.until > now {
		h.busy -= h.until - now
	}
	for i := range h.slots {
		h.slots[i] = now
	}
	h.carries, h.until = now, now
}
