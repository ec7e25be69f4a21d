// Package flash simulates storage: what a card, a stick or a disk does inside,
// how long that takes, what it wears out and what is left when the power goes.
//
// It is a pure core. A model takes a request and the present instant and
// returns when it completes; there is no clock, no sleep, no goroutine and no
// I/O in it, and the same input always gives the same output. Front ends add
// time: package nbd serves a device to a guest in real time, package virtual
// lets a probe run on the device's own clock.
//
// Data travels through the mapping: what is read is what the mapping finds, so
// that an error in a mapping is an error in the data.
package flash

import (
	"errors"
	"time"
)

// Sector is the smallest unit that a request can address, in bytes.
const Sector = 512

// Op is what a request asks for.
type Op uint8

// The kinds of request.
const (
	Read Op = iota + 1
	Write
	Flush
	Trim
	WriteZeroes
)

// Request is one command to a device.
type Request struct {
	Op Op
	// Offset and Length in bytes, multiples of Sector; of no meaning for Flush.
	Offset, Length int64
	// Data is what to write, or what to read into. Nil: the request is carried
	// out in all respects but its contents (what was written then reads as
	// zeros), which is what benchmarks of time alone want.
	Data []byte
	// FUA: a write is on the medium when it completes.
	FUA bool
}

// ErrRange is the error of a request outside the device, or not aligned.
var ErrRange = errors.New("request outside the device or not a multiple of 512 bytes")

// Device is simulated storage. It is used from one goroutine.
type Device interface {
	// Size in bytes.
	Size() int64
	// Depth is how many requests the device works on at a time; a request
	// beyond waits for its turn, and its completion says so.
	Depth() int
	// Submit carries out a request that arrives at an instant (since power on)
	// and returns the instant at which it completes. Instants must not run
	// backwards; one that does counts as the latest so far. An error changes
	// nothing.
	Submit(now time.Duration, r Request) (done time.Duration, err error)
	// Cut takes the power away at an instant and gives it back: what was
	// written and not flushed may be gone, whatever was under way then is
	// torn or undone as the model has it. Later instants count on.
	Cut(now time.Duration) Loss
	// Stats are all counters since the device was made.
	Stats() Stats
}

// Stats are a device's counters since it was made, in bytes and counts.
type Stats struct {
	Reads, Writes, Flushes, Trims int64 // requests
	Read, Written, Trimmed        int64 // B, by the host
	PagesRead                     int64 // of the medium
	Programmed                    int64 // B programmed, in whole pages
	Copied                        int64 // B of Programmed that moved data about: merges, collection, folding
	Erased                        int64 // erase blocks erased
	Merges                        int64 // segments or log blocks closed by copying
	Collections                   int64 // victims of garbage collection
	Folds                         int64 // pages folded out of the fast cache
	// Erases of a block: fewest, most and mean over all blocks of the medium,
	// and their standard deviation. All 0 for a medium that does not wear.
	MinErases, MaxErases     int64
	MeanErases, StdDevErases float64
	Blocks                   int64         // erase blocks of the medium, spare ones included
	Busy                     time.Duration // time with at least one request under way
}

// Amplification is how many bytes were programmed for each that the host
// wrote; 0 where nothing was written.
func (s Stats) Amplification() float64 {
	if s.Written == 0 {
		return 0
	}
	return float64(s.Programmed) / float64(s.Written)
}

// Loss is what a power cut took.
type Loss struct {
	Buffered int64 // B that were acknowledged, not flushed, and are gone
	Torn     int64 // pages that were being programmed
	Undone   int64 // merges that were under way and will be done anew
	// Neighbours are bytes lost although they had been flushed: the model says
	// that a merge cut short takes its segment with it.
	Neighbours int64
}
