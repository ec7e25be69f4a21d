// Package virtual lets a probe examine a simulated device in virtual time: a request takes as long
// as the model says and no other time passes, so a probe of minutes takes seconds and its results
// are reproducible.
package virtual

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"whichfs/internal/flash"
	"whichfs/internal/probe"
)

// Noise is what a real host would add; the zero value adds none.
type Noise struct {
	Seed uint64
	// Jitter is the relative standard deviation of every duration.
	Jitter float64
	// Outliers is the share of requests that take Factor times as long.
	Outliers, Factor float64
	// Host is the time between two requests and within each of them:
	// processor, kernel and bus.
	Host time.Duration
}

// Target is a probe.Target on a simulated device, for use by one goroutine.
type Target struct {
	device flash.Device
	now    time.Duration
	noise  Noise
	chance *rand.Rand
	trim   bool
}

// Open makes a target of a device; trims says whether it supports discards.
func Open(d flash.Device, trims bool, n Noise) *Target {
	return &Target{device: d, noise: n, chance: rand.New(rand.NewPCG(n.Seed, 0x7669727475616c)), trim: trims}
}

var _ probe.Target = (*Target)(nil)

// Size implements probe.Target.
func (t *Target) Size() int64 { return t.device.Size() }

// Writable implements probe.Target.
func (t *Target) Writable() bool { return true }

// Elapsed implements probe.Target.
func (t *Target) Elapsed() time.Duration { return t.now }

// Pause implements probe.Target.
func (t *Target) Pause(d time.Duration) { t.now += max(0, d) }

// Read implements probe.Target.
func (t *Target) Read(offset, length int64) (time.Duration, error) {
	return t.timed(flash.Request{Op: flash.Read, Offset: offset, Length: length})
}

// Write implements probe.Target. It omits contents: nothing in a model depends
// on them.
func (t *Target) Write(offset, length int64) (time.Duration, error) {
	return t.timed(flash.Request{Op: flash.Write, Offset: offset, Length: length})
}

// Flush implements probe.Target.
func (t *Target) Flush() (time.Duration, error) { return t.timed(flash.Request{Op: flash.Flush}) }

// Discard implements probe.Target.
func (t *Target) Discard(offset, length int64) (time.Duration, error) {
	if !t.trim {
		return 0, probe.ErrUnsupported
	}
	return t.timed(flash.Request{Op: flash.Trim, Offset: offset, Length: length})
}

// timed carries out one request and returns its duration, including noise.
func (t *Target) timed(r flash.Request) (time.Duration, error) {
	done, err := t.device.Submit(t.now, r)
	if errors.Is(err, flash.ErrTrim) {
		return 0, probe.ErrUnsupported
	}
	if err != nil {
		return 0, err
	}
	took := t.disturbed(done - t.now)
	t.now += took
	return took, nil
}

// disturbed adds the host's time to a request; the result is never less than
// the device took.
func (t *Target) disturbed(d time.Duration) time.Duration {
	d += t.noise.Host
	if t.noise.Jitter > 0 {
		extra := t.chance.NormFloat64() * t.noise.Jitter
		if extra < 0 {
			extra = -extra
		}
		d += time.Duration(float64(d) * extra)
	}
	if t.noise.Outliers > 0 && t.chance.Float64() < t.noise.Outliers {
		d = time.Duration(float64(d) * max(1, t.noise.Factor))
	}
	return d
}

// Together implements probe.Target: depth requests are in flight, and each
// that completes makes room for the next.
func (t *Target) Together(write bool, offsets []int64, length int64, depth int) (time.Duration, error) {
	if depth < 1 {
		return 0, fmt.Errorf("queue depth %d", depth)
	}
	op := flash.Read
	if write {
		op = flash.Write
	}
	begun := t.now
	busy := make([]time.Duration, 0, depth)
	last := t.now
	for _, offset := range offsets {
		at := t.now
		if len(busy) == depth {
			first := 0
			for i, b := range busy {
				if b < busy[first] {
					first = i
				}
			}
			at = max(at, busy[first])
			busy = append(busy[:first], busy[first+1:]...)
		}
		done, err := t.device.Submit(at, flash.Request{Op: op, Offset: offset, Length: length})
		if err != nil {
			return 0, err
		}
		done = at + t.disturbed(done-at)
		t.now = at
		busy = append(busy, done)
		last = max(last, done)
	}
	t.now = last
	return last - begun, nil
}

// Load implements probe.Target.
func (t *Target) Load(offset int64, into []byte) error {
	done, err := t.device.Submit(t.now, flash.Request{Op: flash.Read, Offset: offset, Length: int64(len(into)), Data: into})
	if err == nil {
		t.now = done
	}
	return err
}

// Store implements probe.Target.
func (t *Target) Store(offset int64, from []byte) error {
	done, err := t.device.Submit(t.now, flash.Request{Op: flash.Write, Offset: offset, Length: int64(len(from)), Data: from})
	if err != nil {
		return err
	}
	t.now = done
	_, err = t.Flush()
	return err
}
