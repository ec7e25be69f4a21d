// Package realtime runs a simulated device by this machine's clock: requests of any number of front
// ends go to the one device, and their replies wait until the model says that they are due.
//
// Its point of view: a reply is sent at its instant, never before. If we are late, we do not
// compensate by answering the next request early.
package realtime

import (
	"errors"
	"sync"
	"time"

	"whichfs/internal/flash"
)

// ErrClosed means that the device was closed.
var ErrClosed = errors.New("the simulated device was closed")

// Device is a simulated device that several goroutines can use.
type Device struct {
	start time.Time // power on
	size  int64

	mu     sync.Mutex
	device flash.Device // nil once closed
	last   flash.Stats  // the closed device's counters
}

// New begins a device's time. It owns the device until it is closed.
func New(d flash.Device) *Device {
	return &Device{start: time.Now(), size: d.Size(), device: d}
}

// Size in bytes.
func (d *Device) Size() int64 { return d.size }

// Now is the device's time.
func (d *Device) Now() time.Duration { return time.Since(d.start) }

// Submit passes a request that arrived at an instant to the device, and returns when it completes.
func (d *Device) Submit(arrived time.Duration, r flash.Request) (time.Duration, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.device == nil {
		return 0, ErrClosed
	}
	return d.device.Submit(arrived, r)
}

// Stats returns the device's counters. It may wait for a request that is being computed, but never
// for one in flight in the device.
func (d *Device) Stats() flash.Stats {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.device == nil {
		return d.last
	}
	return d.device.Stats()
}

// Cut cuts the device's power and restores it at once. A closed device has nothing to lose.
func (d *Device) Cut() flash.Loss {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.device == nil {
		return flash.Loss{}
	}
	return d.device.Cut(d.Now())
}

// Close releases the device with its contents; Stats still works. It may be called more than once.
func (d *Device) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.device != nil {
		d.last, d.device = d.device.Stats(), nil
	}
}
